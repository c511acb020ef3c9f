"""Apply ``interp1d``, interpolation on regular grids, and polynomials through points."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as interpolate

from sdgrad.errors import ParseError
from sdgrad.record.functions import splines
from sdgrad.record.functions.arguments import require, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.evaluated import Evaluated, made
from sdgrad.record.functions.interpolation import cubic_spline, lines, pchip
from sdgrad.record.functions.piecewise import Piecewise, first_axis, interval_of, over, placed, wide
from sdgrad.record.functions.piecewise import values_at as piecewise_at
from sdgrad.record.functions.polynomial_objects import poly1d
from sdgrad.record.functions.spline_slopes import pchip_slopes
from sdgrad.record.functions.table import active, array, content, known, rule

LINEAR, SPLINES, GRID_SPLINES = ("linear", "slinear"), {"quadratic": 2, "cubic": 3}, {"cubic": 3, "quintic": 5}
CURVES, ON_GRID = (*GRID_SPLINES, "pchip"), ("RegularGridInterpolator", "method='pchip'")
STEPS = ("nearest", "nearest-up", "previous", "next", "zero")
BASE: Any = interpolate.interp1d.__call__


# -- interp1d
@dataclass(frozen=True, eq=False)
class Interp1d(Evaluated):
    """Hold points, data with their axis in front, what is outside, and a type.

    Outside None is an error, and a pair are two values. The type is that of steps, or of lines between the points.
    """

    told = "an interp1d"

    x: Any
    y: Any
    kind: str
    axis: int
    outside: Any
    dtype: np.dtype


def _spread(x: Any, y: Any, assume_sorted: bool) -> tuple[Any, Any]:
    """Return points and data in order."""
    if assume_sorted:
        return x, y
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def _outside(kind: str, y: Any, bounds_error: Any, fill_value: Any) -> Any:
    """Return what stands for places outside: None, "extrapolate", or two values."""
    if isinstance(fill_value, str):
        if fill_value != "extrapolate" or bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        ends = {"previous": (np.nan, y[-1]), "next": (y[0], np.nan)}
        return ends.get(kind, "extrapolate")
    no_fill = isinstance(fill_value, float) and np.isnan(fill_value)
    if bounds_error or bounds_error is None and no_fill:
        return None
    return fill_value if isinstance(fill_value, tuple) and len(fill_value) == 2 else (fill_value, fill_value)


@rule(interpolate.interp1d)
def interp1d(
    x: Any,
    y: Any,
    kind: Any = "linear",
    axis: Any = -1,
    copy: bool = True,
    bounds_error: Any = None,
    fill_value: Any = np.nan,
    assume_sorted: bool = False,
) -> Any:
    if kind not in (*LINEAR, *STEPS, *SPLINES):
        known_kinds = ", ".join((*LINEAR, *STEPS, *SPLINES))
        raise ParseError(f"scipy.interpolate.interp1d: kind={kind!r} is not recorded: use one of {known_kinds}")
    places, (data, d) = wide(x, "interp1d"), first_axis(wide(y, "interp1d"), axis)
    if places.ndim != 1:
        raise ValueError("the x array must have exactly one dimension.")
    if places.shape[0] != data.shape[0]:
        raise ValueError("x and y arrays must be equal in length along interpolation axis.")
    own, values = _spread(places, data, assume_sorted)
    given = array(y).dtype if array(y).dtype.kind == "f" else np.dtype(np.float64)
    dtype = np.result_type(array(x).dtype, given) if kind == "linear" else given
    return made(Interp1d(own, values, kind, d, _outside(kind, values, bounds_error, fill_value), dtype))


def interp1d_at(f: Interp1d, x: Any) -> Any:
    places = wide(x, "interp1d")
    flat, trailing = np.reshape(places, -1), np.ndim(f.y) - 1
    below, above = flat < f.x[0], flat > f.x[-1]
    if f.outside is None:
        require(~np.any(below), "A value in x_new is below the interpolation range.")
        require(~np.any(above), "A value in x_new is above the interpolation range.")
    found = _inside(f, flat, trailing)
    if isinstance(f.outside, tuple):
        low, high = f.outside
        found = np.where(over(below, trailing), low, np.where(over(above, trailing), high, found))
    return _typed(placed(found, places.shape, f.axis), f, array(x).dtype)


def _typed(found: Any, f: Interp1d, at: np.dtype) -> Any:
    """Return values in SciPy's type: splines are in double precision, steps in the data's."""
    if f.kind in SPLINES or f.kind in ("zero", "slinear"):
        return found
    given = np.result_type(f.dtype, at if at.kind == "f" else np.float64) if f.kind == "linear" else f.dtype
    return astype(array(found), given, copy=False)[()]


def _inside(f: Interp1d, flat: Any, trailing: int) -> Any:
    """Return values at places in a row; those outside are extrapolated."""
    if f.kind in LINEAR:
        return piecewise_at(Piecewise(lines(f.x, f.y), f.x), flat)
    if f.kind == "cubic" and content(f.x) is None:
        return piecewise_at(cubic_spline(f.x, f.y), flat)  # the same polynomials, of points that only a run knows
    if f.kind in SPLINES:
        return splines.values_at(splines.spline_through("interp1d", "kind='cubic'", f.x, f.y, SPLINES[f.kind]), flat)
    n = np.shape(f.y)[0]
    if f.kind == "next":
        k = np.searchsorted(f.x, flat, side="left")
    elif f.kind in ("previous", "zero"):
        k = np.searchsorted(f.x, flat, side="right") - 1
    else:
        middles = f.x[:-1] + 0.5 * np.diff(f.x)
        k = np.searchsorted(middles, flat, side="left" if f.kind == "nearest" else "right")
    found = f.y[np.clip(k, 0, n - 1)]  # as SciPy, the last one for NaN; but a spline has NaN there
    return np.where(over(np.isnan(flat), trailing), np.nan, found) if f.kind == "zero" else found


Interp1d.table = {"__call__": interp1d_at}


@rule(BASE)
def call_known(f: Any, x: Any) -> Any:
    """Return what an interpolator made of known data gives at recorded places."""
    if isinstance(f, interpolate.KroghInterpolator):
        return krogh_interpolate(f.xi, f(f.xi), x, 0, f._y_axis)
    if not isinstance(f, interpolate.interp1d):
        raise ParseError(f"scipy.interpolate.{type(f).__name__} is not recorded")
    kind = f._kind
    fill = "extrapolate" if f._extrapolate else f.fill_value
    if kind == "spline":
        kind = ("zero", "slinear", "quadratic", "cubic")[f._spline.k]
    return interp1d_at(interp1d(f.x, f.y, kind, f.axis, True, f.bounds_error, fill, True), x)


# -- polynomials through points
def through_points(xi: Any, yi: Any, x: Any, axis: int = 0) -> Any:
    """Return the polynomial through points, by Lagrange's: its terms are smooth at the points as well."""
    points, (data, d), places = (
        wide(xi, "polynomials"),
        first_axis(wide(yi, "polynomials"), axis),
        wide(x, "polynomials"),
    )
    n = points.shape[0]
    apart = np.where(known(np.eye(n) > 0), 1.0, points[:, None] - points[None, :])
    to = np.reshape(places, -1)[:, None] - points
    ones = known(np.ones((np.shape(to)[0], 1)))
    before = np.cumprod(np.concatenate([ones, to[:, :-1]], axis=1), axis=1)
    after = np.cumprod(np.concatenate([ones, to[:, :0:-1]], axis=1), axis=1)[:, ::-1]
    return placed(np.tensordot(before * after / np.prod(apart, axis=1), data, 1), places.shape, d)


