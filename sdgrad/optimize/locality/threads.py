"""Serialize parallel maps whose work does not pay for threads.

The estimate of the work is the number of instructions of the body times the number of iterations. Bounds in variables
of enclosing loops are replaced by their largest values (interval arithmetic on affine expressions)::

    loop k = 0 .. 9 step 1:                loop k = 0 .. 9 step 1:
      map i=0:k: ..  (parallel)              map i=0:k: ..  (sequential: at most 9 iterations)

Leaves a map parallel if its size depends on symbols, or if it has a schedule already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import dace
import sympy

from sdgrad.analysis.access_relations import loop_param
from sdgrad.config import config
from sdgrad.program.tree import (
    Block,
    Expr,
    Leaf,
    Load,
    Loop,
    Node,
    Param,
    Program,
    Scope,
    Store,
    SymbolAssign,
    children,
    map_blocks,
    walk,
)
from sdgrad.symbolic.expr import free_names, sym

Ranges: TypeAlias = "Mapping[str, tuple[Expr, Expr] | Often | Expr | None]"
"""Facts inside loops: the interval of a loop variable, how often a symbol is assigned, the mean of an extent."""


@dataclass(frozen=True)
class Often:
    """A symbol that is assigned in every iteration of some loops; ``trips`` is the total number of iterations."""

    trips: int


def choose_threads(program: Program) -> Program:
    """Make small maps of known size sequential."""
    return replace(program, body=_block(program.body, {}, program))


def _block(block: Block, ranges: Ranges, program: Program) -> Block:
    return tuple(_node(n, ranges, program) for n in block)


def _node(node: Node, ranges: Ranges, program: Program) -> Node:
    """Schedule a map, or all maps inside of a control node."""
    if isinstance(node, (Leaf, Scope)):
        return _scheduled(node, ranges, program)
    if isinstance(node, Loop):
        ranges = _facts_inside(node, ranges, program)
    return map_blocks(node, lambda b: _block(b, ranges, program))


def _scheduled(node: Leaf | Scope, ranges: Ranges, program: Program) -> Node:
    """Make a small map sequential; unchanged if it is large or has a schedule."""
    amount = work(node, ranges, program)
    small = amount is not None and amount < config.machine.parallel_instructions
    if node.params and small and node.schedule == dace.ScheduleType.Default:
        return replace(node, schedule=dace.ScheduleType.Sequential)
    return node


def _facts_inside(loop: Loop, ranges: Ranges, program: Program) -> Ranges:
    """Add the facts of a loop: its variable's interval, the symbols that it assigns, and mean extents."""
    interval = _range(loop, ranges)
    trips = max(1, int(interval[1] - interval[0]) + 1) if interval is not None else config.machine.parallel_trips
    facts = {**ranges, **_assigned(loop, trips, ranges), loop.symbol: interval}
    leaves = [n for n in walk(loop.body) if isinstance(n, Leaf)]
    extents = ((str(p.count), _share(p, leaf, facts, program)) for leaf in leaves for p in leaf.params)
    return {**facts, **{count: share for count, share in extents if share is not None}}


def _assigned(loop: Loop, trips: int, ranges: Ranges) -> dict[str, Often]:
    """Count how often each symbol is assigned that a loop of so many iterations assigns."""
    found = {}
    for symbol in (n.symbol for n in walk(loop.body) if isinstance(n, SymbolAssign)):
        outer = ranges.get(symbol)
        found[symbol] = Often(trips * (outer.trips if isinstance(outer, Often) else 1))
    return found


def _range(loop: Loop, ranges: Ranges) -> tuple[Expr, Expr] | None:
    """Return the least and the greatest value of a loop's variable; None if they are no numbers."""
    trips = loop_param(loop)
    if trips is None:
        return None
    ends = (trips.start, trips.stop) if trips.step > 0 else (trips.stop, trips.start)
    least, most = -_largest(-ends[0], ranges), _largest(ends[1], ranges)
    return (least, most) if least.is_number and most.is_number else None


def _largest(expr: Expr, ranges: Ranges) -> Expr:
    """Bound an affine expression from above by the intervals of loop variables; other names stay in the bound."""
    expr = sympy.expand(expr)
    for name in sorted(free_names(expr)):
        found = ranges.get(name)
        slope = expr.coeff(sym(name))
        if isinstance(found, tuple) and slope.is_number and not (expr - slope * sym(name)).has(sym(name)):
            expr = sympy.expand(expr.subs(sym(name), found[1] if slope > 0 else found[0]))
    return expr


def work(node: Node, ranges: Ranges, program: Program) -> int | None:
    """Estimate the instructions that a node executes at most; None if sizes are symbols."""
    own = len(node.body) if isinstance(node, Leaf) else 0
    inner = [work(n, ranges, program) for block in children(node) for n in block]
    if any(w is None for w in inner):
        return None
    amount: Expr = sympy.Integer(max(1, own + sum(w for w in inner if w is not None)))
    for p in getattr(node, "params", ()):
        amount = amount * _most(p, node, ranges, program)
    return int(amount) if amount.is_number else None


def _most(param: Param, node: Node, ranges: Ranges, program: Program) -> Expr:
    """Bound the iteration count of a parameter of a node: by intervals, by a mean, or by the size of a dimension."""
    names = {p.name for p in getattr(node, "params", ())}
    if free_names(param.start, param.stop) & names:
        return sympy.Integer(config.machine.parallel_trips)
    count = _largest(param.count, ranges)
    if count.is_number:
        return count
    share = ranges.get(str(param.count))
    return share if isinstance(share, sympy.Integer) else _extent(param, node, program)


def _extent(param: Param, node: Node, program: Program) -> Expr:
    """Return the size of a dimension that a parameter indexes, a bound of its count; the count if there is none."""
    leaves = [n for n in walk((node,)) if isinstance(n, Leaf)]
    return next((size for leaf in leaves for _, size in _walked(param, leaf, program)), param.count)


def _share(param: Param, leaf: Leaf, ranges: Ranges, program: Program) -> Expr | None:
    """Return the mean count of a parameter over the iterations of a loop; None if it is unknown.

    If every iteration starts at a symbol of its own, as the rows of a CSR matrix do, the ranges share one dimension:
    the mean is its size over the number of iterations.
    """
    for index, size in _walked(param, leaf, program) if not param.count.is_number else ():
        trips = [r.trips for n in free_names(index) if isinstance(r := ranges.get(n), Often)]
        if trips:
            return max(size // max(trips), sympy.Integer(1))
    return None


def _walked(param: Param, leaf: Leaf, program: Program) -> Iterator[tuple[Expr, Expr]]:
    """List the subscripts of slope 1 or -1 in a parameter, with the sizes of their dimensions."""
    accesses: list[Load | Store] = [*leaf.loads, *leaf.stores]
    for access in accesses:
        for e, size in zip(access.index, program.containers[access.container].shape, strict=False):
            if abs(sympy.expand(e).coeff(sym(param.name))) == 1 and size.is_number:
                yield e, size
