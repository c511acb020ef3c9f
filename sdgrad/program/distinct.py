"""Give values, parameters and symbols names that no container has.

In a program they are apart: expressions have values and symbols, loads and stores have containers. C++ has one
namespace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

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
    if not containers & (symbols | numbers):
        return program
    names = all_names(program)
    others = {n: sym(names.fresh(n)) for n in sorted(containers & symbols)}
    if others:
        sized = {n: renamed_container(c, {}, others) for n, c in program.containers.items()}
        program = replace(program, containers=sized, body=renamed(program.body, {}, others))
    return replace(program, body=rewritten(program.body, lambda node: _numbers(node, containers, names)))


def _integers(nodes: Iterable[Node]) -> set[str]:
    """Return the names of parameters and assigned symbols."""
    parameters = {p.name for n in nodes if isinstance(n, (Leaf, Scope)) for p in n.params}
    return parameters | {n.symbol for n in nodes if isinstance(n, (Loop, SymbolAssign))}


def _numbers(node: Node, containers: set[str], names: Names) -> Block:
    """Rename the values of a leaf that are named like containers."""
    if not isinstance(node, Leaf):
        return (node,)
    clashing = node.defined & containers
    if not clashing:
        return (node,)
    others = {n: names.fresh(n) for n in sorted(clashing)}
    return (replace(node, body=tuple(rename_instr(i, others, {}) for i in node.body)),)