@rule(interpolate.barycentric_interpolate)
def barycentric_interpolate(xi: Any, yi: Any, x: Any, axis: Any = 0, *, der: Any = 0, rng: Any = None) -> Any:
    if der != 0:
        raise ParseError("scipy.interpolate.barycentric_interpolate: der= is not recorded; differentiate the result")
    return through_points(xi, yi, x, axis)


@dataclass(frozen=True, eq=False)
class Through(Evaluated):
    """Hold points, and data with the axis of the points."""

    told = "an interpolating polynomial of scipy.interpolate"

    xi: Any
    yi: Any
    axis: int


Through.table = {"__call__": lambda p, x: through_points(p.xi, p.yi, x, p.axis)}


@rule(interpolate.BarycentricInterpolator)
def barycentric(xi: Any, yi: Any = None, axis: Any = 0, *, wi: Any = None, rng: Any = None) -> Any:
    if yi is None or wi is not None:
        raise ParseError("scipy.interpolate.BarycentricInterpolator: pass yi=, and leave wi= out")
    if np.shape(xi)[0] != np.shape(yi)[static_axis(axis, np.ndim(yi))]:
        raise ValueError("xi and yi must have the same length along the axis")
    return made(Through(xi, yi, static_axis(axis, np.ndim(yi))))


@rule(interpolate.BarycentricInterpolator.__call__)
def call_known_polynomial(f: Any, x: Any) -> Any:
    if f.yi is None:
        raise ValueError("No y-values have been set. Call `set_yi` first.")
    return through_points(f.xi, f(f.xi), x, f._y_axis)


