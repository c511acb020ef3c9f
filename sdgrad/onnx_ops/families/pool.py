"""Lower pooling over windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy

from sdgrad.onnx_ops.families.conv import Windows, surrounded, windows
from sdgrad.onnx_ops.families.reduction import root
from sdgrad.onnx_ops.registry import integers, lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Dim, Element, bounds, call, dim, element, product, where
from sdgrad.record.tensors import Tensor


def enlarged(over: Windows, extents: Sequence[Dim], counts: Sequence[Dim]) -> Windows:
    """Return windows with the padding that the last of them needs (``ceil_mode``)."""
    after = []
    for n, p, q, r, s, count in zip(extents, over.before, over.after, over.reach, over.strides, counts, strict=True):
        needed = (sympy.sympify(count) - 1) * s + r - n - p
        after.append(max(q, int(needed)) if needed.is_Integer else q)
    return Windows(over.kernel, over.strides, over.dilations, over.before, tuple(after))


def placed(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    auto_pad: str,
    ceil_mode: int,
) -> tuple[tuple[Dim, ...], Windows, Windows]:
    """Return the number of windows, and the windows as given and with the padding that the last ones need."""
    extents = x.shape[2:]
    over = windows(extents, kernel, strides, dilations, pads, auto_pad)
    counts = over.counts(extents, bool(ceil_mode))
    return counts, over, enlarged(over, extents, counts)


def pooled(b: Builder, x: Tensor, over: Windows, counts: Sequence[Dim], mode: str, outside: object) -> Tensor:
    """Reduce each window."""
    image = surrounded(b, x, over, outside)

    def value(out: tuple, inside: tuple) -> Element:
        return image[(*out[:2], *over.positions(out[2:], inside))]

    return b.reduction([*x.shape[:2], *counts], over.kernel, value, mode, x.dtype)


@lowering("MaxPool")
def max_pool(
    b: Builder,
    x: Tensor,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    dilations: Sequence[int] = (),
    kernel_shape: Sequence[int],
    pads: Sequence[int] = (),
    storage_order: int = 0,
    strides: Sequence[int] = (),
    operation=None,
) -> tuple[Tensor, Tensor | None]:
    """Return the largest element of each window and, if asked for, its position."""
    counts, _, over = placed(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    values = pooled(b, x, over, counts, "max", bounds(x.dtype)[0])
    if len(operation.outputs) < 2:
        return values, None
    return values, _positions(b, x, over, values, storage_order)


def is_extreme(
    image: Tensor, over: Windows, extents: Sequence[Dim], values: Tensor, out: tuple, inside: tuple
) -> Element:
    """True if an element of a window is its largest: one of the image itself, and NaN if one of them is.

    :param image: with its padding, which may be as large where the elements are the least of their type.
    """
    at = over.positions(out[2:], inside)
    found = image[(*out[:2], *at)]
    hit = found.equals(values[out])
    if image.dtype.kind == "f":
        hit = hit | call("isnan", found, dtype=bool)
    for place, low, high, n in zip(at, over.before, over.after, extents, strict=True):
        if low or high:
            own = element(place, np.int64) - low
            hit = hit & (own >= 0) & (own < element(n, np.int64))
    return hit


def _positions(b: Builder, x: Tensor, over: Windows, values: Tensor, column_major: int) -> Tensor:
    """Return the position of each window's first extreme, counted through the whole tensor."""
    image = surrounded(b, x, over, bounds(x.dtype)[0])
    extents = x.shape[2:]
    axes = range(len(extents))
    order = list(reversed(axes)) if not column_major else list(axes)

    def value(out: tuple, inside: tuple) -> Element:
        at = over.positions(out[2:], inside)
        flat: sympy.Expr = sympy.Integer(0)
        for d in reversed(order):
            flat = flat * extents[d] + at[d] - over.before[d]
        flat = flat + (out[0] * x.shape[1] + out[1]) * product(extents)
        hit = is_extreme(image, over, extents, values, out, inside)
        return where(hit, element(flat, np.int64), element(np.iinfo(np.int64).max, np.int64))

    return b.reduction(values.shape, over.kernel, value, "min", np.int64)


