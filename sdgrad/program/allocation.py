"""Allocate arrays whose sizes a program computes where all of it sees them.

DaCe allocates an array whose size is no argument in the state of its first use: in each iteration, if that is in a
loop. In other states its generator knows how to read and write it, but not how to add to it: sums go through a view,
which each state has for itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import sympy
from dace import data as dt
from dace import subsets

from sdgrad.program.arrays import over
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.symbols import assigned_once
from sdgrad.program.tree import (
    Container,
    Leaf,
    Let,
    Node,
    Program,
    Source,
    Store,
    SymbolAssign,
    reads,
    rewritten,
    writes,
)
from sdgrad.symbolic import code


def computed_once(program: Program) -> frozenset[str]:
    """Return the symbols that are assigned once, before or after all loops and branches but in none of them."""
    return assigned_once(program.body) & {n.symbol for n in program.body if isinstance(n, SymbolAssign)}


def allocate_outside(program: Program) -> Program:
    """Allocate arrays of computed sizes before loops and branches, and let sums into them go through views."""
    symbols = computed_once(program)
    late = {
        n: c
        for n, c in program.containers.items()
        if n not in program.arguments and c.view_of is None and c.symbols & symbols
    }
    if not late:
        return program
    names = all_names(program)
    return _added_through_views(_stored_before(program, late, names), late, names)


def _stored_before(program: Program, late: dict[str, Container], names: Names) -> Program:
    """Put one store into each array before the loop or branch that uses it first."""
    seen: set[str] = set()
    body: list[Node] = []
    for node in program.body:
        used = {program.root(c) for c in reads(node) | writes(node)} & late.keys()
        if not isinstance(node, Leaf):
            body += [_one_store(late[n], names) for n in sorted(used - seen)]
        seen |= used
        body.append(node)
    return replace(program, body=tuple(body))


def _added_through_views(program: Program, late: Collection[str], names: Names) -> Program:
    """Let reductions into some arrays go through views of them."""
    views: dict[str, Container] = {}

    def view_of(name: str) -> str:
        if name not in views:
            c = program.containers[name]
            desc = dt.ArrayView(c.dtype, c.shape, strides=c.desc.strides, storage=c.desc.storage, transient=True)
            views[name] = Container(names.fresh(f"{name}_sum"), desc, name, subsets.Range.from_array(c.desc))
        return views[name].name

    def through(node: Node) -> tuple[Node, ...]:
        if not isinstance(node, Leaf):
            return (node,)
        adds = [i for i in node.body if isinstance(i, Store) and i.mode != "set" and i.container in late]
        body = tuple(replace(i, container=view_of(i.container)) if i in adds else i for i in node.body)
        return (replace(node, body=body) if adds else node,)

    body = rewritten(program.body, through)
    return replace(program, body=body, containers={**program.containers, **{v.name: v for v in views.values()}})


def _one_store(container: Container, names: Names) -> Leaf:
    params, index = over(container, names)
    few = tuple(replace(p, stop=sympy.Min(p.stop, 0)) for p in params)
    v = names.fresh("v")
    store = (Let(v, code.constant(0)), Store(container.name, index, v))
    return Leaf(few, store, Source(label=f"allocate_{container.name}"))
