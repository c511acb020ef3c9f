"""Arrays whose size changes from trip to trip get the largest one they have, so that one array serves all trips."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import sympy
from dace import data as dt

from sdgrad.analysis.access_relations import loop_param
from sdgrad.analysis.value_ranges import Unbounded, extreme
from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.tree import (
    Block,
    Container,
    Expr,
    Leaf,
    Load,
    Loop,
    Param,
    Program,
    Store,
    SymbolAssign,
    reads,
    walk,
    writes,
)
from sdgrad.symbolic.expr import free_names, sym, total


def bound_sizes(program: Program) -> Program:
    """The program with larger containers for those whose shape mentions loop variables, or symbols it assigns.

    :raises DifferentiationError: an array's size is known only at run time, and nothing bounds it.
    """
    body, containers = program.body, dict(program.containers)
    used = {program.root(c) for n in body for c in reads(n) | writes(n)}
    loops = {n.symbol: p for n in walk(body) if isinstance(n, Loop) and (p := loop_param(n)) is not None}
    symbols = {n.symbol for n in walk(body) if isinstance(n, (SymbolAssign, Loop))}
    sized = {
        name: [largest(sympy.sympify(n), loops) for n in c.shape]
        for name, c in containers.items()
        if name in used and isinstance(c.desc, dt.Array) and {str(s) for s in c.desc.free_symbols} & symbols
    }
    open_ = {(name, k) for name, shape in sized.items() for k, n in enumerate(shape) if free_names(n) & symbols}
    while open_:
        found = {}
        for name, k in open_:
            bound = _by_use(name, k, body, containers, sized, open_)
            if bound is not None:
                found[name, k] = bound
        for (name, k), bound in found.items():
            sized[name][k] = bound
        open_ -= found.keys()
        if not found:
            names = ", ".join(sorted({name for name, _ in open_}))
            raise DifferentiationError(
                [Problem(f"array {names}", "has a size known only at run time", hint="give it its largest size")]
            )
    for name, shape in sized.items():
        shape = [max(n, sympy.Integer(1)) if n.is_number else n for n in shape]  # of loops over nothing
        desc = copy.deepcopy(containers[name].desc)
        desc.set_shape(shape, strides=[total(shape[k + 1 :]) for k in range(len(shape))], total_size=total(shape))
        containers[name] = Container(name, desc)
    return replace(program, containers=containers)


def largest(size: Expr, loops: Mapping[str, Param]) -> Expr:
    """The greatest value of a size over the trips of some loops."""
    while names := free_names(size) & loops.keys():
        inner = max(names, key=lambda n: len(free_names(loops[n].start, loops[n].stop) & loops.keys()))
        p = loops[inner]
        if not p.step.is_number:
            return size
        low, high = (p.start, p.stop) if p.step > 0 else (p.stop, p.start)
        try:
            size = extreme(size, inner, low, high, True)
        except Unbounded:
            return size
    return size


def _by_use(
    name: str,
    axis: int,
    body: Block,
    containers: Mapping[str, Container],
    sized: Mapping[str, list[Expr]],
    open_: set[tuple[str, int]],
) -> Expr | None:
    """The extent of another array that is run along in step with one whose own extent is not known."""
    for leaf in (n for n in walk(body) if isinstance(n, Leaf)):
        accesses: tuple[Load | Store, ...] = (*leaf.loads, *leaf.stores)
        params = {x.index[axis] for x in accesses if x.container == name} & {sym(p.name) for p in leaf.params}
        for p in params:
            for x in accesses:
                for k, expr in enumerate(x.index):
                    known = x.container != name and (x.container, k) not in open_
                    if known and expr.coeff(p) in (1, -1):
                        return sized.get(x.container, containers[x.container].shape)[k]
    return None
