"""Bounds of slices: as NumPy cuts them off, and over the indices of recorded loops."""

from __future__ import annotations

from typing import Any

import dace
import sympy
from dace.symbolic import int_floor

from sdgrad.program.tree import SymbolAssign, Value
from sdgrad.record.elements import Dim, dim
from sdgrad.record.elementwise import origin
from sdgrad.record.index_limits import is_certain
from sdgrad.record.index_ranges import plain
from sdgrad.record.recorder import Recorder
from sdgrad.record.values import DATA, KNOWN, RULES, Number, Origin, is_positive
from sdgrad.symbolic.expr import sym, to_ast

ZERO = sympy.Integer(0)


def bounds(recorder: Recorder, part: slice, extent: Dim) -> tuple[Dim, Dim, int]:
    """Return start, count and step of a slice; bounds that data decide are taken to lie in the array."""
    step = 1 if part.step is None else part.step.__index__()
    given = (part.start, part.stop)
    if isinstance(extent, int) and not any(isinstance(n, Number) for n in given):
        whole = [None if n is None else n.__index__() for n in given]
        start, stop, step = slice(whole[0], whole[1], step).indices(extent)
        return start, len(range(start, stop, step)), step
    defaults = (ZERO, extent) if step > 0 else (extent - 1, sympy.Integer(-1))
    start, stop = (d if n is None else _bound(recorder, n, extent) for n, d in zip(given, defaults, strict=True))
    limits = (ZERO, extent) if step > 0 else (sympy.Integer(-1), extent - 1)
    before = len(recorder.checks[1]) if recorder.checks else 0
    inside = [_inside(recorder, n, end, limits, extent) for n, end in zip(given, (start, stop), strict=True)]
    if recorder.checks and len(recorder.checks[1]) > before:
        inside = _kept_inside(recorder, inside[0], inside[1], limits, step)
    start, stop = (_named(recorder, end) for end in inside)
    count = stop - start if step == 1 else int_floor(stop - start + step - (1 if step > 0 else -1), step)
    return dim(start), _count(recorder, count, origin(*given), extent), step


def _bound(recorder: Recorder, value: Any, extent: Dim) -> Any:
    """Return a bound counted from the beginning."""
    if isinstance(value, Number):
        bound = recorder.symbol(value)
        below = recorder.symbolic(-bound - 1, value.origin)
        return bound + extent if isinstance(below, Number) and is_positive(below) else bound
    whole = value.__index__()
    return sympy.Integer(whole) + (extent if whole < 0 else 0)


def _inside(recorder: Recorder, value: Any, bound: Any, limits: tuple[Any, Any], extent: Dim) -> Any:
    """Return a bound cut off as NumPy does, unless it certainly lies in the array.

    :param limits: what a bound may be, in the direction of the slice.

    The width of a window that a loop moves is known: it has few values, and what is done with a window depends on it.
    A bound that is negative in some trips counts from the end there: Python runs the loop.
    """
    if not isinstance(value, Number):
        return bound if value is None else sympy.Max(limits[0], sympy.Min(bound, limits[1]))
    came = _came_from(value.origin)
    if came == {"loop", "argument"}:
        raise recorder.hints.fix({o for o in value.origin if o[0] == "argument"})
    if came == {"loop"}:
        least, most = recorder.ranges.least(bound), recorder.ranges.most(bound)
        if least is not None and least.is_negative:
            raise recorder.hints.fix(value.origin)
        is_short = most is not None and sympy.expand(plain(limits[1]) - most).is_nonnegative
        return bound if is_short else sympy.Min(bound, limits[1])
    if came == {"argument"} or is_certain(recorder):
        RULES.within(recorder, recorder.symbolic(bound, value.origin), extent)
    return bound


def _kept_inside(recorder: Recorder, start: Any, stop: Any, limits: tuple[Any, Any], step: int) -> list[Any]:
    """Return bounds that lie in the array in a call, too, whose check fails: it goes on to its end before it raises."""
    least, most = limits
    width = sympy.expand(stop - start)
    if step == 1 and width.is_Integer and sympy.expand(most - width).is_nonnegative and width >= 0:
        start = _named(recorder, sympy.Max(least, sympy.Min(start, most - width)))
        return [start, start + width]
    start, stop = (sympy.Max(least, sympy.Min(end, most)) for end in (start, stop))
    return [start, sympy.Max(start, stop) if step > 0 else sympy.Min(start, stop)]


def _named(recorder: Recorder, bound: Any) -> Any:
    """Return a symbol for a bound that is a maximum or a minimum: what is done with the slice is affine in it."""
    bound = sympy.sympify(bound)
    if not bound.has(sympy.Max, sympy.Min):
        return bound
    ranges = recorder.ranges
    name, block = ranges.named.get(bound, ("", []))
    if not any(b is block for b in recorder.blocks):
        name = recorder.names.fresh("n")
        recorder.symbols[name] = dace.int64
        recorder.append(SymbolAssign(name, Value((), to_ast(bound)), dace.int64, recorder.where()))
        ranges.name(bound, name, recorder.blocks[-1])
    return sym(name)


def _count(recorder: Recorder, count: Any, came: Origin, extent: Dim) -> Dim:
    """Return how many elements a slice has: none if it ends before it begins."""
    count = sympy.expand(count)
    if _came_from(came) == {"loop"} and not recorder.ranges.is_never_negative(count):
        return dim(sympy.Max(count, 0))
    if _came_from(came) == {"argument"}:
        RULES.within(recorder, recorder.symbolic(count, came), extent)
    return dim(count)


def _came_from(came: Origin) -> set[str]:
    """Return the kinds of what decides a number: loops, arguments, data."""
    return {o if o in (DATA, KNOWN) else o[0] for o in came}
