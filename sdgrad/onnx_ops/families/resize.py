"""Lower Resize and Upsample: separable resampling by small matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from sdgrad.onnx_ops.registry import constant_of, extents, integers, lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, where
from sdgrad.record.tensors import Tensor


def enlarged(n: int, scale: float) -> int:
    """Return an extent times a factor, rounded down.

    The product is one of single precision, as in onnxruntime: factors are such numbers, and ten times 0.7 is seven.
    """
    return int(np.floor(np.float32(n) * np.float32(scale)))


def coordinates(
    n: int, m: int, scale: Any, mode: str, roi: tuple[float, float], kind: type[np.floating] = np.float64
) -> np.ndarray:
    """Return where the ``m`` results along an axis are, in the coordinates of its ``n`` inputs.

    :param kind: single precision where they are rounded next, for the reason that :func:`enlarged` has.
    """
    k, scale = np.arange(m, dtype=kind), kind(scale)
    if mode == "align_corners":
        return k * (n - 1) / (n * scale - 1) if m > 1 else np.zeros(1)
    if mode == "asymmetric":
        return k / scale
    if mode == "pytorch_half_pixel":
        return (k + 0.5) / scale - 0.5 if m > 1 else np.zeros(1)
    if mode == "half_pixel_symmetric":
        adjusted = m / (scale * n)
        return n / 2 * (1 - adjusted) + (k + 0.5) / scale - 0.5
    if mode == "tf_half_pixel_for_nn":
        return (k + 0.5) / scale
    if mode == "tf_crop_and_resize":
        low, high = roi
        if m > 1:
            return low * (n - 1) + k * (high - low) * (n - 1) / (m - 1)
        return np.array([0.5 * (low + high) * (n - 1)])
    return (k + 0.5) / scale - 0.5  # half_pixel


def precision(mode: str) -> type[np.floating]:
    """Return the precision of coordinates."""
    return np.float32 if mode == "nearest" else np.float64


NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Return the cubic convolution kernel (Keys 1981)."""
    t = np.abs(distance)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def triangle(distance: np.ndarray) -> np.ndarray:
    return np.clip(1 - np.abs(distance), 0, None)


def weights(
    at: np.ndarray, n: int, scale: float, mode: str, rounding: str, a: float, antialias: bool, exclude: bool
) -> np.ndarray:
    """Return the matrix that resamples along one axis: results by inputs."""
    matrix = np.zeros((len(at), n))
    if mode == "nearest":
        taken = np.clip(NEAREST[rounding](at), 0, n - 1).astype(int)
        matrix[np.arange(len(at)), taken] = 1
        return matrix
    kernel = (lambda d: cubic(d, a)) if mode == "cubic" else triangle
    narrow = min(scale, 1.0) if antialias else 1.0
    reach = (2 if mode == "cubic" else 1) / narrow
    for row, x in enumerate(at):
        low, high = int(np.floor(x - reach)) + 1, int(np.ceil(x + reach))
        places = np.arange(low, high + 1)
        values = kernel((places - x) * narrow)
        if exclude:
            values = np.where((places >= 0) & (places < n), values, 0.0)
        if exclude or antialias:
            values = values / values.sum()
        np.add.at(matrix[row], np.clip(places, 0, n - 1), values)
    return matrix


