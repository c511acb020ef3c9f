"""Translate images of other sizes, and what is read between their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.onnx_ops.families.extra import DOMAIN as OWN
from sdgrad.onnx_ops.families.resize import sparse, weights
from sdgrad.torch.aten.registry import RULES, aten
from sdgrad.torch.graph import Graph, Type, Value, numbers

Axis = tuple[int, int, int, float | None]
"""An axis, its size, the size of the result, and by what factor it was asked for, if by one."""


def _resized(x: Value, out: Type, given: dict[str, Any]) -> list[Axis]:
    """Return the axes of an image."""
    rank = x.rank - 2
    named = [given.get(f"scales_{d}", given.get("scales")) for d in "dhw"[-rank:]]
    factors = given.get("scale_factors") or named
    extents, results = numbers(x.shape[2:]), numbers(out.shape[2:])
    return list(zip(range(2, x.rank), extents, results, factors, strict=True))


def _resampled(g: Graph, x: Value, axis: int, places: np.ndarray, factors: np.ndarray) -> Value:
    return g.op("Resampled", x, g.constant(places), g.constant(factors), domain=OWN, axis=axis)


def _nearest(shift: float):
    """Take the element at a place, or half an element after it, which is computed in single precision."""

    def taken(n: int, m: int, factor: float | None) -> np.ndarray:
        step = np.float32(1 / factor) if factor else np.float32(n) / np.float32(m)
        places = (np.arange(m, dtype=np.float32) + np.float32(shift)) * step
        return np.minimum(np.floor(places).astype(np.int64), n - 1)

    def rule(g: Graph, out: Type, input: Value | None = None, output_size: Any = None, **more: Any) -> Value:
        image = x = input if input is not None else more["self"]
        for axis, n, m, factor in _resized(image, out, more):
            places = taken(n, m, factor)
            if not np.array_equal(places, np.arange(n)):
                x = _resampled(g, x, axis, places[:, None], np.ones((m, 1)))
        return x

    return rule


def _matrix(n: int, m: int, factor: float | None, mode: str, align_corners: bool, antialias: bool) -> np.ndarray:
    """Return the weights of elements in the results along an axis."""
    k = np.arange(m, dtype=np.float64)
    step = 1 / factor if factor else n / m
    if align_corners:
        step = (n - 1) / (m - 1) if m > 1 else 0.0
    at = k * step if align_corners and not antialias else (k + 0.5) * step - 0.5
    if mode == "linear" and not antialias:
        at = np.maximum(at, 0)
    steepness = -0.5 if antialias else -0.75
    return weights(at, n, 1 / max(step, 1e-300), mode, "", steepness, antialias, antialias)


def _interpolated(mode: str, antialias: bool = False):
    """Resize an image by interpolation."""

    def rule(
        g: Graph,
        out: Type,
        input: Value | None = None,
        output_size: Any = None,
        align_corners: bool = False,
        **more: Any,
    ) -> Value:
        image = x = input if input is not None else more["self"]
        for axis, n, m, factor in _resized(image, out, more):
            matrix = _matrix(n, m, factor, mode, align_corners, antialias)
            if n != m or not np.array_equal(matrix, np.eye(n)):
                x = _resampled(g, x, axis, *sparse(matrix))
        return x

    return rule


RESIZED = {
    "upsample_linear1d": _interpolated("linear"),
    "upsample_bilinear2d": _interpolated("linear"),
    "upsample_trilinear3d": _interpolated("linear"),
    "upsample_bicubic2d": _interpolated("cubic"),
    "_upsample_bilinear2d_aa": _interpolated("linear", antialias=True),
    "_upsample_bicubic2d_aa": _interpolated("cubic", antialias=True),
    **{f"upsample_nearest{rank}d": _nearest(0.0) for rank in (1, 2, 3)},
    **{f"_upsample_nearest_exact{rank}d": _nearest(0.5) for rank in (1, 2, 3)},
}
for _name, _rule in RESIZED.items():
    RULES[f"{_name}.default"] = RULES[f"{_name}.vec"] = _rule


@aten("grid_sampler_2d.default", "grid_sampler_3d.default")
def _grid_sampler(
    g: Graph, out: Type, input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    mode = ("linear", "nearest", "cubic")[interpolation_mode]
    padding = ("zeros", "border", "reflection")[padding_mode]
    if (mode, padding) == ("nearest", "reflection"):
        grid, padding = _reflected(g, input, grid, align_corners), "border"
    return g.op("GridSample", input, grid, mode=mode, padding_mode=padding, align_corners=int(align_corners))


def _reflected(g: Graph, image: Value, grid: Value, align_corners: bool) -> Value:
    """Return the coordinates of what is mirrored into the image: PyTorch rounds afterwards, ONNX before."""

    def op(kind: str, x: Value, y: Any, **more: Any) -> Value:
        return g.op(kind, x, g.operand(y, grid.dtype), like=grid, **more)

    extents = np.array(numbers(image.shape[2:])[::-1], np.float64)
    low, span = (0.0, extents - 1) if align_corners else (-0.5, extents)
    away = g.op("Abs", op("Mul", op("Add", grid, 1), span / 2), like=grid)  # from the lower end
    turned = op("Mod", away, np.maximum(2 * span, 1), fmod=1)
    inside = op("Min", turned, op("Sub", g.operand(2 * span, grid.dtype), turned))
    at = g.op("Round", op("Max", op("Min", op("Add", inside, low), extents - 1), 0), like=grid)
    if align_corners:
        return op("Sub", op("Div", at, np.maximum(span, 1) / 2), 1)
    return op("Sub", op("Div", op("Add", at, 0.5), span / 2), 1)
