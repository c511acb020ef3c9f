"""Apply the interpolators of ``scipy.interpolate`` that are piecewise polynomials in one variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as interpolate

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.evaluated import made
from sdgrad.record.functions.piecewise import Piecewise, first_axis, integrate, over, values_at, wide
from sdgrad.record.functions.spline_slopes import akima_slopes, cubic_slopes, pchip_slopes
from sdgrad.record.functions.table import array, content, rule

CUBIC = interpolate.CubicSpline
KINDS = (interpolate.PPoly, CUBIC, interpolate.PchipInterpolator, interpolate.Akima1DInterpolator)


# -- objects of SciPy's, made of known data
@rule(interpolate.PPoly.__call__)
def call_known(p: Any, x: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
    return values_at(Piecewise.of(p), x, nu, extrapolate)


@rule(interpolate.PPoly.integrate)
def integrate_known(p: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    return integrate(p, a, b, extrapolate)


# -- objects made of recorded data
def _points(x: Any, y: Any, axis: Any, name: str) -> tuple[Any, Any, int]:
    """Return points and data in double precision, the axis of the points in front.

    :raises ValueError: as SciPy, where their shapes do not fit, or known points do not ascend.
    """
    places, (data, d) = wide(x, name), first_axis(wide(y, name), axis)
    if places.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if places.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if places.shape[0] != data.shape[0]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    ascends = content(places)
    require(np.all(np.diff(places if ascends is None else ascends) > 0), "`x` must be strictly increasing sequence.")
    return places, data, d


def hermite(x: Any, y: Any, slopes: Any, extrapolate: Any, axis: int) -> Piecewise:
    """Return the cubic polynomials between points with values and slopes."""
    steps = over(np.diff(x), np.ndim(y) - 1)
    secants = np.diff(y, axis=0) / steps
    bend = (slopes[:-1] + slopes[1:] - 2.0 * secants) / steps
    second = (secants - slopes[:-1]) / steps - bend
    c = np.stack([bend / steps, second, slopes[:-1], y[:-1]])
    return made(Piecewise(c, x, extrapolate, axis))


@rule(CUBIC)
def cubic_spline(x: Any, y: Any, axis: Any = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> Any:
    places, data, d = _points(x, y, axis, "CubicSpline")
    periodic = isinstance(bc_type, str) and bc_type == "periodic"
    if periodic:
        message = "The first and last `y` point along axis 0 must be identical (within machine precision) "
        require(np.allclose(data[0], data[-1], rtol=1e-15, atol=1e-15), f"{message}when bc_type='periodic'.")
    if extrapolate is None:
        extrapolate = "periodic" if periodic else True
    return hermite(places, data, cubic_slopes(places, data, bc_type), extrapolate, d)


@rule(interpolate.CubicHermiteSpline)
def cubic_hermite(x: Any, y: Any, dydx: Any, axis: Any = 0, extrapolate: Any = None) -> Any:
    places, data, d = _points(x, y, axis, "CubicHermiteSpline")
    slopes, _ = first_axis(wide(dydx, "CubicHermiteSpline"), axis)
    if np.shape(slopes) != np.shape(data):
        raise ValueError("The shapes of `y` and `dydx` must be identical.")
    return hermite(places, data, slopes, True if extrapolate is None else extrapolate, d)


@rule(interpolate.PchipInterpolator)
def pchip(x: Any, y: Any, axis: Any = 0, extrapolate: Any = None) -> Any:
    places, data, d = _points(x, y, axis, "PchipInterpolator")
    return hermite(places, data, pchip_slopes(places, data), True if extrapolate is None else extrapolate, d)


@rule(interpolate.pchip_interpolate)
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: Any = 0) -> Any:
    return values_at(pchip(xi, yi, axis), x, der)


@rule(interpolate.Akima1DInterpolator)
def akima(x: Any, y: Any, axis: Any = 0, *, method: str = "akima", extrapolate: Any = None) -> Any:
    if method not in ("akima", "makima"):
        raise NotImplementedError(f"`method`={method} is unsupported.")
    places, data, d = _points(x, y, axis, "Akima1DInterpolator")
    slopes = akima_slopes(places, data, method == "makima")
    return hermite(places, data, slopes, False if extrapolate is None else extrapolate, d)


@rule(interpolate.PPoly)
def ppoly(c: Any, x: Any, extrapolate: Any = None, axis: Any = 0) -> Any:
    factors, breaks = wide(c, "PPoly"), wide(x, "PPoly")
    if axis != 0:
        raise ParseError("scipy.interpolate.PPoly: axis= is not recorded; move the axes of the coefficients")
    if factors.ndim < 2 or breaks.ndim != 1 or factors.shape[1] != breaks.shape[0] - 1:
        raise ValueError("c must be at least 2-dimensional, with an interval for each pair of breakpoints")
    return made(Piecewise(factors, breaks, True if extrapolate is None else extrapolate, 0))


def lines(x: Any, y: Any) -> Any:
    """Return the coefficients of straight lines between points."""
    slopes = np.diff(y, axis=0) / over(np.diff(array(x)), np.ndim(y) - 1)
    return np.stack([slopes, y[:-1]])