@lowering("AveragePool")
def average_pool(
    b: Builder,
    x: Tensor,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] = (),
    kernel_shape: Sequence[int],
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Tensor:
    """Return the mean of each window."""
    counts, over, wide = placed(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    total = pooled(b, x, wide, counts, "sum", 0)
    if not any(wide.before) and not any(wide.after):
        return total.map(lambda v: v / product(over.kernel))
    low = [-p if count_include_pad else 0 for p in over.before]
    high = [n + (q if count_include_pad else 0) for n, q in zip(x.shape[2:], over.after, strict=True)]

    def average(*i: sympy.Expr) -> Element:
        return total[i] / _inside(over, i[2:], low, high).astype(x.dtype)

    return b.compute(total.shape, x.dtype, average)


def _inside(over: Windows, window: Sequence[sympy.Expr], low: Sequence[Dim], high: Sequence[Dim]) -> Element:
    """Return the number of a window's elements between two corners."""
    result = element(1, np.int64)
    for d, w in enumerate(window):
        first = element(w * over.strides[d] - over.before[d], np.int64)
        along = element(0, np.int64)
        for k in range(over.kernel[d]):
            at = first + k * over.dilations[d]
            inside = (at >= element(low[d], np.int64)) & (at < element(high[d], np.int64))
            along = along + where(inside, element(1, np.int64), 0)
        result = result * along
    return result


@lowering("LpPool")
def lp_pool(
    b: Builder,
    x: Tensor,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    dilations: Sequence[int] = (),
    kernel_shape: Sequence[int],
    p: int,
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Tensor:
    """Return the norm of each window."""
    counts, _, over = placed(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    return norm_of(pooled(b, power_of(x, p), over, counts, "sum", 0), p)


def power_of(x: Tensor, p: int) -> Tensor:
    return x.map((lambda v: v * v) if p == 2 else (lambda v: call("abs", v) ** p if p != 1 else call("abs", v)))


def norm_of(total: Tensor, p: int) -> Tensor:
    return total.map((lambda s: root(s, total)) if p == 2 else (lambda s: s ** (1 / p) if p != 1 else s))


@lowering("GlobalAveragePool")
def global_average_pool(b: Builder, x: Tensor) -> Tensor:
    count = element(product(x.shape[2:]), x.dtype)
    return x.sum(range(2, x.rank), keepdims=True).map(lambda s: s / count)


@lowering("GlobalMaxPool")
def global_max_pool(b: Builder, x: Tensor) -> Tensor:
    return x.max(range(2, x.rank), keepdims=True)


@lowering("GlobalLpPool", since=2)
def global_lp_pool(b: Builder, x: Tensor, *, p: int) -> Tensor:
    return norm_of(power_of(x, p).sum(range(2, x.rank), keepdims=True), p)


def unpooled(
    shape: Sequence[Dim], kernel_shape: Sequence[int], pads: Sequence[int] = (), strides: Sequence[int] = ()
) -> list[Dim]:
    """Return the shape of what MaxPool was given, from that of its result."""
    rank = len(kernel_shape)
    strides, pads = tuple(strides) or (1,) * rank, tuple(pads) or (0,) * (2 * rank)
    inferred = [
        dim((sympy.sympify(n) - 1) * s - p - q + k)
        for n, s, k, p, q in zip(shape[2:], strides, kernel_shape, pads[:rank], pads[rank:], strict=True)
    ]
    return [*shape[:2], *inferred]


@lowering("MaxUnpool")
def max_unpool(
    b: Builder,
    x: Tensor,
    indices: Tensor,
    shape: Tensor | None,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Tensor:
    """Put values at the positions that MaxPool gave, zeros elsewhere."""
    natural = unpooled(x.shape, kernel_shape, pads, strides)
    wanted = integers(shape, "output_shape") if shape is not None else natural
    if not all(isinstance(n, int) for n in natural):
        raise Declined("open dimensions")
    out = b.declare("t", [product(natural)], x.dtype)
    b.fill(out, 0)
    b.scatter(out, x.shape, lambda *i: ((indices[i],), x[i], None))
    result = out.reshape(natural)
    if list(wanted) == natural:
        return result
    full = b.declare("t", wanted, x.dtype)
    b.fill(full, 0)
    inside = full
    for axis, n in enumerate(natural):
        inside = inside.slice(axis, 0, n)
    b.copy(result, inside)
    return full
