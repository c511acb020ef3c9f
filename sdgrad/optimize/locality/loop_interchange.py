"""The order of loops over independent instances: the innermost one walks through memory step by step."""

from __future__ import annotations

from dataclasses import replace

import sympy

from sdgrad.config import config
from sdgrad.optimize.locality.strides import known_trips, steps
from sdgrad.program.tree import Block, Leaf, Let, Node, Param, Program, children, with_children
from sdgrad.symbolic.expr import free_names, sym


def walk_memory(program: Program) -> Program:
    """The program with the best parameter of every leaf innermost, as far as bounds allow that."""

    def block(nodes: Block) -> Block:
        return tuple(node(n) for n in nodes)

    def node(n: Node) -> Node:
        if isinstance(n, Leaf):
            return _ordered(n, program)
        return with_children(n, tuple(block(b) for b in children(n)))

    return replace(program, body=block(program.body))


def reduced_last(leaf: Leaf) -> Leaf:
    """The same instances, those that add to one element side by side."""
    names = {p.name for p in leaf.params}
    if any(names & free_names(p.start, p.stop, p.step) for p in leaf.params):
        return leaf
    sums = [s for s in leaf.stores if s.mode != "set"]
    used = free_names(*(i for s in sums for i in s.index))
    return replace(leaf, params=tuple(sorted(leaf.params, key=lambda p: p.name not in used)))


def exchanged(outer: Param, inner: Param) -> tuple[Param, Param] | None:
    """The same pairs, with the inner parameter outside: its range, and that of the outer one, linear in it.

    None where bounds of the inner one are not steps along with the outer one, or where that takes more bounds.
    """
    by = sym(outer.name)
    below, above = (sympy.expand(e - by) for e in (inner.stop, inner.start))
    if not below.has(by) and not inner.start.has(by) and (inner.start - below - outer.start).is_nonnegative:
        return replace(inner, stop=outer.stop + below), replace(outer, start=sym(inner.name) - below)
    if not above.has(by) and not inner.stop.has(by) and (outer.stop + above - inner.stop).is_nonnegative:
        return replace(inner, start=outer.start + above), replace(outer, stop=sym(inner.name) - above)
    return None


def _ordered(leaf: Leaf, program: Program) -> Leaf:
    if leaf.sequential or len(leaf.params) < 2:
        return leaf
    bounds = {p.name: free_names(p.start, p.stop, p.step) for p in leaf.params}
    free = [p for p in leaf.params if not any(p.name in b for b in bounds.values())]
    last = leaf.params[-1]
    best = min(free, key=lambda p: (cost(leaf, p, program), p != last), default=last)
    if (
        best == last
        or cost(leaf, best, program) == cost(leaf, last, program)
        or 0 < known_trips(best) < config.machine.cache_line_cost
    ):
        return leaf
    return replace(leaf, params=(*(p for p in leaf.params if p != best), best))


def cost(leaf: Leaf, param: Param, program: Program) -> int:
    """What the accesses of instances cost that are neighbours along a parameter."""
    distances = (steps(i, param, program) for i in leaf.body if not isinstance(i, Let))
    return sum(0 if d is None or d == 0 else 1 if d in (1, -1) else config.machine.cache_line_cost for d in distances)
