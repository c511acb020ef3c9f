"""Interchange the loops of parallel nests, to give the innermost loop unit stride.

Loop permutation for locality (Wolfe 1989; Allen & Kennedy 2001). Instances of a leaf are independent, so every order is
legal; only bounds that depend on other parameters restrict it::

    map i=0:100, j=0:100: b[j, i] = 2 * a[j, i]      ->      map j=0:100, i=0:100: b[j, i] = 2 * a[j, i]

Leaves a nest as it is if it is sequential, if no order is cheaper, or if the new innermost loop were too short.
"""

from __future__ import annotations

from dataclasses import replace

import sympy

from sdgrad.config import config
from sdgrad.optimize.locality.strides import known_trips, steps
from sdgrad.program.tree import Block, Leaf, Let, Node, Param, Program, map_blocks
from sdgrad.symbolic.expr import free_names, sym


def walk_memory(program: Program) -> Program:
    """Move the parameter of least access cost innermost in every leaf, as far as bounds allow."""

    def block(nodes: Block) -> Block:
        return tuple(node(n) for n in nodes)

    def node(n: Node) -> Node:
        if isinstance(n, Leaf):
            return _ordered(n, program)
        return map_blocks(n, block)

    return replace(program, body=block(program.body))


def reduced_last(leaf: Leaf) -> Leaf:
    """Move the reduced parameters of a leaf innermost; unchanged if bounds depend on parameters."""
    names = {p.name for p in leaf.params}
    if any(names & free_names(p.start, p.stop, p.step) for p in leaf.params):
        return leaf
    sums = [s for s in leaf.stores if s.mode != "set"]
    used = free_names(*(i for s in sums for i in s.index))
    return replace(leaf, params=tuple(sorted(leaf.params, key=lambda p: p.name not in used)))


def exchanged(outer: Param, inner: Param) -> tuple[Param, Param] | None:
    """Interchange a triangular pair of parameters: return the ranges of the inner one, now outside, and of the outer.

    For ``i=0:n, j=0:i+1`` they are ``j=0:n, i=j:n``. Returns None if no bound of the inner range is the outer parameter
    plus a constant, or if the interchanged ranges need a minimum or a maximum.
    """
    by = sym(outer.name)
    below, above = (sympy.expand(e - by) for e in (inner.stop, inner.start))
    if not below.has(by) and not inner.start.has(by) and (inner.start - below - outer.start).is_nonnegative:
        return replace(inner, stop=outer.stop + below), replace(outer, start=sym(inner.name) - below)
    if not above.has(by) and not inner.stop.has(by) and (outer.stop + above - inner.stop).is_nonnegative:
        return replace(inner, start=outer.start + above), replace(outer, stop=sym(inner.name) - above)
    return None


def _ordered(leaf: Leaf, program: Program) -> Leaf:
    """Move the cheapest parameter of a leaf innermost; unchanged if none is cheaper than the last one."""
    if leaf.sequential or len(leaf.params) < 2:
        return leaf
    last = leaf.params[-1]
    best = min(_movable(leaf), key=lambda p: (cost(leaf, p, program), p != last), default=last)
    if best == last or cost(leaf, best, program) == cost(leaf, last, program) or _is_short(best):
        return leaf
    return replace(leaf, params=(*(p for p in leaf.params if p != best), best))


def _movable(leaf: Leaf) -> list[Param]:
    """Return the parameters on which no range depends."""
    bounds = [free_names(p.start, p.stop, p.step) for p in leaf.params]
    return [p for p in leaf.params if not any(p.name in b for b in bounds)]


def _is_short(param: Param) -> bool:
    """True if a parameter is known to have fewer iterations than a cache line has elements."""
    return 0 < known_trips(param) < config.machine.cache_line_cost


def cost(leaf: Leaf, param: Param, program: Program) -> int:
    """Return the access cost of one iteration if a parameter is innermost: 0 invariant, 1 unit stride, else a line."""
    distances = (steps(i, param, program) for i in leaf.body if not isinstance(i, Let))
    return sum(0 if d is None or d == 0 else 1 if d in (1, -1) else config.machine.cache_line_cost for d in distances)
