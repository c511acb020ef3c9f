"""Bounds of slices: as NumPy cuts them off, and over the indices of recorded loops."""

from __future__ import annotations

from functools import partial
from typing import Any

import dace
import sympy
from dace.symbolic import int_floor

from sdgrad.program.tree import SymbolAssign, Value
from sdgrad.record.elements import Dim, dim
from sdgrad.record.elementwise import origin
from sdgrad.record.index_limits import is_unknown
from sdgrad.record.index_ranges import plain
from sdgrad.record.recorder import Recorder
from sdgrad.record.values import DATA, KNOWN, RULES, Number, Origin, is_positive
from sdgrad.symbolic.expr import sym, to_ast

ZERO = sympy.Integer(0)


def bounds(recorder: Recorder, part: slice, extent: Dim) -> tuple[Dim, Dim, int]:
    """Return start, count and step of a slice."""
    step = 1 if part.step is None else part.step.__index__()
    given = (part.start, part.stop)
    if isinstance(extent, int) and not any(isinstance(n, Number | sympy.Expr) for n in given):
        whole = [None if n is None else n.__index__() for n in given]
        start, stop, step = slice(whole[0], whole[1], step).indices(extent)
        return start, len(range(start, stop, step)), step
    defaults = (ZERO, extent) if step > 0 else (extent - 1, sympy.Integer(-1))
    start, stop = (d if n is None else _bound(recorder, n, extent) for n, d in zip(given, defaults, strict=True))
    limits = (ZERO, extent) if step > 0 else (sympy.Integer(-1), extent - 1)
    came = origin(*given)
    if abs(step) != 1 and _came_from(came) == {"argument"}:
        raise recorder.hints.fix(came)  # how many elements there are is no sum of sizes
    if DATA in came or any(map(partial(_is_counted, recorder), given, (start, stop))):
        inside = _by_data(recorder, given, (start, stop), limits, step)
    else:
        inside = [_inside(recorder, n, end, limits, extent) for n, end in zip(given, (start, stop), strict=True)]
    start, stop = (named(recorder, end) for end in inside)
    count = stop - start if step == 1 else int_floor(stop - start + step - (1 if step > 0 else -1), step)
    return dim(start), _count(recorder, count, came, extent), step


def _bound(recorder: Recorder, value: Any, extent: Dim) -> Any:
    """Return a bound counted from the beginning."""
    if isinstance(value, Number):
        bound = recorder.symbol(value)
        below = recorder.symbolic(-bound - 1, value.origin)
        return bound + extent if isinstance(below, Number) and is_positive(below) else bound
    if isinstance(value, sympy.Expr):  # of the recorder's own, inside
        return value
    whole = value.__index__()
    return sympy.Integer(whole) + (extent if whole < 0 else 0)


def _is_counted(recorder: Recorder, value: Any, bound: Any) -> bool:
    """True of a bound that loops compute, and of which more is not known: a counter, or what is made of one."""
    if not isinstance(value, Number) or _came_from(value.origin) != {"loop"}:
        return False
    return is_unknown(recorder, recorder.ranges.least(bound), recorder.ranges.most(bound))


def _inside(recorder: Recorder, value: Any, bound: Any, limits: tuple[Any, Any], extent: Dim) -> Any:
    """Return a bound cut off as NumPy does, unless it certainly lies in the array.

    :param limits: what a bound may be, in the direction of the slice.

    The width of a window that a loop moves is known: it has few values, and what is done with a window depends on it.
    A bound that is negative in some trips counts from the end there: Python runs the loop.
    """
    if not isinstance(value, Number):
        is_inside = value is None or isinstance(value, sympy.Expr)
        return bound if is_inside else sympy.Max(limits[0], sympy.Min(bound, limits[1]))
    came = _came_from(value.origin)
    if came == {"loop", "argument"}:
        raise recorder.hints.fix({o for o in value.origin if o[0] == "argument"})
    if came == {"loop"}:
        least, most = recorder.ranges.least(bound), recorder.ranges.most(bound)
        if least is not None and least.is_negative:
            raise recorder.hints.fix(value.origin)
        is_short = most is not None and sympy.expand(plain(limits[1]) - most).is_nonnegative
        return bound if is_short else sympy.Min(bound, limits[1])
    if came == {"argument"}:
        RULES.within(recorder, recorder.symbolic(bound, value.origin), extent)
    return bound


def _by_data(
    recorder: Recorder, given: tuple[Any, Any], ends: tuple[Any, Any], limits: tuple[Any, Any], step: int
) -> list[Any]:
    """Return bounds of which data decide one: counted from the end where they are negative, and cut off, as NumPy does.

    A window at a place that data decide keeps its width, on which the shape of what is done with it depends: the call
    raises if it does not lie in the array, and it lies in it in such a call, too, which goes on to its end before. One
    that a loop counts is cut off.
    """
    least, most = limits
    width = sympy.expand(ends[1] - ends[0])
    if (
        DATA in origin(*given)
        and step == 1
        and width.is_Integer
        and sympy.expand(most - width).is_nonnegative
        and width >= 0
    ):
        for value, end in zip(given, ends, strict=True):
            RULES.within(recorder, recorder.symbolic(end, value.origin), most)
        start = named(recorder, sympy.Max(least, sympy.Min(ends[0], most - width)))
        return [start, start + width]
    extent = most - least
    start, stop = (
        sympy.Max(least, sympy.Min(_from_the_end(recorder, n, end, extent), most))
        for n, end in zip(given, ends, strict=True)
    )
    stop = sympy.Max(start, stop) if step > 0 else sympy.Min(start, stop)
    found = [named(recorder, end) for end in (start, stop)]
    recorder.ranges.by_data |= {str(s) for end in found for s in end.free_symbols}
    return found


def _from_the_end(recorder: Recorder, value: Any, bound: Any, extent: Dim) -> Any:
    """Return a bound that may be negative, counted from the beginning."""
    if not isinstance(value, Number) or recorder.ranges.is_never_negative(bound):
        return bound
    return bound + extent * sympy.Min(1, sympy.Max(0, -bound))


def named(recorder: Recorder, bound: Any) -> Any:
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
