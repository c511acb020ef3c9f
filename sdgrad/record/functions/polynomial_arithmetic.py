"""Arithmetic, roots and companion matrices of the families of series in ``numpy.polynomial``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.polynomial as series

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import constant, require, static
from sdgrad.record.functions.polynomial_series import inexact, one_series, vander_of, whole
from sdgrad.record.functions.polynomials import least_squares
from sdgrad.record.functions.series_maps import (
    FAMILIES_OF,
    POWERS,
    Family,
    columns_of,
    companions,
    in_precision,
    of_type,
    product,
    shifts,
    times,
)  # fmt: skip
from sdgrad.record.functions.table import array, content, known, operand, rule


def _two(family: Family, name: str, c1: Any, c2: Any) -> tuple[Any, Any]:
    first, second = (one_series(c, family.full(name)) for c in (c1, c2))
    dtype = np.result_type(first.dtype, second.dtype)
    return of_type(first, dtype), of_type(second, dtype)


# -- sums and products
def _sum(family: Family, name: str, c1: Any, c2: Any, sign: int) -> Any:
    first, second = _two(family, name, c1, c2)
    size = max(np.shape(first)[0], np.shape(second)[0])
    first, second = (np.pad(c, (0, size - np.shape(c)[0])) for c in (first, second))
    return whole(first + second if sign > 0 else first - second, family.full(name))


def _product(family: Family, c1: Any, c2: Any) -> Any:
    first, second = _two(family, "mul", c1, c2)
    return whole(product(family, first, second), family.full("mul"))


def _times_x(family: Family, c: Any) -> Any:
    own = one_series(c, family.full("mulx"))
    return whole(times(shifts(family, np.shape(own)[0]), own), family.full("mulx"))


def _power(family: Family, c: Any, power: Any, most: Any) -> Any:
    own, n = one_series(c, family.full("pow")), static(power)
    if n < 0:
        raise ValueError("Power must be a non-negative integer.")
    if most is not None and n > static(most):
        raise ValueError("Power is too large")
    found = known(np.ones(1, own.dtype)) if n == 0 else own
    for _ in range(n - 1):
        found = product(family, found, own)
    return found


def _line(family: Family, off: Any, scl: Any) -> Any:
    """Return the series of ``off + scl x``, which NumPy makes of one coefficient where ``scl`` is zero."""
    if np.ndim(off) or np.ndim(scl):
        raise ValueError("off and scl must be numbers")
    slope = content(array(scl))
    if slope is not None and slope == 0:
        return np.stack([operand(off)])
    require(scl != 0, f"{family.full('line')}: scl is zero, where NumPy returns one coefficient")
    given = array(np.stack([operand(off), operand(scl)]))
    return times(columns_of([family.of("line")(1.0, 0), family.of("line")(0.0, 1.0)]), given)


# -- quotients
def divided(family: Family, over: Any, by: Any) -> tuple[Any, Any]:
    """Return a quotient and what remains, the lowest degree first; what remains of a number is one zero."""
    m, n = np.shape(over)[0], np.shape(by)[0]
    if m < n:
        return over[:1] * 0, over
    if n == 1:
        return over / by[0], over[:1] * 0
    rest, found = over, []
    for k in range(m - n, -1, -1):
        multiple = product(family, known(np.eye(k + 1, dtype=by.dtype)[k]), by) if family is not POWERS else by
        factor = rest[-1] / multiple[-1]
        begin = np.shape(rest)[0] - np.shape(multiple)[0]
        rest = np.concatenate([rest[:begin], rest[begin:-1] - factor * multiple[:-1]])
        found.append(factor)
    return np.stack(found[::-1]), rest


def _quotient(family: Family, c1: Any, c2: Any) -> tuple[Any, Any]:
    name = family.full("div")
    over, by = _two(family, "div", c1, c2)
    require(by[-1] != 0, f"{name}: division by a series that is zero", ZeroDivisionError)
    found, rest = divided(family, over, by)
    return found, whole(rest, f"{name}: of the remainder")


# -- roots
def of_roots(family: Family, zeros: Any) -> Any:
    """Return the series with these roots, by one product with a line for each."""
    found = known(np.ones(1, zeros.dtype))
    end = known(np.zeros(1, zeros.dtype))
    for k in range(np.shape(zeros)[0]):
        found = times(shifts(family, k + 1), found) - zeros[k] * np.concatenate([found, end])
    return found


def _from_roots(family: Family, roots: Any) -> Any:
    zeros: Any = inexact(roots)
    if zeros.ndim != 1:
        raise ValueError("Coefficient array is not 1-d")
    return of_roots(family, of_type(zeros, np.result_type(zeros.dtype, np.float64)))


def _companion(family: Family, c: Any) -> Any:
    own = one_series(c, family.full("companion"))
    n = np.shape(own)[0] - 1
    if n < 1:
        raise ValueError("Series must have maximum degree of at least 1.")
    matrix, more = (in_precision(m, own.dtype) for m in companions(family, n))
    column = more @ (own[:-1] / own[-1])
    return np.concatenate([matrix[:, :-1] + 0 * own[-1], (matrix[:, -1] + column)[:, None]], axis=1)


def roots_of(family: Family, c: Any) -> Any:
    """Return eigenvalues of the companion matrix in NumPy's order: by real parts, and then by imaginary ones.

    They are complex numbers, for only a run knows whether all are real.
    """
    own = one_series(c, family.full("roots"))
    if np.shape(own)[0] < 2:
        return known(np.zeros(0, own.dtype))
    matrix = _companion(family, own)
    found = np.linalg.eigvals(matrix if family is POWERS else matrix[::-1, ::-1])
    found = found[np.argsort(np.imag(found), kind="stable")]
    return found[np.argsort(np.real(found), kind="stable")]


# -- fits
def _fit(family: Family, x: Any, y: Any, deg: Any, rcond: Any, full: bool, w: Any) -> Any:
    """Return the series of some degrees that is closest to samples; others have the coefficient zero."""
    name = family.full("fit")
    if full:
        raise ParseError(f"{name}: full=True is not recorded; use np.linalg.lstsq of {family.short}vander")
    degrees = np.asarray(constant(deg, f"{name}: deg= must be known"))
    if degrees.ndim > 1 or degrees.dtype.kind not in "iu" or not degrees.size:
        raise TypeError("deg must be an int or non-empty 1-D array of int")
    if degrees.min() < 0:
        raise ValueError("expected deg >= 0")
    places, values, most = inexact(x), inexact(y), int(degrees.max())
    left = vander_of(family.of("val"), places, most) if places.ndim == 1 else places
    if degrees.ndim:
        degrees = np.sort(degrees)
        left = left[:, degrees]
    found = least_squares(left, places, values, rcond, w, name)
    return times(np.eye(most + 1)[:, degrees], found) if degrees.ndim else found


def _register(family: Family) -> None:
    def named(name: str, function: Callable) -> None:
        rule(family.of(name))(function)

    def power(c: Any, pow: Any, maxpower: Any = None if family is POWERS else 16) -> Any:  # noqa: A002 (NumPy's name)
        return _power(family, c, pow, maxpower)

    def fit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None) -> Any:
        return _fit(family, x, y, deg, rcond, full, w)

    named("fit", fit)
    named("add", lambda c1, c2: _sum(family, "add", c1, c2, 1))
    named("sub", lambda c1, c2: _sum(family, "sub", c1, c2, -1))
    named("mul", lambda c1, c2: _product(family, c1, c2))
    named("mulx", lambda c: _times_x(family, c))
    named("div", lambda c1, c2: _quotient(family, c1, c2))
    named("pow", power)
    named("line", lambda off, scl: _line(family, off, scl))
    named("fromroots", lambda roots: _from_roots(family, roots))
    named("companion", lambda c: _companion(family, c))
    named("roots", lambda c: roots_of(family, c))


for _family in FAMILIES_OF.values():
    _register(_family)


# -- weights of orthogonal series, and what NumPy has for one family only
for _kind, _weight in {
    series.Chebyshev: lambda x: 1.0 / (np.sqrt(1.0 + x) * np.sqrt(1.0 - x)),
    series.Legendre: lambda x: x * 0.0 + 1.0,
    series.Hermite: lambda x: np.exp(-(x**2)),
    series.HermiteE: lambda x: np.exp(-0.5 * x**2),
    series.Laguerre: lambda x: np.exp(-x),
}.items():
    rule(FAMILIES_OF[_kind].of("weight"))(lambda x, own=_weight: own(operand(x)))


@rule(series.polynomial.polyvalfromroots)
def polyvalfromroots(x: Any, r: Any, tensor: bool = True) -> Any:
    zeros, place = inexact(r), operand(x)
    if np.ndim(place) and tensor:
        zeros = np.reshape(zeros, (*np.shape(zeros), *[1] * np.ndim(place)))
    elif np.ndim(place) >= np.ndim(zeros):
        raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return np.prod(place - zeros, axis=0)


@rule(series.chebyshev.chebinterpolate)
def chebinterpolate(func: Callable, deg: Any, args: Any = ()) -> Any:
    degree = static(deg)
    if degree < 0:
        raise ValueError("expected deg >= 0")
    places = series.chebyshev.chebpts1(degree + 1)
    shares = series.chebyshev.chebvander(places, degree) * 2.0 / (degree + 1)
    shares[:, 0] *= 0.5
    return known(shares.T) @ array(func(known(places), *args))
