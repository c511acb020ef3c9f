"""Give values, parameters and symbols names that no container has, and values names that no symbol has.

In a program they are apart: expressions have values and symbols, loads and stores have containers. C++ has one
namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from sdgrad.program.custom_call import CustomCall
from sdgrad.program.leaves import rename_instr
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.rename import renamed, renamed_container
from sdgrad.program.tree import (
    Block,
    Leaf,
    Loop,
    Node,
    Program,
    Scope,
    SymbolAssign,
    local_names,
    rewritten,
    walk,
)
from sdgrad.symbolic.expr import sym


def distinct_names(program: Program) -> Program:
    """Return the program without names in common to containers and values; unchanged if there are none."""
    nodes = list(walk(program.body))
    containers = program.containers.keys() | {n for node in nodes for n in local_names(node)}
    symbols = _integers(nodes)
    numbers = {n for node in nodes if isinstance(node, Leaf) for n in node.defined}
    assigned = {n.symbol for n in nodes if isinstance(n, (Loop, SymbolAssign))}
    if not containers & (symbols | numbers) and not assigned & numbers:
        return program
    names = all_names(program)
    others = {n: sym(names.fresh(n)) for n in sorted(containers & symbols)}
    if others:
        sized = {n: renamed_container(c, {}, others) for n, c in program.containers.items()}
        program = replace(program, containers=sized, body=renamed(program.body, {}, others))
    return replace(program, body=with_values_apart(program.body, containers | assigned, names))


def with_values_apart(block: Block, taken: Set[str], names: Names) -> Block:
    """Return a block whose leaves have no values of some names: in C++ they would be the symbols of these names."""
    return rewritten(block, lambda node: _numbers(node, taken, names))


def _integers(nodes: Iterable[Node]) -> set[str]:
    """Return the names of parameters and assigned symbols."""
    parameters = {p.name for n in nodes if isinstance(n, (Leaf, Scope)) for p in n.params}
    return parameters | {n.symbol for n in nodes if isinstance(n, (Loop, SymbolAssign))}


def _numbers(node: Node, taken: Set[str], names: Names) -> Block:
    """Rename the values of a leaf whose names are taken."""
    if isinstance(node, CustomCall):
        return (replace(node, block=with_values_apart(node.block, taken, names)),)
    if not isinstance(node, Leaf):
        return (node,)
    clashing = node.defined & taken
    if not clashing:
        return (node,)
    others = {n: names.fresh(n) for n in sorted(clashing)}
    return (replace(node, body=tuple(rename_instr(i, others, {}) for i in node.body)),)
