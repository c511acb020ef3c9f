"""Replace the varying extents of arrays by upper bounds, so that one array serves all iterations.

The bound is the maximum over the iterations of counted loops: in ``for i in range(8): t = np.zeros(i)``, ``t`` gets 7
elements. An extent that only a run knows gets the extent of an array that is accessed in step with it, or stays if it
is computed once, outside of loops. Without such a bound the program is refused. An array that has views keeps its
layout, which these rely on: it becomes a view itself, of memory for its largest size::

    local t: float64[i, 8 - i]                    local t_memory: float64[16]
    local flat: float64[i*(8 - i)] view of t      local t: float64[i, 8 - i] view of t_memory[0:i*(8 - i)]
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import sympy
from dace import data as dt
from dace import subsets

from sdgrad.analysis.access_relations import loop_param
from sdgrad.analysis.value_ranges import Unbounded, extreme
from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.allocation import computed_once
from sdgrad.program.names import Names
from sdgrad.program.tree import (
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
    """Give every array whose extent varies in the program its largest extent.

    :raises DifferentiationError: an array's size is known only at run time, and nothing bounds it.
    """
    symbols = {n.symbol for n in walk(program.body) if isinstance(n, (SymbolAssign, Loop))}
    program = _views_of_memory(program, symbols)
    sized = _varying_shapes(program, symbols)
    _bound_by_use(program, sized, symbols)
    resized = {name: _resized(program.containers[name], shape) for name, shape in sized.items()}
    return replace(program, containers={**program.containers, **resized})


def _views_of_memory(program: Program, symbols: set[str]) -> Program:
    """Make arrays of varying size that have views, themselves views of one-dimensional arrays."""
    bases = {c.view_of for c in program.containers.values()}
    loops = _counted_loops(program)
    names = Names(program.containers)
    made: dict[str, Container] = {}
    for name, c in program.containers.items():
        varies = isinstance(c.desc, dt.Array) and c.view_of is None and free_names(*c.shape) & symbols
        if not varies or name not in bases or name in program.arguments:
            continue
        size = sympy.powsimp(sympy.expand(total(c.shape)), force=True)
        most = largest(size, loops)
        if free_names(most) & symbols:
            continue
        memory = names.fresh(f"{name}_memory")
        made[memory] = Container(memory, dt.Array(c.dtype, [most], transient=True, storage=c.desc.storage))
        view = dt.ArrayView(c.dtype, c.shape, strides=c.desc.strides, storage=c.desc.storage, transient=True)
        made[name] = Container(name, view, memory, subsets.Range([(0, size - 1, 1)]))
    return replace(program, containers={**program.containers, **made}) if made else program


def _counted_loops(program: Program) -> dict[str, Param]:
    """Return the loops with known bounds, by their symbols."""
    return {n.symbol: p for n in walk(program.body) if isinstance(n, Loop) and (p := loop_param(n)) is not None}


def _varying_shapes(program: Program, symbols: set[str]) -> dict[str, list[Expr]]:
    """Return the shapes of used arrays that mention some symbols, each at its maximum over counted loops."""
    used = {program.root(c) for n in program.body for c in reads(n) | writes(n)}
    loops = _counted_loops(program)
    return {
        name: [largest(sympy.sympify(n), loops) for n in c.shape]
        for name, c in program.containers.items()
        if name in used and isinstance(c.desc, dt.Array) and c.symbols & symbols
    }


def _bound_by_use(program: Program, sized: dict[str, list[Expr]], symbols: set[str]) -> None:
    """Bound the extents that still vary by those of arrays accessed in step with them, to a fixpoint.

    :raises DifferentiationError: an extent stays without a bound.
    """
    open_ = {(name, k) for name, shape in sized.items() for k, n in enumerate(shape) if free_names(n) & symbols}
    while open_:
        bounds = {(name, k): _by_use(name, k, program, sized, open_) for name, k in open_}
        found = {at: b for at, b in bounds.items() if b is not None and not free_names(b) & symbols}
        for (name, k), bound in found.items():
            sized[name][k] = bound
        open_ -= found.keys()
        if not found:
            once = computed_once(program)
            names = {name for name, k in open_ if free_names(sized[name][k]) & symbols - once}
            if not names:
                return  # such an array is allocated when its size is known
            raise DifferentiationError([_without_bound(name, program) for name in sorted(names)])


def _without_bound(name: str, program: Program) -> Problem:
    """Return what is wrong with an array of unknown size, with the place that uses it first."""
    users = (n for n in walk(program.body) if isinstance(n, Leaf) and name in reads(n) | writes(n))
    hint = (
        "give it its largest size; if a 'while' inside of another loop keeps its values there, say how often it runs "
        "at most: 'for _ in range(most):' with 'if done: break'"
    )
    where = next((str(n.source) for n in users if n.source.line), "")
    return Problem(f"array {name}", "has a size known only at run time", where, hint)


def _resized(container: Container, shape: list[Expr]) -> Container:
    """Return a packed container of another shape. The extent 0 of a loop without iterations becomes 1."""
    shape = [max(n, sympy.Integer(1)) if n.is_number else n for n in shape]
    desc = copy.deepcopy(container.desc)
    desc.set_shape(shape, strides=[total(shape[k + 1 :]) for k in range(len(shape))], total_size=total(shape))
    return Container(container.name, desc)


def largest(size: Expr, loops: Mapping[str, Param]) -> Expr:
    """Return the maximum of a size over the iterations of some loops; the size itself if there is no closed form."""
    while names := free_names(size) & loops.keys():
        inner = max(names, key=lambda n: len(free_names(loops[n].start, loops[n].stop) & loops.keys()))
        p = loops[inner]
        if not p.step.is_number:
            return size
        low, high = (p.start, p.stop) if p.step > 0 else (p.stop, p.start)
        try:
            size = extreme(_powers_at_most(size, inner, low, high), inner, low, high, True)
        except Unbounded:
            return size
    return size


def _powers_at_most(size: Expr, name: str, low: Expr, high: Expr) -> Expr:
    """Replace powers by their maxima over a range, if the size grows with each of them.

    :raises Unbounded: an exponent has a function without known bounds.
    """
    symbol = next(s for s in size.free_symbols if s.name == name)
    powers = [p for p in size.atoms(sympy.Pow) if p.exp.has(symbol) and not p.base.has(symbol)]
    if not powers or not all(_is_size(p.base) for p in powers):
        return size
    values = {p: sympy.Dummy(positive=True) for p in powers}
    form = size.xreplace(values)
    if form.has(symbol) or not form.is_polynomial(*values.values()):
        return size
    if any(c.is_nonpositive for c in sympy.Poly(form, *values.values()).coeffs()):
        return size
    return form.xreplace({d: p.base ** extreme(p.exp, name, low, high, True) for p, d in values.items()})


def _is_size(base: Expr) -> bool:
    """True of what is at least one. An unknown sign is taken for that of a size."""
    return bool(base >= 1) if base.is_number else not base.is_nonpositive


def _by_use(
    name: str, axis: int, program: Program, sized: Mapping[str, list[Expr]], open_: set[tuple[str, int]]
) -> Expr | None:
    """Return the extent of another array that a leaf subscripts with the same parameter. None if there is none."""
    for leaf in (n for n in walk(program.body) if isinstance(n, Leaf)):
        accesses: tuple[Load | Store, ...] = (*leaf.loads, *leaf.stores)
        params = {x.index[axis] for x in accesses if x.container == name} & {sym(p.name) for p in leaf.params}
        for p in params:
            for x in accesses:
                for k, expr in enumerate(x.index):
                    known = x.container != name and (x.container, k) not in open_
                    if known and expr.coeff(p) in (1, -1):
                        return sized.get(x.container, program.containers[x.container].shape)[k]
    return None
