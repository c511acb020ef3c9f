"""``x[i] *= y``: an update that no two instances make of one element is the assignment of a product."""

from __future__ import annotations

import ast
from dataclasses import replace

from sdgrad.analysis.relations import injective
from sdgrad.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import (
    Block,
    Instr,
    Leaf,
    Let,
    Load,
    Node,
    Param,
    Program,
    Scope,
    Store,
    children,
    with_children,
)
from sdgrad.symbolic import code


def spell_out_updates(program: Program) -> Program:
    """The program with products, maxima and minima in place as assignments, unless they reduce.

    The adjoint of a reduction counts zeros and ties; and it scales the cotangent where it lies, which must not hold the
    operand's share yet (``x[i] *= x[j]``).
    """
    names = all_names(program)
    return replace(program, body=_block(program.body, names, ()))


def _block(block: Block, names: Names, outer: tuple[Param, ...]) -> Block:
    return tuple(_node(n, names, outer) for n in block)


def _node(node: Node, names: Names, outer: tuple[Param, ...]) -> Node:
    """``outer``: parameters of the maps around, whose instances may update one element as well."""
    if not isinstance(node, Leaf):
        inner = outer + (node.params if isinstance(node, Scope) else ())
        return with_children(node, tuple(_block(b, names, inner) for b in children(node)))
    body: list[Instr] = []
    for instr in node.body:
        if isinstance(instr, Store) and _is_update(instr, node, outer):
            old, new = names.fresh("x0"), names.fresh("x1")
            body += [Load(old, instr.container, instr.index), Let(new, _updated(instr, old))]
            instr = replace(instr, value=new, mode="set")
        body.append(instr)
    return replace(node, body=tuple(body))


def _is_update(store: Store, leaf: Leaf, outer: tuple[Param, ...]) -> bool:
    plain = store.mode in ("prod", "max", "min") and not store.fresh and store.guard is None
    return plain and injective(store, leaf, len(store.index), (*outer, *leaf.params))


def _updated(store: Store, old: str) -> ast.expr:
    if store.mode == "prod":
        return code.binary(ast.Mult, code.name(old), code.name(store.value))
    return code.call(store.mode, code.name(old), code.name(store.value))