def sparse(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and the values of equally many elements in each row of a matrix, all others being zero."""
    rows = [np.flatnonzero(r) for r in matrix]
    width = max(map(len, rows), default=1)
    taken = np.zeros((len(rows), width), np.int64)
    factors = np.zeros((len(rows), width), np.float64)
    for k, places in enumerate(rows):
        taken[k, : len(places)], factors[k, : len(places)] = places, matrix[k, places]
    return taken, factors


def applied(b: Builder, x: Tensor, axis: int, taken: np.ndarray, factors: np.ndarray) -> Tensor:
    """Multiply by a sparse matrix along one axis: each result is a sum of equally many elements."""
    shape = [len(taken) if d == axis else n for d, n in enumerate(x.shape)]
    at = b.constant(taken)
    width = taken.shape[1]
    if np.all(factors == 1) and width == 1:
        return b.compute(shape, x.dtype, lambda *i: x[(*i[:axis], at[i[axis], 0], *i[axis + 1 :])])
    by = b.constant(factors.astype(x.dtype))

    def term(out: tuple, k: tuple):
        return by[out[axis], k[0]] * x[(*out[:axis], at[out[axis], k[0]], *out[axis + 1 :])]

    return b.reduction(shape, [width], term, "sum", x.dtype)


@lowering("Resize", since=11)
def resize(
    b: Builder,
    x: Tensor,
    roi: Tensor | None,
    scales: Tensor | None,
    sizes: Tensor | None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str,
    cubic_coeff_a: float,
    exclude_outside: int,
    extrapolation_value: float,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str,
    nearest_mode: str,
) -> Tensor:
    """Resample separably: by a small matrix along each axis that changes."""
    along = [a % x.rank for a in axes] if axes is not None else list(range(x.rank))
    along, sizes = _without_open_axes(b, x, along, sizes)
    own = [n for n in (x.shape[a] for a in along) if isinstance(n, int)]
    if len(own) < len(along):
        raise Declined("open dimensions")
    results, factors = _target(own, scales, sizes, keep_aspect_ratio_policy)
    box = _region_of_interest(roi, len(along))
    outside: list[tuple[int, np.ndarray]] = []
    for k, (axis, n, m, s) in enumerate(zip(along, own, results, factors, strict=True)):
        limits = (float(box[k]), float(box[k + len(along)]))
        at = coordinates(n, m, s, coordinate_transformation_mode, limits, precision(mode))
        if m == n and np.array_equal(at, np.arange(n)):
            continue
        matrix = weights(at, n, s, mode, nearest_mode, cubic_coeff_a, bool(antialias), bool(exclude_outside))
        x = applied(b, x, axis, *sparse(matrix))
        if coordinate_transformation_mode == "tf_crop_and_resize" and np.any((at < 0) | (at > n - 1)):
            outside.append((axis, (at < 0) | (at > n - 1)))
    for axis, mask in outside:
        flags = b.constant(mask)
        x = b.compute(x.shape, x.dtype, _filled(x, flags, axis, extrapolation_value))
    return x


def _region_of_interest(roi: Tensor | None, rank: int) -> np.ndarray:
    """Return the normalized start and end along each axis; all of the input unless given."""
    return constant_of(roi, "roi") if roi is not None and roi.size != 0 else np.r_[[0.0] * rank, [1.0] * rank]


def _without_open_axes(
    b: Builder, x: Tensor, along: list[int], sizes: Tensor | None
) -> tuple[list[int], Tensor | None]:
    """Return the axes that change and their sizes, as open axes have to stay; unchanged if no axis is open."""
    if sizes is None or all(isinstance(x.shape[a], int) for a in along):
        return along, sizes
    kept = [(a, n, m) for a, n, m in zip(along, [x.shape[a] for a in along], extents(sizes, "sizes"), strict=True)]
    return [a for a, n, m in kept if n != m], b.constant([m for _, n, m in kept if n != m])


def _target(
    own: list[int], scales: Tensor | None, sizes: Tensor | None, policy: str
) -> tuple[Sequence[int], list[float]]:
    """Return the sizes of the result and the scale factors, from the scales if they are given, else from the sizes."""
    if scales is not None and scales.size != 0:
        factors = [float(s) for s in constant_of(scales, "scales")]
        return [enlarged(n, s) for n, s in zip(own, factors, strict=True)], factors
    results = integers(sizes, "sizes")
    factors = [m / n for m, n in zip(results, own, strict=True)]
    if policy == "stretch":
        return results, factors
    common = (min if policy == "not_larger" else max)(factors)
    return [int(np.floor(n * common + 0.5)) for n in own], [common] * len(factors)


def _filled(x: Tensor, flags: Tensor, axis: int, value: float):
    def element_at(*i: sympy.Expr):
        return where(flags[i[axis]], value, x[i])

    return element_at


@lowering("Upsample", since=9)
@lowering("Resize", since=10)
def upsample(b: Builder, x: Tensor, scales: Tensor, *, mode: str) -> Tensor:
    """Scale by factors, as older versions of Resize; the nearest element is the one before, or behind to shrink."""
    factors = [float(s) for s in constant_of(scales, "scales")]
    for axis, s in enumerate(factors):
        n = x.shape[axis]
        if not isinstance(n, int):
            raise Declined("open dimensions")
        if s != 1:
            at = coordinates(n, enlarged(n, s), s, "asymmetric", (0, 1), precision(mode))
            rounding = "ceil" if s < 1 else "floor"
            x = applied(b, x, axis, *sparse(weights(at, n, s, mode, rounding, -0.75, False, False)))
    return x
