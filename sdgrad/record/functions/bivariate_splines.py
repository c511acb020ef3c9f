"""Splines of two coordinates through samples on a grid: products of the splines along both axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as interpolate

from sdgrad.errors import ParseError
from sdgrad.record.functions import splines
from sdgrad.record.functions.arguments import require, static
from sdgrad.record.functions.evaluated import Evaluated, frozen, made
from sdgrad.record.functions.piecewise import interval_of, wide
from sdgrad.record.functions.splines import Spline
from sdgrad.record.functions.table import array, known, rule

NAME = "RectBivariateSpline"
OF_POINTS = NAME, "RegularGridInterpolator"


@dataclass(frozen=True, eq=False)
class Bivariate(Evaluated):
    """Hold the knots along both axes, the coefficients as a matrix, and the degrees."""

    told = "a bivariate spline"

    x: Any
    y: Any
    c: Any
    degrees: tuple[int, int]

    @staticmethod
    def of(value: Any) -> Bivariate:
        """Return one of SciPy's, or one of ours, as ours."""
        if isinstance(value, Bivariate):
            return value
        x, y, c = map(frozen, value.tck[:3])
        return _of_parts(x, y, c, value.degrees)


def _of_parts(x: Any, y: Any, c: Any, degrees: Any) -> Bivariate:
    first, second = map(static, degrees)
    shape = (np.shape(x)[0] - first - 1, np.shape(y)[0] - second - 1)
    return made(Bivariate(x, y, np.reshape(wide(c, NAME), shape), (first, second)))


def _basis(t: Any, k: int, places: Any) -> tuple[Any, Any]:
    """Return where the splines begin that are not zero at some places, and these (Cox 1972, de Boor 1972)."""
    n = np.shape(t)[0] - k - 1
    own = np.clip(places, t[k], t[n])
    at_knot = splines.proper_interval(t, interval_of(t[k : n + 1], own, n - k) + k, k, n)
    found: list[Any] = [np.ones_like(own)]
    for r in range(1, k + 1):
        parts, carried = [], np.zeros_like(own)
        for j in range(r):
            right, left = t[at_knot + (j + 1)], t[at_knot + (j + 1 - r)]
            share = found[j] / (right - left)
            parts.append(carried + (right - own) * share)
            carried = (own - left) * share
        found = [*parts, carried]
    return at_knot - k, np.stack(found)


def values_at(b: Any, x: Any, y: Any, dx: Any = 0, dy: Any = 0, grid: bool = True) -> Any:
    own, at = partial_derivative(b, dx, dy), [wide(x, NAME), wide(y, NAME)]
    if not grid:
        at = [array(a) for a in np.broadcast_arrays(*at)]
    shape = tuple(n for a in at for n in np.shape(np.atleast_1d(a))) if grid else np.shape(at[0])
    if 0 in shape:
        return known(np.zeros(shape))
    flat = [np.reshape(a, (-1,)) for a in at]
    for name, places in zip("xy", flat if grid else [], strict=False):
        require(np.all(np.diff(places) >= 0.0), f"{name} must be strictly increasing when `grid` is True")
    (first, left), (second, right) = (
        _basis(t, k, places) for t, k, places in zip((own.x, own.y), own.degrees, flat, strict=True)
    )
    rows, columns = (known(np.arange(k + 1)) for k in own.degrees)
    if grid:
        along = np.einsum("ip,pij->pj", left, own.c[first[:, None] + rows])
        return np.einsum("jq,pqj->pq", right, along[:, second[:, None] + columns])
    parts = own.c[first[:, None, None] + rows[:, None], second[:, None, None] + columns]
    return np.reshape(np.einsum("ip,jp,pij->p", left, right, parts), shape)[()]


def integral(b: Any, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
    own = Bivariate.of(b)
    rows = splines.integrate(made(Spline(own.x, own.c, own.degrees[0])), xa, xb, False)
    return splines.integrate(made(Spline(own.y, rows, own.degrees[1])), ya, yb, False)


def partial_derivative(b: Any, dx: Any, dy: Any) -> Bivariate:
    own, orders = Bivariate.of(b), (static(dx), static(dy))
    if min(orders) < 0:
        raise ValueError("order of derivative must be positive or zero")
    if any(n >= k and n for n, k in zip(orders, own.degrees, strict=True)):
        raise ValueError("order of derivative must be less than degree of spline")
    rows = splines.derived(Spline(own.x, own.c, own.degrees[0]), orders[0])
    columns = splines.derived(Spline(own.y, np.transpose(rows.c), own.degrees[1]), orders[1])
    return made(Bivariate(rows.t, columns.t, np.transpose(columns.c), (rows.k, columns.k)))


Bivariate.table = {
    "__call__": values_at,
    "ev": lambda b, xi, yi, dx=0, dy=0: values_at(b, xi, yi, dx, dy, False),
    "integral": integral,
    "partial_derivative": partial_derivative,
    "get_knots": lambda b: (b.x, b.y),
    "get_coeffs": lambda b: np.reshape(b.c, (-1,)),
}


@rule(interpolate.RectBivariateSpline)
def rect_bivariate(
    x: Any, y: Any, z: Any, bbox: Any = (None,) * 4, kx: Any = 3, ky: Any = 3, s: Any = 0, maxit: Any = 20
) -> Bivariate:
    if s is None or s != 0:
        raise ParseError(f"scipy.interpolate.{NAME}: s= is not recorded: the knots depend on the data then; pass s=0")
    if any(e is not None for e in bbox):
        raise ParseError(f"scipy.interpolate.{NAME}: bbox= is not recorded: give points up to its ends")
    data, parts = wide(z, NAME), []
    for d, (name, points, degree) in enumerate((("x", x, static(kx)), ("y", y, static(ky)))):
        places = np.reshape(wide(points, NAME), (-1,))
        require(np.all(np.diff(places) > 0.0), f"{name} must be strictly increasing")
        if places.shape[0] != data.shape[d]:
            raise ValueError(f"{name} dimension of z must have same number of elements as {name}")
        if not 1 <= degree <= 5 or places.shape[0] <= degree:
            raise ValueError(f"k{name} must be 1 to 5, and less than the number of points along {name}")
        parts.append(splines.spline_through(*OF_POINTS, places, known(np.eye(places.shape[0])), degree))
    first, second = parts
    return made(Bivariate(first.t, second.t, first.c @ data @ np.transpose(second.c), (first.k, second.k)))


@rule(interpolate.bisplev)
def bisplev(x: Any, y: Any, tck: Any, dx: Any = 0, dy: Any = 0) -> Any:
    first, second, c, *degrees = tck
    found = values_at(_of_parts(wide(first, NAME), wide(second, NAME), c, degrees), x, y, dx, dy)
    rows, columns = np.shape(found)
    return found if rows > 1 else found[0] if columns > 1 else found[0, 0]


# -- those that are made of known values
@rule(interpolate.RectBivariateSpline.__call__)
def call_known(b: Any, x: Any, y: Any, dx: Any = 0, dy: Any = 0, grid: bool = True) -> Any:
    return values_at(b, x, y, dx, dy, grid)


@rule(interpolate.RectBivariateSpline.ev)
def ev_known(b: Any, xi: Any, yi: Any, dx: Any = 0, dy: Any = 0) -> Any:
    return values_at(b, xi, yi, dx, dy, False)


@rule(interpolate.RectBivariateSpline.integral)
def integral_known(b: Any, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
    return integral(b, xa, xb, ya, yb)
