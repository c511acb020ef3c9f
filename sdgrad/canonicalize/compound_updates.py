"""Rewrite compound updates to assignments where no two instances update one element.

``x[i] *= y`` becomes ``x[i] = x[i] * y``; ``max`` and ``min`` likewise. Reductions keep their mode. An update whose
element depends on data, or under a guard, gets sequential loops around it. Sums are left alone: they are linear.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import dace

from sdgrad.analysis.access_relations import injective
from sdgrad.program.leaves import as_loops, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names, is_status
from sdgrad.program.reductions import EXTREMES
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
    map_blocks,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import substitute, sym


def spell_out_updates(program: Program) -> Program:
    """Rewrite products, maxima and minima in place to assignments, unless they reduce.

    The adjoint of a reduction counts zeros and ties. It also scales the cotangent in place, which would be wrong for an
    update whose operand shares memory with its target (``x[i] *= x[j]``).
    """
    names = all_names(program)
    symbols = dict(program.symbols)
    return replace(program, body=_block(program.body, names, (), symbols), symbols=symbols)


def _block(block: Block, names: Names, outer: tuple[Param, ...], symbols: dict[str, dace.typeclass]) -> Block:
    return tuple(_node(n, names, outer, symbols) for n in block)


def _node(node: Node, names: Names, outer: tuple[Param, ...], symbols: dict[str, dace.typeclass]) -> Node:
    """Rewrite the updates of a node.

    :param outer: parameters of the maps around, whose instances may update one element as well.
    """
    if not isinstance(node, Leaf):
        inner = outer + (node.params if isinstance(node, Scope) else ())
        return map_blocks(node, lambda b: _block(b, names, inner, symbols))
    if node.params and any(_is_scattered(s, node) for s in node.stores):
        return _in_order(node, names, outer, symbols)
    body: list[Instr] = []
    for instr in node.body:
        if isinstance(instr, Store) and _is_update(instr, node, outer):
            old, new = names.fresh("x0"), names.fresh("x1")
            body += [Load(old, instr.container, instr.index, instr.guard), Let(new, _updated(instr, old))]
            instr = replace(instr, value=new, mode="set")
        body.append(instr)
    return replace(node, body=tuple(body))


def _is_scattered(store: Store, leaf: Leaf) -> bool:
    """True if the subscript or the guard of an update depends on data: the operands of an element are not known."""
    local = leaf.defined
    return _is_plain(store) and (store.guard is not None or bool(store.index_names & local))


def _in_order(leaf: Leaf, names: Names, outer: tuple[Param, ...], symbols: dict[str, dace.typeclass]) -> Node:
    """Return sequential loops around one instance of a leaf, which may then read what it updates."""
    fresh = {p.name: sym(names.fresh(p.name)) for p in leaf.params}
    symbols.update({symbol.name: dace.int64 for symbol in fresh.values()})
    params = [
        Param(fresh[p.name].name, *(substitute(e, fresh) for e in (p.start, p.stop, p.step))) for p in leaf.params
    ]
    one = Leaf((), tuple(rename_instr(i, {}, fresh) for i in leaf.body), leaf.source)
    (loops,) = as_loops(params, (_node(one, names, outer, symbols),), leaf.source)
    return loops


def _is_update(store: Store, leaf: Leaf, outer: tuple[Param, ...]) -> bool:
    """True if an update reaches each element at most once, so that it is no reduction."""
    if not _is_plain(store) or store.guard is not None and leaf.params:
        return False
    return injective(store, leaf, len(store.index), (*outer, *leaf.params))


def _is_plain(store: Store) -> bool:
    """True of an update whose adjoint asks what was there before; the status of a program has no adjoint."""
    return store.mode in ("prod", *EXTREMES) and not store.fresh and not is_status(store.container)


def _updated(store: Store, old: str) -> ast.expr:
    """Return the value of an element after an update."""
    if store.mode == "prod":
        return code.binary(ast.Mult, code.name(old), code.name(store.value))
    return code.call(EXTREMES[store.mode], code.name(old), code.name(store.value))
