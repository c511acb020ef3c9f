"""Piecewise polynomials with recorded coefficients, breakpoints or places: what interpolators evaluate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial
from typing import Any

import numpy as np
import scipy.interpolate as interpolate

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.evaluated import Evaluated, made
from sdgrad.record.functions.table import array, known


def wide(value: Any, what: str) -> Any:
    """Return real data as an array in double precision."""
    a = array(value)
    if common([a]).kind == "c":
        raise ParseError(f"{what} of complex numbers is not recorded: interpolate their real and imaginary parts")
    return a if a.dtype == np.float64 else array(astype(a, np.float64))


def first_axis(y: Any, axis: Any) -> tuple[Any, int]:
    """Return data with the axis of the points in front, and which that was."""
    d = static_axis(axis, y.ndim)
    return array(np.moveaxis(y, d, 0)) if d else y, d


def over(values: Any, rank: int) -> Any:
    """Return numbers of the first axis with further axes of one element."""
    return np.reshape(values, (*np.shape(values), *[1] * rank))


def interval_of(breaks: Any, at: Any, count: int) -> Any:
    """Return in which of some intervals places are; those outside are in the first or the last one."""
    return np.clip(np.searchsorted(breaks, at, side="right") - 1, 0, count - 1)


def placed(found: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Return values whose places are one axis in front with the axes of the places where the data had theirs."""
    trailing = np.shape(found)[1:]
    whole = np.reshape(found, (*shape, *trailing))
    places = len(shape)
    order = [*range(places, places + axis), *range(places), *range(places + axis, places + len(trailing))]
    return np.transpose(whole, order) if axis and places else whole if np.ndim(whole) else whole[()]


@dataclass(frozen=True, eq=False)
class Piecewise(Evaluated):
    """Hold coefficients ``c[power, interval, ...]``, the highest power first, and the breakpoints ``x``."""

    told = "a piecewise polynomial of scipy.interpolate"

    c: Any
    x: Any
    extrapolate: Any = True
    axis: int = 0

    @staticmethod
    def of(value: Any) -> Piecewise:
        """Return one of SciPy's piecewise polynomials, or one of ours, as ours."""
        if isinstance(value, Piecewise):
            return value
        if not isinstance(value, interpolate.PPoly):
            raise ParseError(f"scipy.interpolate.{type(value).__name__} is not recorded: use PPoly")
        return made(Piecewise(array(value.c), array(value.x), value.extrapolate, value.axis))


def values_at(p: Piecewise, at: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
    """Return the polynomial, or a derivative, at some places; NaN outside where it is not extrapolated."""
    order = static(nu)
    if order < 0:
        return values_at(antiderivative(p, -order), at, 0, extrapolate)
    mode = p.extrapolate if extrapolate is None else extrapolate
    places = wide(at, "a piecewise polynomial")
    flat, trailing = np.reshape(places, -1), np.ndim(p.c) - 2
    first, last = p.x[0], p.x[-1]
    if isinstance(mode, str) and mode == "periodic":
        flat, mode = first + (flat - first) % (last - first), False
    k = interval_of(p.x, flat, np.shape(p.c)[1])
    found = horner(derived(p.c, order), k, over(flat - p.x[k], trailing))
    if not mode:
        found = np.where(over((flat >= first) & (flat <= last), trailing), found, np.nan)
    return placed(found, places.shape, p.axis)


def horner(c: Any, k: Any, s: Any) -> Any:
    found = c[0][k] + 0.0 * s  # NaN where a place is
    for j in range(1, np.shape(c)[0]):
        found = found * s + c[j][k]
    return found


def derived(c: Any, order: int) -> Any:
    """Return the coefficients of a derivative."""
    degree = np.shape(c)[0] - 1
    if order == 0:
        return c
    if order > degree:
        return np.zeros_like(c[:1])
    kept = degree + 1 - order
    factors = np.array([factorial(degree - j) / factorial(degree - j - order) for j in range(kept)])
    return c[:kept] * known(over(factors, np.ndim(c) - 1))


def derivative(p: Any, nu: Any = 1) -> Any:
    own, order = Piecewise.of(p), static(nu)
    return antiderivative(own, -order) if order < 0 else made(replace(own, c=derived(own.c, order)))


def antiderivative(p: Any, nu: Any = 1) -> Any:
    own, order = Piecewise.of(p), static(nu)
    if order <= 0:
        return derivative(own, -order)
    for _ in range(order):
        own = made(replace(own, c=_integrated(own)))
    return own


def _integrated(p: Piecewise) -> Any:
    """Return the coefficients of the integral from the first breakpoint on, which is continuous."""
    count, trailing = np.shape(p.c)[0], np.ndim(p.c) - 2
    powers = p.c / known(over(np.arange(count, 0, -1.0), trailing + 1))
    steps = over(np.diff(p.x), trailing)
    areas = powers[0] * steps
    for j in range(1, count):
        areas = (areas + powers[j]) * steps
    starts = np.concatenate([np.zeros_like(areas[:1]), np.cumsum(areas, axis=0)[:-1]])
    return np.concatenate([powers, starts[None]])


def integrate(p: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    own = Piecewise.of(p)
    mode = own.extrapolate if extrapolate is None else extrapolate
    if isinstance(mode, str):
        raise ParseError("an integral of a periodic piecewise polynomial is not recorded: integrate within one period")
    whole = antiderivative(own)
    return values_at(whole, b, 0, mode) - values_at(whole, a, 0, mode)


Piecewise.table = {
    "__call__": values_at, "derivative": derivative, "antiderivative": antiderivative, "integrate": integrate,
}  # fmt: skip
