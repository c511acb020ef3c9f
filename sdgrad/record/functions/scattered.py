"""Interpolate scattered data: radial basis functions, the nearest point, and lines within known triangles."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as interpolate
from scipy.spatial import Delaunay

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import constant, static
from sdgrad.record.functions.evaluated import Evaluated, made
from sdgrad.record.functions.piecewise import over, wide
from sdgrad.record.functions.table import array, known, rule

Kernel = Callable[[Any], Any]


# -- radial basis functions; their argument is the square of the distance
def _plate(q: Any) -> Any:
    apart = q > 0
    return np.where(apart, 0.5 * q * np.log(np.where(apart, q, 1.0)), 0.0)


def _root(q: Any) -> Any:
    """Return a distance, whose derivative at zero is taken as zero."""
    apart = q > 0
    return np.where(apart, np.sqrt(np.where(apart, q, 1.0)), 0.0)


KERNELS: dict[str, tuple[Kernel, int, bool]] = {
    "linear": (lambda q: -_root(q), 0, True),
    "thin_plate_spline": (_plate, 1, True),
    "cubic": (lambda q: q * _root(q), 1, True),
    "quintic": (lambda q: -q * q * _root(q), 2, True),
    "multiquadric": (lambda q: -np.sqrt(q + 1.0), 0, False),
    "inverse_multiquadric": (lambda q: 1.0 / np.sqrt(q + 1.0), -1, False),
    "inverse_quadratic": (lambda q: 1.0 / (q + 1.0), -1, False),
    "gaussian": (lambda q: np.exp(-q), -1, False),
}
"""Functions, the least degree of polynomials beside them, and whether a scale of the distance makes no difference."""


@dataclass(frozen=True, eq=False)
class Radial(Evaluated):
    """Hold points, factors of the functions around them and of the powers, the scale, and the shape of data."""

    told = "an RBFInterpolator"

    y: Any
    factors: Any
    kernel: str
    epsilon: Any
    powers: Any
    shift: Any
    scale: Any
    shape: tuple


def _squares(a: Any, b: Any, epsilon: Any) -> Any:
    return np.sum(((a[:, None, :] - b[None, :, :]) * epsilon) ** 2, axis=-1)


def _monomials(x: Any, powers: tuple) -> Any:
    columns = []
    for each in powers:
        column: Any = np.ones_like(x[:, 0])
        for d, times in enumerate(each):
            for _ in range(times):
                column = column * x[:, d]
        columns.append(column)
    return np.stack(columns, axis=-1) if columns else None


def _powers(rank: int, degree: int) -> tuple:
    return tuple(p for p in itertools.product(range(degree + 1), repeat=rank) if sum(p) <= degree)


def _scales(y: Any) -> tuple[Any, Any]:
    """Return the middle and half of the size of the points, for powers of numbers near 1."""
    low, high = np.min(y, axis=0), np.max(y, axis=0)
    half = 0.5 * (high - low)
    return 0.5 * (low + high), np.where(half == 0, 1.0, half)


@rule(interpolate.RBFInterpolator)
def radial(
    y: Any, d: Any, neighbors: Any = None, smoothing: Any = 0.0, kernel: str = "thin_plate_spline",
    epsilon: Any = None, degree: Any = None,
) -> Radial:  # fmt: skip
    """Solve for the factors; those of the radial functions are orthogonal to the powers (Fasshauer 2007)."""
    points, data, name = wide(y, "RBFInterpolator"), wide(d, "RBFInterpolator"), kernel.lower()
    if neighbors is not None:
        raise ParseError("scipy.interpolate.RBFInterpolator: neighbors= is not recorded; leave it out")
    if points.ndim != 2 or data.shape[0] != points.shape[0]:
        raise ValueError("`y` must be a 2-dimensional array, and the first axis of `d` of its length.")
    if name not in KERNELS:
        raise ValueError(f"`kernel` must be one of {set(KERNELS)}.")
    least, free = KERNELS[name][1:]
    if epsilon is None and not free:
        raise ValueError("`epsilon` must be specified for this kernel")
    n, rank = points.shape
    powers = _powers(rank, max(least, 0) if degree is None else static(degree))
    if len(powers) > n:
        raise ValueError(f"At least {len(powers)} data points are required for these powers")
    width = 1.0 if epsilon is None else epsilon
    own = KERNELS[name][0](_squares(points, points, width))
    left = own + known(np.eye(n)) * (smoothing if np.ndim(smoothing) == 0 else array(smoothing)[:, None])
    right, (shift, scale) = np.reshape(data, (n, -1)), _scales(points)
    if powers:
        beside = _monomials((points - shift) / scale, powers)
        corner = known(np.zeros((len(powers), len(powers))))
        left = np.concatenate(
            [np.concatenate([left, beside], axis=1), np.concatenate([np.transpose(beside), corner], axis=1)]
        )
        right = np.concatenate([right, np.zeros((len(powers), np.shape(right)[1]))])
    factors = np.linalg.solve(left, right)
    return made(Radial(points, factors, name, width, powers, shift, scale, tuple(data.shape[1:])))


def radial_at(r: Radial, x: Any) -> Any:
    places = wide(x, "RBFInterpolator")
    if places.ndim != 2 or places.shape[1] != r.y.shape[1]:
        raise ValueError(f"`x` must be a 2-dimensional array with a second axis of length {r.y.shape[1]}.")
    rows = KERNELS[r.kernel][0](_squares(places, r.y, r.epsilon))
    if r.powers:
        rows = np.concatenate([rows, _monomials((places - r.shift) / r.scale, r.powers)], axis=1)
    return np.reshape(rows @ r.factors, (places.shape[0], *r.shape))


Radial.table = {"__call__": radial_at}


@rule(interpolate.RBFInterpolator.__call__)
def call_known_radial(r: Any, x: Any) -> Any:
    if r.neighbors is not None:
        raise ParseError("scipy.interpolate.RBFInterpolator: neighbors= is not recorded; leave it out")
    data = np.reshape(r.d, (-1, *r.d_shape))
    degree = max((sum(p) for p in r.powers), default=-1)
    return radial_at(radial(r.y, data, None, r.smoothing, r.kernel, r.epsilon, int(degree)), x)


# -- the nearest point, and triangles
@dataclass(frozen=True, eq=False)
class Scattered(Evaluated):
    """Hold points and values; for lines the known corners of each triangle, and the numbers that stand outside."""

    told = "an interpolator of scattered points"

    points: Any
    values: Any
    corners: Any = None
    fill: Any = np.nan


def given(points: Any, values: Any, rescale: bool, name: str) -> tuple[Any, Any]:
    if rescale:
        raise ParseError(f"scipy.interpolate.{name}: rescale= is not recorded; scale the points")
    own = tuple(points) if isinstance(points, tuple) else points
    places = np.stack(own, axis=-1) if isinstance(own, tuple) else wide(own, name)
    data = wide(values, name)
    if np.ndim(places) != 2 or data.shape[0] != np.shape(places)[0]:
        raise ValueError("different number of values and points")
    return array(places), data


def rows(x: tuple, rank: int, name: str) -> Any:
    """Return places with their coordinates along the last axis."""
    given = x[0] if len(x) == 1 else x
    places = np.stack(np.broadcast_arrays(*given), axis=-1) if isinstance(given, tuple) else given
    found = wide(places, name)
    if found.shape[-1] != rank:
        raise ValueError(f"number of dimensions in xi does not match x: {found.shape[-1]} and {rank}")
    return found


@rule(interpolate.NearestNDInterpolator)
def nearest(x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> Scattered:
    return made(Scattered(*given(x, y, rescale, "NearestNDInterpolator")))


@rule(interpolate.LinearNDInterpolator)
def linear(points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False) -> Scattered:
    places, data = given(points, values, rescale, "LinearNDInterpolator")
    told = "scipy.interpolate.LinearNDInterpolator: points must be known when recording; RBFInterpolator takes recorded"
    own = constant(places, told)
    return made(Scattered(own, data, Delaunay(own).simplices, fill_value))


def scattered_at(s: Scattered, *args: Any) -> Any:
    rank = np.shape(s.points)[1]
    places = rows(args, rank, "scattered data")
    flat = array(np.reshape(places, (-1, rank)))
    found = _nearest_at(s, flat) if s.corners is None else _linear_at(s, flat)
    return np.reshape(found, (*places.shape[:-1], *np.shape(s.values)[1:]))


def _nearest_at(s: Scattered, flat: Any) -> Any:
    found = s.values[np.argmin(_squares(flat, array(s.points), 1.0), axis=1)]
    return np.where(over(np.any(np.isnan(flat), axis=1), np.ndim(found) - 1), np.nan, found)


def located(s: Scattered, flat: Any) -> tuple[Any, Any, Any]:
    """Return the triangle that holds a place, the shares of its corners, and whether it does: all are looked at."""
    corners = s.points[s.corners]  # triangle, corner, coordinate
    last = corners[:, -1]
    inverse = np.linalg.inv(np.swapaxes(corners[:, :-1] - last[:, None], 1, 2))
    shares = np.einsum("sij,psj->psi", known(inverse), flat[:, None, :] - known(last))
    whole = np.concatenate([shares, 1.0 - np.sum(shares, axis=2, keepdims=True)], axis=2)
    least = np.min(whole, axis=2)
    own = np.argmax(least, axis=1)
    return own, whole[np.arange(flat.shape[0]), own], np.max(least, axis=1) >= -1e-13


def _linear_at(s: Scattered, flat: Any) -> Any:
    """Return values by the shares of the corners of the triangle that holds a place."""
    (own, kept, inside), trailing = located(s, flat), np.ndim(s.values) - 1
    data = s.values[known(s.corners)[own]]  # place, corner, ..
    found = np.sum(over(kept, trailing) * data, axis=1)
    return np.where(over(inside, trailing), found, s.fill)


Scattered.table = {"__call__": scattered_at}


@rule(interpolate.NearestNDInterpolator.__call__)
def call_known_nearest(s: Any, *args: Any, **query_options: Any) -> Any:
    if query_options or s.scale is not None:
        raise ParseError("scipy.interpolate.NearestNDInterpolator: rescale= and options of queries are not recorded")
    return scattered_at(nearest(s.points, s.values), *args)


OF_KNOWN: dict[type, Callable] = {
    interpolate.LinearNDInterpolator: lambda s, values: made(Scattered(s.points, values, s.tri.simplices, s.fill_value))
}
"""What stands for interpolators of known data."""


@rule(interpolate.LinearNDInterpolator.__call__)
def call_known_linear(s: Any, *args: Any) -> Any:
    if s.scale is not None:
        raise ParseError(f"scipy.interpolate.{type(s).__name__}: rescale= is not recorded; scale the points")
    own = OF_KNOWN[type(s)](s, array(np.reshape(s.values, (-1, *s.values_shape))))
    return type(own).table["__call__"](own, *args)


GRIDDED: dict[str, Callable] = {
    "nearest": lambda points, values, fill, rescale: nearest(points, values, rescale),
    "linear": linear,
}
"""What interpolates by the name of the method."""


@rule(interpolate.griddata)
def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan, rescale: bool = False
) -> Any:
    given = points if isinstance(points, tuple) else array(points)
    flat = not isinstance(given, tuple) and (given.ndim == 1 or given.shape[-1] == 1)
    if method not in GRIDDED:
        raise ValueError(f"Unknown interpolation method {method!r} for 2 dimensional data")
    if flat:
        raise ParseError("scipy.interpolate.griddata: points on a line are not recorded; use interp1d")
    own = GRIDDED[method](given, values, fill_value, rescale)
    return type(own).table["__call__"](own, xi)