def _distinct(xi: Any, name: str) -> None:
    """Refuse points that come twice: they stand for derivatives."""
    places = np.sort(array(xi) if content(xi) is None else np.asarray(content(xi)))
    require(np.all(np.diff(places) > 0), f"scipy.interpolate.{name}: points that come twice are not recorded")


@rule(interpolate.KroghInterpolator)
def krogh(xi: Any, yi: Any, axis: Any = 0) -> Any:
    _distinct(xi, "KroghInterpolator")
    return barycentric(xi, yi, axis)


@rule(interpolate.krogh_interpolate)
def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: Any = 0) -> Any:
    if np.ndim(der) or der != 0:
        raise ParseError("scipy.interpolate.krogh_interpolate: der= is not recorded; differentiate the result")
    _distinct(xi, "krogh_interpolate")
    return through_points(xi, yi, x, axis)


@rule(interpolate.lagrange)
def lagrange(x: Any, w: Any) -> Any:
    """Return the polynomial through points by its factors, the one of the highest power first."""
    places, values = wide(x, "lagrange"), wide(w, "lagrange")
    found = poly1d(known(np.zeros(1)))
    for j in range(places.shape[0]):
        term = poly1d(values[j][None])
        for k in range(places.shape[0]):
            if k != j:
                term = term * poly1d(np.stack([1.0, -places[k]])) / (places[j] - places[k])
        found = found + term
    return found


# -- regular grids
@dataclass(frozen=True, eq=False)
class Grid(Evaluated):
    """Hold the points along each axis, the values, and what is outside: None is an error."""

    told = "an interpolator on a grid"

    points: tuple
    values: Any
    method: str
    bounds_error: bool
    fill_value: Any


@rule(interpolate.RegularGridInterpolator)
def regular_grid(
    points: Any,
    values: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
    *,
    solver: Any = None,
    solver_args: Any = None,
) -> Any:
    if method not in (*LINEAR, "nearest", *CURVES):
        raise ValueError(f"Method {method!r} is not defined: use one of {', '.join((*LINEAR, 'nearest', *CURVES))}")
    axes, data = tuple(wide(p, "RegularGridInterpolator") for p in points), wide(values, "RegularGridInterpolator")
    if len(axes) > data.ndim:
        raise ValueError(f"There are {len(axes)} point arrays, but values has {data.ndim} dimensions")
    for d, p in enumerate(axes):
        if p.ndim != 1 or p.shape[0] != data.shape[d]:
            raise ValueError(f"There are {p.shape[0]} points and {data.shape[d]} values in dimension {d}")
    turned = [_descends(p, d) for d, p in enumerate(axes)]
    if any(turned):
        axes = tuple(np.flip(p) if t else p for p, t in zip(axes, turned, strict=True))
        data = np.flip(data, tuple(d for d, t in enumerate(turned) if t))
    return made(Grid(axes, data, method, bounds_error, fill_value))


def _descends(points: Any, axis: int) -> bool:
    """True if the known points of an axis descend; those that only a run knows must ascend."""
    places = content(points)
    descends = places is not None and len(places) > 1 and places[1] < places[0]
    ordered = np.all(np.diff(points if places is None else places) * (-1 if descends else 1) > 0)
    hint = ": those that only a run knows must ascend" if places is None else ""
    require(ordered, f"The points in dimension {axis} must be strictly ascending or descending{hint}")
    return bool(descends)


