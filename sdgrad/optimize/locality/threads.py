"""Threads where the work pays for them: small maps run in one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import dace
import sympy

from sdgrad.analysis.access_relations import loop_param
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
    walk,
    with_children,
)
from sdgrad.symbolic.expr import free_names, sym

Ranges: TypeAlias = "Mapping[str, tuple[Expr, Expr] | Often | Expr | None]"
"""What is known in loops: of their variables, of symbols that they assign, and of lengths that these make."""

SMALLEST_PARALLEL_WORK = 400_000  # instructions below which a second thread, and fetching what it wrote, costs too much
UNKNOWN_TRIPS = 16  # assumed for ranges that depend on other parameters or on symbols inside a body


@dataclass(frozen=True)
class Often:
    """A symbol that gets another value in each trip of some loops."""

    trips: int


def choose_threads(program: Program) -> Program:
    """The program with small maps of known size sequential."""
    return replace(program, body=_block(program.body, {}, program))


def _block(block: Block, ranges: Ranges, program: Program) -> Block:
    return tuple(_node(n, ranges, program) for n in block)


def _node(node: Node, ranges: Ranges, program: Program) -> Node:
    if isinstance(node, (Leaf, Scope)):
        amount = work(node, ranges, program)
        small = amount is not None and amount < SMALLEST_PARALLEL_WORK
        if node.params and small and node.schedule == dace.ScheduleType.Default:
            return replace(node, schedule=dace.ScheduleType.Sequential)
        return node
    if isinstance(node, Loop):
        found = _range(node, ranges)
        trips = max(1, int(found[1] - found[0]) + 1) if found is not None else UNKNOWN_TRIPS
        inside = (n.symbol for n in walk(node.body) if isinstance(n, SymbolAssign))
        known = {s: Often(trips * (before.trips if isinstance(before := ranges.get(s), Often) else 1)) for s in inside}
        ranges = {**ranges, **known, node.symbol: found}
        leaves = [n for n in walk(node.body) if isinstance(n, Leaf)]
        lengths = ((str(p.count), _share(p, leaf, ranges, program)) for leaf in leaves for p in leaf.params)
        ranges |= {count: share for count, share in lengths if share is not None}
    return with_children(node, tuple(_block(b, ranges, program) for b in children(node)))


def _range(loop: Loop, ranges: Ranges) -> tuple[Expr, Expr] | None:
    """The least and the greatest value of a loop's variable, where both are numbers."""
    trips = loop_param(loop)
    if trips is None:
        return None
    ends = (trips.start, trips.stop) if trips.step > 0 else (trips.stop, trips.start)
    least, most = -_largest(-ends[0], ranges), _largest(ends[1], ranges)
    return (least, most) if least.is_number and most.is_number else None


def _largest(expr: Expr, ranges: Ranges) -> Expr:
    """The largest value of an expression that is linear in variables of loops; with names where that is unknown."""
    expr = sympy.expand(expr)
    for name in sorted(free_names(expr)):
        found = ranges.get(name)
        slope = expr.coeff(sym(name))
        if isinstance(found, tuple) and slope.is_number and not (expr - slope * sym(name)).has(sym(name)):
            expr = sympy.expand(expr.subs(sym(name), found[1] if slope > 0 else found[0]))
    return expr


def work(node: Node, ranges: Ranges, program: Program) -> int | None:
    """About how many instructions a node runs at most; None where the sizes are symbols."""
    own = len(node.body) if isinstance(node, Leaf) else 0
    inner = [work(n, ranges, program) for block in children(node) for n in block]
    if any(w is None for w in inner):
        return None
    amount: Expr = sympy.Integer(max(1, own + sum(w for w in inner if w is not None)))
    names = {p.name for p in getattr(node, "params", ())}
    for p in getattr(node, "params", ()):
        unknown = free_names(p.start, p.stop) & names
        count = sympy.Integer(UNKNOWN_TRIPS) if unknown else _largest(p.count, ranges)
        if not count.is_number:
            share = ranges.get(str(p.count))
            count = share if isinstance(share, sympy.Integer) else _extent(p, node, program)
        amount = amount * count
    return int(amount) if amount.is_number else None


def _extent(param: Param, node: Node, program: Program) -> Expr:
    """The size of a dimension that a parameter walks through: it takes no more values than that."""
    leaves = [n for n in walk((node,)) if isinstance(n, Leaf)]
    return next((size for leaf in leaves for _, size in _walked(param, leaf, program)), param.count)


def _share(param: Param, leaf: Leaf, ranges: Ranges, program: Program) -> Expr | None:
    """The mean of a parameter's counts where each trip begins at a place of its own, as rows of a sparse matrix do."""
    for index, size in _walked(param, leaf, program) if not param.count.is_number else ():
        trips = [r.trips for n in free_names(index) if isinstance(r := ranges.get(n), Often)]
        if trips:
            return max(size // max(trips), sympy.Integer(1))
    return None


def _walked(param: Param, leaf: Leaf, program: Program) -> Iterator[tuple[Expr, Expr]]:
    """Indices that follow a parameter step by step, and the sizes of their dimensions."""
    accesses: list[Load | Store] = [*leaf.loads, *leaf.stores]
    for access in accesses:
        for e, size in zip(access.index, program.containers[access.container].shape, strict=False):
            if abs(sympy.expand(e).coeff(sym(param.name))) == 1 and size.is_number:
                yield e, size
