"""Apply filters of ``scipy.ndimage``: correlations with kernels, extremes in windows, and prefilters of splines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage as ndimage

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import axes_of, constant, several, static, static_axis
from sdgrad.record.functions.borders import CONSTANT, PLACES, extended
from sdgrad.record.functions.convolutions import slid, turned
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import array, fixed, known, operand, rule
from sdgrad.record.values import is_recorded


def image(value: Any, name: str, output: Any = None) -> Any:
    """Return an image of floating-point numbers.

    :raises ParseError: integers, whose results SciPy rounds, or an array as ``output=``.
    """
    a = array(value)
    if output is not None:
        raise ParseError(f"scipy.ndimage.{name}: output= is not recorded; convert the input, or assign the result")
    if a.dtype.kind not in "fc":
        raise ParseError(f"scipy.ndimage.{name} of {a.dtype} rounds its results: convert the input to floating point")
    return a


def checked_mode(mode: Any) -> str:
    if mode not in PLACES and mode not in CONSTANT:
        raise ValueError(f"boundary mode not supported: {mode}")
    return mode


def per_axis(value: Any, count: int) -> list[Any]:
    """Return an argument for each axis."""
    found = several(value) if not isinstance(value, str) else [value]
    if len(found) not in (1, count):
        raise RuntimeError("sequence argument must have length equal to input rank")
    return found * count if len(found) == 1 else found


# -- correlations
def _windowed(a: Any, axis: int, size: int, mode: Any, cval: Any, origin: Any) -> Any:
    """Return an array continued along an axis such that each element has a whole window."""
    before = size // 2 + static(origin)
    if not 0 <= before < size:
        raise ValueError("Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= (len(weights)-1) // 2")
    return extended(a, axis, before, size - 1 - before, checked_mode(mode), cval)


def correlated(a: Any, weights: Any, axis: int, mode: Any, cval: Any, origin: Any = 0) -> Any:
    """Return the correlation with weights along an axis, in the type of the image; complex ones are conjugated."""
    w = array(weights)
    if w.ndim != 1 or not w.shape[0]:
        raise RuntimeError("no filter weights given")
    wide = _windowed(a, axis, w.shape[0], mode, cval, origin)
    kernel = np.reshape(_conjugate(w), [-1 if d == axis else 1 for d in range(np.ndim(a))])
    return _slid(wide, kernel, a)


def _conjugate(w: Any) -> Any:
    return np.conj(w) if w.dtype.kind == "c" else w


def _slid(wide: Any, kernel: Any, a: Any) -> Any:
    """Return sums of products; those of a complex image in its type."""
    given = array(wide)
    dtype = given.dtype if given.dtype.kind == "c" else common([given, array(kernel)])
    return _typed(slid(given, kernel, dtype), a)


def _typed(found: Any, like: Any) -> Any:
    if np.dtype(found.dtype).kind == "c" and like.dtype.kind != "c":
        return found
    return astype(found, like.dtype, copy=False)


@rule(ndimage.correlate1d)
def correlate1d(
    input: Any,
    weights: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    a = image(input, "correlate1d", output)
    return correlated(a, weights, static_axis(axis, a.ndim), mode, cval, origin)


def _turned_origin(size: int, origin: Any) -> int:
    return -static(origin) - (1 if size % 2 == 0 else 0)


@rule(ndimage.convolve1d)
def convolve1d(
    input: Any,
    weights: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    w = _conjugate(turned(array(weights)))
    return correlate1d(input, w, axis, output, mode, cval, _turned_origin(np.shape(w)[0], origin))


def _correlate(a: Any, w: Any, mode: Any, cval: Any, origins: list[Any], axes: list[int]) -> Any:
    kernel = array(w)
    if kernel.ndim != len(axes):
        raise RuntimeError(f"filter_weights.ndim ({kernel.ndim}) must match len(axes) ({len(axes)})")
    if not kernel.size:
        return a
    wide = a
    for k, d in enumerate(axes):
        wide = _windowed(wide, d, kernel.shape[k], per_axis(mode, len(axes))[k], cval, origins[k])
    shape = [kernel.shape[axes.index(d)] if d in axes else 1 for d in range(a.ndim)]
    return _slid(wide, np.reshape(kernel, shape), a)


@rule(ndimage.correlate)
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    a = image(input, "correlate", output)
    own = axes_of(axes, a.ndim)
    return _correlate(a, _conjugate(array(weights)), mode, cval, per_axis(origin, len(own)), own)


@rule(ndimage.convolve)
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    a, w = image(input, "convolve", output), turned(array(weights))
    own = axes_of(axes, a.ndim)
    origins = [_turned_origin(n, o) for n, o in zip(np.shape(w), per_axis(origin, len(own)), strict=True)]
    return _correlate(a, w, mode, cval, origins, own)


# -- Gaussians
def gaussian_kernel(sigma: Any, order: int, radius: int) -> Any:
    """Return a Gaussian, or a derivative of one: its values times a polynomial."""
    x = np.arange(-radius, radius + 1)
    squared: Any = sigma * sigma
    of_run = bool(is_recorded(squared))
    values = np.exp(-0.5 / squared * known(x * x) if of_run else -0.5 / squared * x * x)
    values = values / np.sum(values)
    factors: list[Any] = [1.0]
    for _ in range(order):
        slope = [k * factors[k] for k in range(1, len(factors))] + [0.0, 0.0]
        factors = [s - (factors[k - 1] / squared if k else 0.0) for k, s in enumerate(slope[: len(factors) + 1])]
    polynomial = sum(f * known(1.0 * x**k) for k, f in enumerate(factors))
    return values * polynomial if order else values


def _gaussian(a: Any, sigma: Any, axis: int, order: Any, mode: Any, cval: Any, truncate: Any, radius: Any) -> Any:
    width = operand(sigma)
    if radius is None:
        told = "scipy.ndimage.gaussian_filter: a recorded sigma needs radius=, the size of the kernel"
        own = int(float(fixed(truncate)) * float(constant(width, told)) + 0.5)
    else:
        own = static(radius)
    kernel = gaussian_kernel(width, static(order), own)
    return correlated(a, turned(kernel if is_recorded(kernel) else known(kernel)), axis, mode, cval)


@rule(ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: Any = -1,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: Any = 4.0,
    *,
    radius: Any = None,
) -> Any:
    a = image(input, "gaussian_filter1d", output)
    return _gaussian(a, sigma, static_axis(axis, a.ndim), order, mode, cval, truncate, radius)


@rule(ndimage.gaussian_filter)
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: Any = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    found = image(input, "gaussian_filter", output)
    own = axes_of(axes, found.ndim)
    parts = [per_axis(v, len(own)) for v in (sigma, order, mode, radius)]
    for d, s, o, m, r in zip(own, *parts, strict=True):
        if is_recorded(s) or s > 1e-15:
            found = _gaussian(found, s, d, o, m, cval, truncate, r)
    return found


@rule(ndimage.gaussian_laplace)
def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None, **more: Any
) -> Any:
    a = image(input, "gaussian_laplace", output)
    own = axes_of(axes, a.ndim)
    orders = [[2 if e == d else 0 for e in own] for d in own]
    return sum(gaussian_filter(a, sigma, o, None, mode, cval, axes=tuple(own), **more) for o in orders)


@rule(ndimage.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None, **more: Any
) -> Any:
    a = image(input, "gaussian_gradient_magnitude", output)
    own = axes_of(axes, a.ndim)  # of the slopes: the image is smoothed along all
    orders = [[1 if e == d else 0 for e in range(a.ndim)] for d in own]
    modes = per_axis(mode, len(own))
    slopes = [gaussian_filter(a, sigma, o, None, m, cval, **more) for o, m in zip(orders, modes, strict=True)]
    return np.sqrt(sum(s * s for s in slopes))


# -- small kernels
@rule(ndimage.uniform_filter1d)
def uniform_filter1d(
    input: Any, size: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    a, n = image(input, "uniform_filter1d", output), static(size)
    return correlated(a, known(np.full(n, 1.0 / n)), static_axis(axis, a.ndim), mode, cval, origin)


@rule(ndimage.uniform_filter)
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    found = image(input, "uniform_filter", output)
    own = axes_of(axes, found.ndim)
    parts = [per_axis(v, len(own)) for v in (size, mode, origin)]
    for d, n, m, o in zip(own, *parts, strict=True):
        found = uniform_filter1d(found, n, d, None, m, cval, o) if n > 1 else found
    return found


def _edges(name: str, across: list[float]) -> None:
    """Register a filter of differences along an axis, and of weights along the others."""

    def edges(input: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
        found = image(input, name, output)
        d, modes = static_axis(axis, found.ndim), per_axis(mode, found.ndim)
        found = correlated(found, known(np.array([-1.0, 0.0, 1.0])), d, modes[d], cval)
        for e in range(found.ndim):
            if e != d:
                found = correlated(found, known(np.array(across)), e, modes[e], cval)
        return found

    rule(getattr(ndimage, name))(edges)


_edges("sobel", [1.0, 2.0, 1.0])
_edges("prewitt", [1.0, 1.0, 1.0])


@rule(ndimage.laplace)
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    a = image(input, "laplace", output)
    own = axes_of(axes, a.ndim)
    weights = known(np.array([1.0, -2.0, 1.0]))
    return sum(correlated(a, weights, d, m, cval) for d, m in zip(own, per_axis(mode, len(own)), strict=True))


# -- extremes
def _extreme(a: Any, size: int, axis: int, kind: str, mode: Any, cval: Any, origin: Any) -> Any:
    if a.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    wide = array(_windowed(a, axis, size, mode, cval, origin))
    given, recorder = tensor_of(wide), wide.recorder
    recorder.hints.disordered = True  # SciPy takes or leaves NaN by its place in a window

    def at(out: tuple, k: tuple) -> Any:
        return given[tuple(i + k[0] if d == axis else i for d, i in enumerate(out))]

    return recorder.array(recorder.reduction(np.shape(a), (size,), at, kind, wide.dtype))


def _extremes(name: str, kind: str) -> None:
    along: Callable = getattr(ndimage, f"{name}_filter1d")

    def filter1d(
        input: Any,
        size: Any,
        axis: Any = -1,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
    ) -> Any:
        a = image(input, f"{name}_filter1d", output)
        return _extreme(a, static(size), static_axis(axis, a.ndim), kind, mode, cval, origin)

    def filter_all(
        input: Any,
        size: Any = None,
        footprint: Any = None,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
        *,
        axes: Any = None,
    ) -> Any:
        if size is None or footprint is not None:
            raise ParseError(f"scipy.ndimage.{name}_filter: footprint= is not recorded; pass size=")
        found = image(input, f"{name}_filter", output)
        own = axes_of(axes, found.ndim)
        parts = [per_axis(v, len(own)) for v in (size, mode, origin)]
        for d, n, m, o in zip(own, *parts, strict=True):
            found = filter1d(found, n, d, None, m, cval, o) if n > 1 else found
        return found

    rule(along)(filter1d)
    rule(getattr(ndimage, f"{name}_filter"))(filter_all)


_extremes("maximum", "max")
_extremes("minimum", "min")