def grid_at(g: Grid, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    """Return the values at the corners around places, weighted by the distances from them."""
    if nu is not None or method not in (None, *LINEAR, "nearest", *CURVES):
        raise ParseError("scipy.interpolate.RegularGridInterpolator: nu= and other methods are not recorded")
    rank, data = len(g.points), g.values
    places = wide(_coordinates(xi, rank), "RegularGridInterpolator")
    if places.shape[-1] != rank:
        raise ValueError(
            f"The requested sample points xi have dimension {places.shape[-1]} but this is in {rank} dimensions"
        )
    flat, trailing = np.reshape(places, (-1, rank)), data.ndim - rank
    columns = [flat[:, d] for d in range(rank)]
    if (own := method or g.method) in CURVES:
        _require_enough(g, GRID_SPLINES.get(own, 3))
        if own in GRID_SPLINES:
            active().hints.rough = 1e-3  # SciPy's coefficients are those of an iterative solver
        found = _pchips_at(g, columns) if own == "pchip" else _splines_at(g, columns, GRID_SPLINES[own])
        return np.reshape(_bounded(g, found, columns, trailing), (*places.shape[:-1], *data.shape[rank:]))
    cells = [np.clip(np.searchsorted(p, c) - 1, 0, p.shape[0] - 2) for p, c in zip(g.points, columns, strict=True)]
    shares = [(c - p[k]) / (p[k + 1] - p[k]) for p, c, k in zip(g.points, columns, cells, strict=True)]
    if (method or g.method) == "nearest":
        found = data[tuple(np.where(s <= 0.5, k, k + 1) for s, k in zip(shares, cells, strict=True))]
    else:
        found = _corners(data, cells, shares, trailing)
    return np.reshape(_bounded(g, found, columns, trailing), (*places.shape[:-1], *data.shape[rank:]))


def _require_enough(g: Grid, degree: int) -> None:
    for d, points in enumerate(g.points):
        if (n := np.shape(points)[0]) <= degree:
            raise ValueError(f"There are {n} points in dimension {d}, but the method requires at least {degree + 1}")


def _splines_at(g: Grid, columns: list, degree: int) -> Any:
    """Return the values of splines along all axes, by those that are 1 at one point, and 0 at the others."""
    found = g.values
    for d, (points, column) in enumerate(zip(g.points, columns, strict=True)):
        spline = splines.spline_through(*ON_GRID, points, np.eye(np.shape(points)[0]), degree)
        shares = splines.values_at(spline, column)
        # the places are the first axis, once the first axis of the grid is gone
        found = np.tensordot(shares, found, 1) if d == 0 else np.einsum("pi,pi...->p...", shares, found)
    return found


def _pchips_at(g: Grid, columns: list) -> Any:
    """Return the values of shape-preserving curves along the last axis, then along those before (as SciPy has it)."""
    last = len(columns) - 1
    found = piecewise_at(pchip(g.points[last], np.moveaxis(g.values, last, 0)), columns[last])
    rows = np.arange(np.shape(columns[0])[0])
    for d in range(last - 1, -1, -1):
        points, y = g.points[d], array(np.moveaxis(found, 1 + d, 0))
        slopes, rank = pchip_slopes(points, y), y.ndim - 2
        k = interval_of(points, columns[d], np.shape(points)[0] - 1)
        h = over(points[k + 1] - points[k], rank)
        s = over(columns[d] - points[k], rank) / h
        secant = (y[k + 1, rows] - y[k, rows]) / h
        first, end = slopes[k, rows], slopes[k + 1, rows]
        bend = first + end - 2.0 * secant
        found = y[k, rows] + h * s * (first + s * (secant - first - bend + s * bend))
    return found


def _coordinates(xi: Any, rank: int) -> Any:
    """Return places with their coordinates along the last axis; a row of numbers is a list of places."""
    if isinstance(xi, tuple):
        return np.stack(np.broadcast_arrays(*xi), axis=-1)
    given = array(xi)
    return np.reshape(given, (-1, rank)) if given.ndim == 1 else given


def _corners(data: Any, cells: list, shares: list, trailing: int) -> Any:
    found: Any = 0.0
    for corner in itertools.product((0, 1), repeat=len(cells)):
        weight: Any = 1.0
        for side, share in zip(corner, shares, strict=True):
            weight = weight * (share if side else 1.0 - share)
        found = found + over(weight, trailing) * data[tuple(k + s for k, s in zip(cells, corner, strict=True))]
    return found


def _bounded(g: Grid, found: Any, columns: list, trailing: int) -> Any:
    """Return values with NaN at places that are none, and with what stands for those outside."""
    inside: Any = True
    missing: Any = False
    for d, (p, c) in enumerate(zip(g.points, columns, strict=True)):
        here = (c >= p[0]) & (c <= p[-1])
        missing = np.isnan(c) | missing
        if g.bounds_error:
            require(np.all(here | np.isnan(c)), f"One of the requested xi is out of bounds in dimension {d}")
        inside = here & inside
    if not g.bounds_error and g.fill_value is not None:
        found = np.where(over(inside, trailing), found, g.fill_value)
    return np.where(over(missing, trailing), np.nan, found)


Grid.table = {"__call__": grid_at}


@rule(interpolate.RegularGridInterpolator.__call__)
def call_known_grid(g: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    own = regular_grid(g.grid, g.values, g.method, g.bounds_error, g.fill_value)
    return grid_at(own, xi, method, nu=nu)


@rule(interpolate.interpn)
def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    places = _coordinates(xi, len(points))
    return grid_at(regular_grid(points, values, method, bounds_error, fill_value), places)
