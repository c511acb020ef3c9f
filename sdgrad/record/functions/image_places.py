"""Apply ``scipy.ndimage``'s interpolation: values between elements, at places of any kind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage as ndimage
import scipy.special

from sdgrad.errors import ParseError
from sdgrad.record.elements import Element, every, where
from sdgrad.record.functions.arguments import constant, several, static, static_axis
from sdgrad.record.functions.borders import PLACES
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.image_filters import checked_mode, image, per_axis
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.piecewise import over, wide
from sdgrad.record.functions.spline_prefilter import KINDS, double, prefiltered
from sdgrad.record.functions.table import array, content, known, rule
from sdgrad.record.tensors import Tensor

PAD = 12
"""As SciPy: elements beyond the ends, where those are continued by a constant before a spline is computed."""


# -- where places outside lie
def _mirrored(c: Any, n: int) -> Any:
    period = max(2 * n - 2, 1)
    m = np.mod(c, period)
    return np.where(m > n - 1, period - m, m) if n > 1 else 0.0 * c


def _reflected(c: Any, n: int) -> Any:
    m = np.mod(c + 0.5, 2 * n)
    return np.where(m > n, 2 * n - m, m) - 0.5


def _wrapped(c: Any, n: int) -> Any:
    if n == 1:
        return 0.0 * c
    span = n - 1
    below, above = c + span * (np.trunc(-c / span) + 1), c - span * np.trunc(c / span)
    return np.where(c < 0, below, np.where(c > span, above, c))


INSIDE: dict[str, Callable] = {
    "mirror": _mirrored,
    "reflect": _reflected,
    "grid-mirror": _reflected,
    "wrap": _wrapped,
    "grid-wrap": lambda c, n: np.mod(c, n),
    "nearest": lambda c, n: np.clip(c, -4.0, n + 3.0),
    "constant": lambda c, n: np.clip(c, 0, n - 1),
    "grid-constant": lambda c, n: np.clip(c, -4.0, n + 3.0),  # no further element counts
}


def _weights(t: Any, order: int) -> list[Any]:
    """Return the values of the splines around a place, from its distance to the element before it, or nearest to it."""
    if order == 0:
        return [1.0]
    if order == 1:
        return [1.0 - t, t]
    if order == 2:
        return [0.5 * (0.5 - t) ** 2, 0.75 - t * t, 0.5 * (0.5 + t) ** 2]
    s = 1.0 - t
    return [s**3 / 6, (4.0 - 6.0 * t * t + 3.0 * t**3) / 6, (4.0 - 6.0 * s * s + 3.0 * s**3) / 6, t**3 / 6]


def _taps(c: Any, n: int, order: int, mode: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the elements around places along an axis: which, how much they weigh, and whether they are there."""
    at = INSIDE[mode](c, n)
    centre = np.floor(at) if order % 2 else np.floor(at + 0.5)
    first = astype(centre, np.int64) - order // 2
    weights, taps, there = _weights(at - centre, order), [], []
    for k in range(order + 1):
        index = first + k
        there.append((index >= 0) & (index < n))
        taps.append(PLACES["nearest" if mode in ("nearest", "grid-constant") else KINDS[mode]](index, n))
    return taps, weights, there


def sampled(data: Any, places: list[Any], order: int, mode: str, cval: Any) -> Any:
    """Return a spline with some coefficients at places in the first axes of an array."""
    rank, count = len(places), order + 1
    shape = np.broadcast_shapes(*map(np.shape, places))
    recorder: Any = array(data).recorder
    recorder.hints.disordered = True  # at places that are NaN SciPy takes elements by chance
    given = tensor_of(array(data))
    outside = recorder.element(cval, data.dtype) if mode == "grid-constant" else None
    parts = [_taps(c, n, order, mode) for c, n in zip(places, np.shape(data), strict=False)]
    taps, weights, there = ([_spread(p[q], shape) for p in parts] for q in range(3))

    def term(out: tuple, k: tuple) -> Element:
        point, rest = out[: len(shape)], out[len(shape) :]
        at = [(k[d], *point) for d in range(rank)]
        value = given[(*(taps[d][at[d]] for d in range(rank)), *rest)]
        if outside is not None:
            inside: Any = every(*(there[d][at[d]] for d in range(rank)))
            value = where(inside, value, outside)
        for d in range(rank):
            value = value * weights[d][at[d]] if order else value
        return value

    wide_shape = (*shape, *np.shape(data)[rank:])
    found: Any = recorder.array(recorder.reduction(wide_shape, (count,) * rank, term, "sum", data.dtype))
    if order == 0:  # the weights of other orders are NaN where a place is
        none = functools.reduce(np.logical_or, [np.isnan(c) for c in places if array(c).dtype.kind == "f"], False)
        if none is not False and data.dtype.kind in "fc":
            found = np.where(over(none, data.ndim - rank), np.nan, found)
    if mode == "constant":
        inside = functools.reduce(
            np.logical_and, [(c >= 0) & (c <= n - 1) for c, n in zip(places, np.shape(data), strict=False)]
        )
        found = np.where(over(inside, data.ndim - rank), found, cval)
    return found


def _spread(values: list[Any], shape: tuple[int, ...]) -> Tensor:
    """Return what belongs to the elements around each of some places as a tensor, those elements in front."""
    whole = array(
        np.stack([array(v) for v in values]) if np.ndim(values[0]) else np.reshape(known(np.array(values)), (-1,))
    )
    missing = len(shape) + 1 - whole.ndim
    tensor = tensor_of(array(np.reshape(whole, (whole.shape[0], *[1] * missing, *whole.shape[1:]))))
    return tensor.broadcast((whole.shape[0], *shape))


