"""Keep Python's integers in the 64 bits that programs have for them: those of Python have no end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from sdgrad.record.checks import require_unseen
from sdgrad.record.elementwise import OF_WHOLE, apply, compute
from sdgrad.record.recorder import ONLY_DATA
from sdgrad.record.restart import Hints
from sdgrad.record.trip_ranges import Trips
from sdgrad.record.values import DATA, RULES, Number, is_recorded

SIZES: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.power: lambda a, b: a**b,
    np.left_shift: lambda a, b: a * 2**b,
}
"""What a result is, of integers; its size as a number of floating point is only about that."""
NEEDS_INTEGERS = (
    *OF_WHOLE,
    *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
)
"""What means something else for numbers of floating point; and comparisons, as those of sizes that are doubled."""
TEXTS = {f: str(size(*sympy.symbols("{0} {1}"))) for f, size in SIZES.items()}
END = 9.2e18  # just below 2**63
FEW = 20  # trips in which integers do not outgrow 64 bits: those of a factorial
MANY = 200  # trips that Python runs one by one, with integers of its own
MOST_FACTOR = 2**31  # of a size, that nobody has to check
OF_SIZES = 2  # the largest power of sizes that nobody has to check
TOLD = (
    "an integer becomes larger here than the 64 bits that programs have for it: begin with a number of floating point, "
    "as 1.0 in place of 1"
)


def keep_short(ufunc: np.ufunc, operands: Sequence[Any], found: sympy.Expr | None = None) -> bool:
    """Record that the call raises an error where an integer would be too long.

    :param found: the result, where it is an expression over sizes and loop indices.
    :returns: whether the result grows from trip to trip of a loop that hands it on.
    :raises Restart: Python itself can compute it.
    """
    recorder = next(x.recorder for x in operands if is_recorded(x))
    if ufunc in NEEDS_INTEGERS:
        for operand in filter(_is_read, operands):
            recorder.hints.needs_integers(operand.origin)
    if ufunc not in SIZES or recorder.hints.of_rule or recorder.ranges.trusted:
        return False  # rules raise nothing, and algorithms of ours know what they count
    grows = any(_is_carried(x) or isinstance(x, Number) and x.grows for x in operands)
    if ufunc in (np.add, np.subtract) and not all(map(_is_carried, operands)):
        return grows and not any(map(_is_carried, operands))  # a counter does not grow as products do
    if found is not None and not _is_long(found) or _is_known_short(recorder, ufunc, operands):
        return False
    if _arguments_decide(recorder.hints, ufunc, operands) or found is not None:
        return False
    if not grows:
        _run_by_python(recorder.outside_places.open, operands)
    size = compute(f"abs({TEXTS[ufunc]})", operands, [np.dtype(np.float64)] * 2, np.dtype(np.float64))
    require_unseen(recorder, apply(np.less, [size, END]), OverflowError(TOLD))
    return grows


RULES.keep_short = keep_short


def outgrows(loop: Any, value: Any) -> bool:
    """True if a loop hands on an integer as a number of floating point: it grows in more than a few trips.

    :raises Restart: Python can run the loop, where something needs an integer.
    """
    if not isinstance(value, Number) or not value.grows or not value.weak:
        return False
    hints, trips = loop.recorder.hints, getattr(loop, "trips", None)
    if loop.site in hints.whole:
        _run_by_python([loop], [value])
        return False
    count = trips.in_this_call(hints) if trips is not None else None
    if trips is None or count is None:
        return True
    few = _takes_few(hints, trips)
    return count > FEW if few is None else not few


def _is_read(operand: Any) -> bool:
    return isinstance(operand, Number) and operand.expr is None


def _is_carried(operand: Any) -> bool:
    return _is_read(operand) and operand.tensor is not None and operand.origin != ONLY_DATA


def _is_long(expr: sympy.Expr) -> bool:
    if expr.has(sympy.Pow) and sympy.total_degree(expr) > OF_SIZES:
        return True
    return any(abs(c) > MOST_FACTOR for c in expr.as_coefficients_dict().values())


def _is_known_short(recorder: Any, ufunc: np.ufunc, operands: Sequence[Any]) -> bool:
    """True if the ranges of loop indices tell that a result is short."""
    if ufunc is np.power and type(operands[0]) is int and abs(operands[0]) <= 1:
        return True
    known = [n for n in (_most(recorder, x) for x in operands) if n is not None and n <= END]
    if len(known) < len(operands):
        return False
    with np.errstate(over="ignore"):
        most = np.exp2(known[1]) * known[0] if ufunc is np.left_shift else ufunc(*map(np.float64, known))
    return bool(most < END)


def _most(recorder: Any, operand: Any) -> int | None:
    """Return the largest size of an operand, if it is known."""
    if not isinstance(operand, Number):
        return abs(operand)
    ends = [] if operand.expr is None else [recorder.ranges.least(operand.expr), recorder.ranges.most(operand.expr)]
    return max(abs(int(n)) for n in ends) if ends and all(n is not None and n.is_Integer for n in ends) else None


def _arguments_decide(hints: Hints, ufunc: np.ufunc, operands: Sequence[Any]) -> bool:
    """True of a result of integer arguments alone: the program is for those with a short one.

    :raises Restart: it is long in this call.
    """
    exprs = [getattr(x, "expr", x) for x in operands]
    if None in exprs:
        return False
    fits = hints.fits_of(SIZES[ufunc](*map(sympy.sympify, exprs)) ** 2, int(END) ** 2)
    if fits is not None and not hints.takes(fits):
        raise hints.fix({("argument", name) for _, name in fits.symbols})
    return fits is not None


def _run_by_python(handlers: Sequence[Any], operands: Sequence[Any]) -> None:
    """Have a loop of few trips written out in which integers grow; one of very few is for calls with as few.

    :raises Restart: there is one.
    """
    loops = {o[1] for x in operands if isinstance(x, Number) for o in x.origin if o[0] == "loop"}
    for handler in handlers:
        trips = getattr(handler, "trips", None)
        if trips is None or handler.site not in loops or DATA in trips.origin or trips.span is None:
            continue
        hints = handler.recorder.hints
        count = trips.in_this_call(hints) or 0
        if not handler.flags and FEW < count <= MANY:
            raise hints.fix({("loop", handler.site), *trips.origin})
        if count <= FEW:
            _takes_few(hints, trips)


def _takes_few(hints: Hints, trips: Trips) -> bool | None:
    """Have the program be for calls with few trips; False if this call has more, None if arguments do not decide."""
    fits = hints.fits_of(trips.span, FEW * abs(trips.step))
    return None if fits is None else hints.takes(fits)
