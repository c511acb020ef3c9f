"""Names in generated code: what computes, counts or runs over elements must not be called like a container.

In a program they are apart: expressions hold numbers and symbols, loads and stores hold containers. C++ has one space.
"""

from __future__ import annotations

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
    Store,
    SymbolAssign,
    local_names,
    rewritten,
    walk,
)
from sdgrad.symbolic.expr import sym


def distinct_names(program: Program) -> Program:
    """The program with other names for numbers, parameters and symbols that a container has as well."""
    nodes = list(walk(program.body))
    containers = program.containers.keys() | {n for node in nodes for n in local_names(node)}
    symbols = {p.name for n in nodes if isinstance(n, (Leaf, Scope)) for p in n.params}
    symbols |= {n.symbol for n in nodes if isinstance(n, (Loop, SymbolAssign))}
    numbers = {i.name for n in nodes if isinstance(n, Leaf) for i in n.body if not isinstance(i, Store)}
    if not containers & (symbols | numbers):
        return program
    names = all_names(program)
    others = {n: sym(names.fresh(n)) for n in sorted(containers & symbols)}
    if others:
        sized = {n: renamed_container(c, {}, others) for n, c in program.containers.items()}
        program = replace(program, containers=sized, body=renamed(program.body, {}, others))
    return replace(program, body=rewritten(program.body, lambda node: _numbers(node, containers, names)))


def _numbers(node: Node, containers: set[str], names: Names) -> Block:
    if not isinstance(node, Leaf):
        return (node,)
    clashing = node.defined & containers
    if not clashing:
        return (node,)
    others = {n: names.fresh(n) for n in sorted(clashing)}
    return (replace(node, body=tuple(rename_instr(i, others, {}) for i in node.body)),)
