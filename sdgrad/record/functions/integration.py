"""Apply SciPy's integrals of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate as integrate

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.scans import trapezoid
from sdgrad.record.functions.table import array, known, rule
from sdgrad.record.values import is_recorded

rule(integrate.trapezoid)(trapezoid)


def _samples(y: Any, x: Any, dx: Any, axis: Any) -> tuple[Any, Any, int]:
    """Return samples with their axis as the last one, the steps between them, and which axis that was.

    :raises ValueError: places do not fit the samples.
    """
    a: Any = array(y)
    a = a if a.dtype.kind in "fc" else array(astype(a, np.float64))
    d = static_axis(axis, a.ndim)
    rows = np.moveaxis(a, d, -1)
    n = rows.shape[-1]
    if x is None:
        return rows, known(np.full(n - 1, 1.0)) * dx if n > 1 else None, d
    places: Any = array(x)
    if places.ndim == a.ndim and places.ndim > 1:
        places = np.moveaxis(places, d, -1)
    elif places.ndim != 1:
        raise ValueError("If given, shape of `x` must be 1-D or the same as `y`.")
    if places.shape[-1] != n:
        raise ValueError("If given, length of `x` along `axis` must be the same as `y`.")
    return rows, np.diff(places, axis=-1), d


@rule(integrate.fixed_quad)
def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: Any = 5) -> Any:
    """Sum weighted values at the points of Gauss and Legendre."""
    points, weights = map(known, np.polynomial.legendre.leggauss(static(n)))
    half = (b - a) / 2.0
    return half * np.sum(weights * func(half * (points + 1.0) + a, *args), axis=-1), None


def _double(rows: Any) -> Any:
    """Return samples in the precision in which SciPy computes most integrals."""
    return astype(rows, np.result_type(rows.dtype, np.float64))


def _put_back(found: Any, d: int) -> Any:
    return np.moveaxis(found, -1, d) if d != np.ndim(found) - 1 else found


def _with_first(found: Any, initial: Any, d: int) -> Any:
    if initial is not None:
        first = np.zeros((*np.shape(found)[:-1], 1), found.dtype) + initial
        found = np.concatenate([first, found], axis=-1)
    return _put_back(found, d)


@rule(integrate.cumulative_trapezoid)
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1, initial: Any = None) -> Any:
    if initial is not None and (is_recorded(initial) or initial != 0):
        raise ValueError("`initial` must be `None` or `0`.")
    return _trapezoids(y, x, dx, axis, initial)


def _trapezoids(y: Any, x: Any, dx: Any, axis: Any, initial: Any) -> Any:
    rows, steps, d = _samples(y, x, dx, axis)
    if rows.shape[-1] == 0:
        raise ValueError("At least one point is required along `axis`.")
    if steps is None:
        return _with_first(rows[..., :0], initial, d)
    steps = dx if x is None else steps  # a number leaves the type of the samples as it is
    return _with_first(np.cumsum(steps * (rows[..., 1:] + rows[..., :-1]) / 2.0, axis=-1), initial, d)


def _parabolas(rows: Any, h: Any) -> Any:
    """Return the integrals over the first of each two neighbouring intervals, of the parabola through three samples."""
    first, second = h[..., :-1], h[..., 1:]
    whole = first + second
    a, b, c = rows[..., :-2], rows[..., 1:-1], rows[..., 2:]
    before = (2.0 * first + 3.0 * second) / whole * a + (first + 3.0 * second) / second * b
    return first / 6.0 * (before - first * first / (whole * second) * c)


def _turned(values: Any) -> Any:
    return values[..., ::-1]


def _intervals(rows: Any, steps: Any) -> Any:
    """Return the integrals over all intervals: by the parabola with the next sample, or the one before, in turn."""
    ahead, behind = _parabolas(rows, steps), _turned(_parabolas(_turned(rows), _turned(steps)))
    n = rows.shape[-1] - 1
    odd = np.arange(n) % 2 == 1
    odd[-1] = True
    wide_ahead = np.concatenate([ahead, ahead[..., :1]], axis=-1)
    wide_behind = np.concatenate([behind[..., :1], behind], axis=-1)
    return np.where(odd, wide_behind, wide_ahead)


@rule(integrate.cumulative_simpson)
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: Any = -1, initial: Any = None) -> Any:
    rows, steps, d = _samples(y, x, dx, axis)
    if rows.shape[-1] < 3:
        return _trapezoids(y, x, dx, axis, initial)
    return _with_first(np.cumsum(_intervals(rows, steps), axis=-1), initial, d)


def _over(upper: Any, lower: Any) -> Any:
    """Return a quotient; 0 where places are equal (as SciPy has it)."""
    apart = lower != 0
    return np.where(apart, upper / np.where(apart, lower, 1.0), 0.0)


def _pairs(rows: Any, h: Any) -> Any:
    """Return the sum of the integrals over pairs of intervals, of the parabolas through three samples."""
    first, second = h[..., 0::2], h[..., 1::2]
    whole, share = first + second, _over(first, second)
    a, b, c = rows[..., 0:-2:2], rows[..., 1:-1:2], rows[..., 2::2]
    middle = b * (whole * _over(whole, first * second))
    return np.sum(whole / 6.0 * (a * (2.0 - _over(1.0, share)) + middle + c * (2.0 - share)), axis=-1)


def _last(rows: Any, h: Any) -> Any:
    """Return the integral over the last interval, of the parabola through the last three samples (Cartwright 2017)."""
    before, last = h[..., -2], h[..., -1]
    both = before + last
    alpha = _over(2.0 * last**2 + 3.0 * before * last, 6.0 * both)
    beta = _over(last**2 + 3.0 * before * last, 6.0 * before)
    eta = _over(last**3, 6.0 * before * both)
    return alpha * rows[..., -1] + beta * rows[..., -2] - eta * rows[..., -3]


@rule(integrate.simpson)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: Any = -1) -> Any:
    """Integrate pairs of intervals; the last one of an odd number by the parabola that ends there."""
    rows, steps, d = _samples(y, x, dx, axis)
    n = rows.shape[-1]
    if n < 3:
        return trapezoid(y, x, dx, axis)
    if x is not None and common([array(x)]).kind == "c":
        raise ParseError("scipy.integrate.simpson: x= of complex numbers is not recorded: SciPy drops imaginary parts")
    exact = rows if x is None else _double(rows)
    if n % 2:
        return astype(_pairs(exact, steps), exact.dtype)
    return astype(_pairs(exact[..., :-1], steps[..., :-1]) + _last(exact, steps), exact.dtype)


@rule(integrate.romb)
def romb(y: Any, dx: Any = 1.0, axis: Any = -1, show: bool = False) -> Any:
    rows = _double(_samples(y, None, 1.0, axis)[0])
    intervals = rows.shape[-1] - 1
    levels = intervals.bit_length() - 1
    if intervals < 1 or 2**levels != intervals:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    table = [0.5 * intervals * (rows[..., 0] + rows[..., -1])]
    for k in range(1, levels + 1):
        step = intervals >> k
        added = np.sum(rows[..., step :: 2 * step], axis=-1)
        new = [0.5 * table[0] + step * added]
        for j in range(1, k + 1):
            new.append(new[j - 1] + (new[j - 1] - table[j - 1]) / (4.0**j - 1.0))
        table = new
    return table[-1] * dx