def _order(order: Any) -> int:
    own = static(order)
    if not 0 <= own <= 5:
        raise RuntimeError("spline order not supported")
    if own > 3:
        raise ParseError(f"scipy.ndimage: splines of order {own} are not recorded: use 0, 1, 2 or 3")
    return own


def _interpolated(a: Any, places: list[Any], order: Any, mode: Any, cval: Any, prefilter: bool) -> Any:
    """Return what an image is at places in its first axes."""
    data: Any
    own, kind, data, shift = _order(order), checked_mode(mode), double(a), 0
    if prefilter and own > 1:
        if kind in ("nearest", "grid-constant"):
            shift = PAD
            widths = [(PAD, PAD) if d < len(places) else (0, 0) for d in range(data.ndim)]
            more = {"mode": "edge"} if kind == "nearest" else {"constant_values": cval}
            data = np.pad(data, widths, **more)
        for d in range(len(places)):
            data = prefiltered(data, d, own, kind)
    found = sampled(data, [c + shift for c in places], own, kind, cval)
    return astype(found, a.dtype, copy=False)


def _axis_places(values: Any, d: int, rank: int) -> Any:
    """Return places along an axis with that many axes."""
    return np.reshape(values, [-1 if e == d else 1 for e in range(rank)])


# -- SciPy's
@rule(ndimage.map_coordinates)
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    a, places = image(input, "map_coordinates", output), wide(coordinates, "map_coordinates")
    if places.ndim < 2 or places.shape[0] != a.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    return _interpolated(a, [places[d] for d in range(a.ndim)], order, mode, cval, prefilter)


@rule(ndimage.shift)
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    a = image(input, "shift", output)
    steps = enumerate(zip(a.shape, per_axis(shift, a.ndim), strict=True))
    places = [_axis_places(known(1.0 * np.arange(n)) - s, d, a.ndim) for d, (n, s) in steps]
    return _interpolated(a, places, order, mode, cval, prefilter)


@rule(ndimage.zoom)
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    a = image(input, "zoom", output)
    factors = constant(zoom, "scipy.ndimage.zoom: the factors decide the shape, and must be known when recording")
    own = np.broadcast_to(np.asarray(factors, float), a.ndim)
    if np.all(own == 1) and prefilter:
        return a
    places = []
    for d, (n, z) in enumerate(zip(a.shape, own, strict=True)):
        count = int(round(n * z))
        over_, under = (n, count) if grid_mode else (n - 1, count - 1)
        step = over_ / under if under else 1.0
        k = np.arange(count)
        places.append(known(_axis_places((k + 0.5) * step - 0.5 if grid_mode else k * step, d, a.ndim)))
    return _interpolated(a, places, order, mode, cval, prefilter)


@rule(ndimage.affine_transform)
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    a, m = image(input, "affine_transform", output), wide(matrix, "affine_transform")
    shape = tuple(a.shape) if output_shape is None else tuple(map(static, output_shape))
    rank = a.ndim
    if m.ndim == 2 and m.shape[1] == rank + 1 and m.shape[0] in (rank, rank + 1):
        last = content(m) if m.shape[0] == rank + 1 else None
        if last is not None and not np.all(last[rank] == [0] * rank + [1]):
            raise ValueError("Expected homogeneous transformation matrix, but the bottom row is another one")
        offset, m = m[:rank, rank], m[:rank, :rank]
    if m.shape[0] != rank or m.ndim == 2 and m.shape[1] != len(shape):
        raise RuntimeError("affine matrix has wrong number of rows or columns")
    moved = several(offset)
    moved = moved * rank if len(moved) == 1 else moved
    grid = [known(_axis_places(1.0 * np.arange(n), d, len(shape))) for d, n in enumerate(shape)]
    if m.ndim == 1:
        places = [m[d] * grid[d] + moved[d] for d in range(rank)]
    else:
        places = [
            sum((m[d, e] * grid[e] for e in range(1, len(shape))), m[d, 0] * grid[0]) + moved[d] for d in range(rank)
        ]
    return _interpolated(a, places, order, mode, cval, prefilter)


@rule(ndimage.rotate)
def rotate(
    input: Any,
    angle: Any,
    axes: Any = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    a = image(input, "rotate", output)
    if a.ndim < 2:
        raise ValueError("input array should be at least 2D")
    plane = sorted(static_axis(d, a.ndim) for d in axes)
    sizes = np.array([a.shape[d] for d in plane])
    out = sizes
    if reshape:
        told = "scipy.ndimage.rotate: a recorded angle needs reshape=False, for it decides the shape"
        turn = constant(angle, told)
        c, s = float(scipy.special.cosdg(turn)), float(scipy.special.sindg(turn))
        (iy, ix), matrix = sizes, np.array([[c, s], [-s, c]])
        out = (np.ptp(matrix @ [[0, 0, iy, iy], [0, ix, 0, ix]], axis=1) + 0.5).astype(int)
    cosine, sine = scipy.special.cosdg(angle), scipy.special.sindg(angle)
    first, second = (known(_axis_places(np.arange(n) - (n - 1) / 2, d, 2)) for d, n in enumerate(out))
    middle = (sizes - 1) / 2
    places = [cosine * first + sine * second + middle[0], cosine * second - sine * first + middle[1]]
    front = np.moveaxis(a, plane, (0, 1))
    return np.moveaxis(_interpolated(front, places, order, mode, cval, prefilter), (0, 1), plane)
