"""Slopes of cubic interpolators at their points: splines, and those of pchip and of Akima."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.piecewise import over
from sdgrad.record.functions.table import array, known, operand
from sdgrad.record.values import is_recorded


def tridiagonal(lower: Any, middle: Any, upper: Any, right: Any) -> Any:
    """Return the solutions of a tridiagonal system without pivots (Thomas), for each column of the right side.

    The first element of ``lower`` and the last of ``upper`` do not count.
    """
    a, b, c = (tensor_of(array(v)) for v in (lower, middle, upper))
    r = tensor_of(array(right))
    recorder: Any = array(right).recorder
    n, columns, real = r.shape[0], r.shape[1], np.dtype(np.float64)
    above, half, found = (recorder.declare("t", s, real) for s in ((n, 1), (n, columns), (n, columns)))

    def rows(t: Any, k: Any) -> Any:
        return t.slice(0, k, 1)

    recorder.assign(rows(above, 0), lambda i, j: c[0] / b[0])
    recorder.assign(rows(half, 0), lambda i, j: r[0, j] / b[0])
    with recorder.loop(n - 1) as k:
        recorder.assign(rows(above, k + 1), lambda i, j: c[k + 1] / (b[k + 1] - a[k + 1] * above[k, 0]))
        recorder.assign(
            rows(half, k + 1),
            lambda i, j: (r[k + 1, j] - a[k + 1] * half[k, j]) / (b[k + 1] - a[k + 1] * above[k, 0]),
        )
    recorder.assign(rows(found, n - 1), lambda i, j: half[n - 1, j])
    with recorder.loop(n - 1) as k:
        m = n - 2 - k
        recorder.assign(rows(found, m), lambda i, j: half[m, j] - above[m, 0] * found[m + 1, j])
    return recorder.array(found)


# -- splines
def cubic_slopes(x: Any, y: Any, bc_type: Any) -> Any:
    """Return the slopes for which the second derivative is continuous."""
    n, trailing = np.shape(y)[0], np.shape(y)[1:]
    if 0 in trailing:
        return np.zeros_like(y)
    flat = np.reshape(y, (n, -1))
    steps = np.diff(x)
    secants = np.diff(flat, axis=0) / steps[:, None]
    if isinstance(bc_type, str) and bc_type == "periodic":
        found = _periodic(steps, secants, n)
    else:
        found = _between(steps, secants, _ends(bc_type, trailing), n)
    return np.reshape(found, (n, *trailing))


def _between(steps: Any, secants: Any, ends: list[tuple[int, Any] | None], n: int) -> Any:
    """Return slopes with conditions at the ends: None is not-a-knot, or the order and the value of a derivative."""
    if n == 2:  # as SciPy: not-a-knot is the slope of the line
        ends = [(1, secants[0]) if e is None else e for e in ends]
    if n == 3 and ends[0] is None and ends[1] is None:
        return _parabola(steps, secants)
    inner = 2.0 * (steps[:-1] + steps[1:])
    right = 3.0 * (steps[1:, None] * secants[:-1] + steps[:-1, None] * secants[1:])
    first, last = (_end(steps[::s], secants[::s], e, s) for s, e in ((1, ends[0]), (-1, ends[1])))
    one = known(np.zeros(1))
    lower = np.concatenate([one, steps[1:], first_of(last[1])])
    middle = np.concatenate([first_of(first[0]), inner, first_of(last[0])])
    upper = np.concatenate([first_of(first[1]), steps[:-1], one])
    return tridiagonal(lower, middle, upper, np.concatenate([first[2], right, last[2]]))


def first_of(value: Any) -> Any:
    """Return a number as an array of one element."""
    return np.reshape(value, (1,)) if is_recorded(value) else known(np.full(1, value))


def _parabola(steps: Any, secants: Any) -> Any:
    """Return the slopes of the parabola through three points."""
    bend = (secants[1] - secants[0]) / (steps[0] + steps[1])
    return np.stack([secants[0] - bend * steps[0], secants[0] + bend * steps[0], secants[1] + bend * steps[1]])


def _end(steps: Any, secants: Any, condition: tuple[int, Any] | None, sign: int) -> tuple[Any, Any, Any]:
    """Return the equation at an end, seen from there: the factors of the two slopes next to it, and the right side."""
    h = steps[0]
    if condition is None:
        both = h + steps[1]
        right = ((h + 2.0 * both) * steps[1] * secants[0] + h * h * secants[1]) / both
        return steps[1], both, right[None]
    order, value = condition
    if order == 1:
        return 1.0, 0.0, (value + 0.0 * secants[0])[None]
    return 2.0 * h, h, (3.0 * h * secants[0] - sign * 0.5 * value * h * h)[None]


def _ends(bc_type: Any, trailing: tuple[int, ...]) -> list[tuple[int, Any] | None]:
    """Return the conditions at both ends.

    :raises ValueError: there is no such condition.
    """
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    if len(pair) != 2:
        raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
    named = {"not-a-knot": None, "natural": (2, 0.0), "clamped": (1, 0.0)}
    found: list[tuple[int, Any] | None] = []
    for condition in pair:
        if isinstance(condition, str):
            if condition == "periodic":
                raise ValueError("'periodic' `bc_type` is defined for both curve ends and cannot be used with others.")
            if condition not in named:
                raise ValueError(f"bc_type={condition!r} is not allowed.")
            found.append(named[condition])
            continue
        order, value = condition
        if order not in (1, 2):
            raise ValueError("The specified derivative order must be 1 or 2.")
        value = operand(value)
        if np.shape(value) != trailing:
            raise ValueError(f"`deriv_value` shape {np.shape(value)} is not the expected one {trailing}.")
        found.append((order, np.reshape(value, -1)))
    return found


def _periodic(steps: Any, secants: Any, n: int) -> Any:
    """Return slopes that are the same at both ends, by two systems for all but the last two (as SciPy has it)."""
    if n == 2:
        return np.zeros_like(np.concatenate([secants, secants]))
    if n == 3:
        slope = (secants[0] / steps[0] + secants[1] / steps[1]) / (1.0 / steps[0] + 1.0 / steps[1])
        return np.stack([slope, slope, slope])
    before = np.roll(steps, 1)
    middle = 2.0 * (before + steps)
    right = 3.0 * (steps[:, None] * np.roll(secants, 1, axis=0) + before[:, None] * secants)
    m = n - 2  # unknowns besides the last one
    last_column = np.concatenate([first_of(-steps[0]), known(np.zeros(m - 2)), first_of(-before[m - 1])])
    both = np.concatenate([right[:m], last_column[:, None]], axis=1)
    found = tridiagonal(steps[:m], middle[:m], before[:m], both)
    fixed_part, by_last = found[:, :-1], found[:, -1:]
    rest = right[m] - steps[m] * fixed_part[m - 1] - before[m] * fixed_part[0]
    last = rest / (middle[m] + steps[m] * by_last[m - 1] + before[m] * by_last[0])
    whole = fixed_part + by_last * last
    return np.concatenate([whole, last[None], whole[:1]])


# -- slopes from neighbours
def pchip_slopes(x: Any, y: Any) -> Any:
    """Return weighted harmonic means of the slopes beside a point, 0 at local extremes (Fritsch and Butland 1984)."""
    steps = over(np.diff(x), np.ndim(y) - 1)
    secants = np.diff(y, axis=0) / steps
    if np.shape(y)[0] == 2:
        return np.concatenate([secants, secants])
    before, after = secants[:-1], secants[1:]
    left, right = 2.0 * steps[1:] + steps[:-1], steps[1:] + 2.0 * steps[:-1]
    same = np.sign(before) * np.sign(after) > 0
    one, two = np.where(same, before, 1.0), np.where(same, after, 1.0)
    inner = np.where(same, (left + right) / (left / one + right / two), 0.0)
    first, last = (_pchip_end(steps[::s][:2], secants[::s][:2]) for s in (1, -1))
    return np.concatenate([first[None], inner, last[None]])


def _pchip_end(steps: Any, secants: Any) -> Any:
    """Return the slope at an end by three points, changed such that the shape is kept."""
    found = ((2.0 * steps[0] + steps[1]) * secants[0] - steps[0] * secants[1]) / (steps[0] + steps[1])
    turned = np.sign(found) != np.sign(secants[0])
    steep = (np.sign(secants[0]) != np.sign(secants[1])) & (np.abs(found) > 3.0 * np.abs(secants[0]))
    return np.where(turned, 0.0, np.where(steep, 3.0 * secants[0], found))


def akima_slopes(x: Any, y: Any, modified: bool) -> Any:
    """Return means of the slopes beside a point, weighted by how much those further away change (Akima 1970)."""
    if np.shape(y)[0] == 2:
        raise ParseError("scipy.interpolate.Akima1DInterpolator of two points is not recorded: it is a line")
    secants = np.diff(y, axis=0) / over(np.diff(x), np.ndim(y) - 1)
    one = 2.0 * secants[:1] - secants[1:2]
    two = 2.0 * one - secants[:1]
    three = 2.0 * secants[-1:] - secants[-2:-1]
    four = 2.0 * three - secants[-1:]
    m = np.concatenate([two, one, secants, three, four])
    change = np.abs(np.diff(m, axis=0))
    if modified:
        change = change + 0.5 * np.abs(m[:-1] + m[1:])
    after, before = change[2:], change[:-2]
    weight = after + before
    held = weight > 1e-9 * np.max(weight, initial=-np.inf)
    whole = np.where(held, weight, 1.0)
    mean = 0.5 * (m[3:] + m[:-3])
    return np.where(held, (after * m[1:-2] + before * m[2:-1]) / whole, mean)
