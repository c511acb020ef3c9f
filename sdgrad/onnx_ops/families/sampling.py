"""Lower reads between elements: GridSample, DeformConv, RoiAlign."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import sympy

from sdgrad.onnx_ops.families.conv import windows, with_bias
from sdgrad.onnx_ops.registry import lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Dim, Element, Index, call, element, every, where
from sdgrad.record.tensors import Tensor

CUBIC = -0.75  # Keys 1981


def whole(x: Element) -> Element:
    """Return a number without fraction as a subscript."""
    return Element(call("sdgrad_detached", x).code, x.dtype).astype(np.int64)


def clamped(x: Element, low: float, high: float) -> Element:
    return where(x < low, low, where(x > high, high, x))


def reflected(x: Element, low: float, high: float) -> Element:
    """Mirror a coordinate at both ends, as often as needed."""
    span = high - low
    if span == 0:
        return x * 0 + low
    away = call("abs", x - low)
    turns = call("floor", away / span)
    rest = away - turns * span
    odd = call("py_mod", turns, 2).equals(1)
    return where(odd, high - rest, low + rest)


def neighbours(x: Element, mode: str) -> list[tuple[Element, Element | None]]:
    """Return positions along an axis and their weights; None is a weight of one."""
    if mode == "nearest":
        return [(call("rint", x), None)]
    first = call("floor", x)
    t = x - first
    if mode in ("linear", "bilinear"):
        return [(first, 1 - t), (first + 1, t)]
    far = [((CUBIC * d - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC for d in (t + 1, 2 - t)]
    near = [((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1 for d in (t, 1 - t)]
    return [(first - 1, far[0]), (first, near[0]), (first + 1, near[1]), (first + 2, far[1])]


def sampled(
    x: Tensor,
    lead: Sequence[Index],
    at: Sequence[Element],
    mode: str = "linear",
    padding: str = "zeros",
    edges: Sequence[tuple[float, float]] = (),
) -> Element:
    """Interpolate an image ``x[*lead, ..]`` between its elements.

    :param at: coordinates, one for each of the last axes.
    :param padding: what is outside: ``zeros``, the ``border``, or the ``reflection`` at ``edges``.
    """
    extents = x.shape[len(lead) :]
    total: Element | None = None
    for corner in itertools.product(*(neighbours(c, mode) for c in at)):
        index: list[Element] = []
        inside: Element | None = None
        weight: Element | None = None
        for d, (place, share) in enumerate(corner):
            last = extents[d] - 1
            if padding == "reflection":
                place = call("trunc", reflected(place, *edges[d]))
            if padding == "zeros":
                inside = every(inside, place >= 0, place <= last)
                place = where((place >= 0) & (place <= last), place, 0)
            else:
                place = clamped(place, 0, float(last))
            index.append(whole(place))
            if share is not None:
                weight = share if weight is None else weight * share
        value = x.at(*lead, *index, when=inside)
        part = value if weight is None else value * weight
        total = part if total is None else total + part
    assert total is not None
    return total


@lowering("GridSample", since=16)
def grid_sample(b: Builder, x: Tensor, grid: Tensor, *, align_corners: int, mode: str, padding_mode: str) -> Tensor:
    """Sample an image at a grid of coordinates from -1 to 1, last axis first (Jaderberg et al. 2015)."""
    extents = [int(n) for n in x.shape[2:]]
    rank = len(extents)
    plain = {"bicubic": "cubic", "bilinear": "linear"}.get(mode, mode)
    edges = [(0.0, n - 1.0) if align_corners else (-0.5, n - 0.5) for n in extents]

    def coordinate(i: tuple, d: int) -> Element:
        g, n = grid[(i[0], *i[2:], sympy.Integer(rank - 1 - d))], extents[d]
        at = (g + 1) * ((n - 1) / 2) if align_corners else ((g + 1) * n - 1) / 2
        if plain == "nearest":
            at = call("rint", at)
        if padding_mode == "zeros" or plain == "cubic":
            return at
        low, high = edges[d]
        if padding_mode == "reflection":
            at = where((at < low) | (at > high), reflected(at, low, high), at)
        return where(at <= 0, 0.0, where(at >= n - 1, n - 1.0, at))  # at both ends, the derivative is zero

    def value(*i: sympy.Expr) -> Element:
        outside = padding_mode if plain == "cubic" or padding_mode == "zeros" else "border"
        return sampled(x, i[:2], [coordinate(i, d) for d in range(rank)], plain, outside, edges)

    return b.compute([*x.shape[:2], *grid.shape[1:-1]], x.dtype, value)


@lowering("DeformConv", since=19)
def deformable_convolution(
    b: Builder,
    x: Tensor,
    w: Tensor,
    offset: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    *,
    dilations: Sequence[int] = (),
    group: int,
    kernel_shape: Sequence[int] = (),
    offset_group: int,
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Tensor:
    """Convolve windows that read between the elements (Dai et al. 2017; Zhu et al. 2019 with a mask)."""
    kernel = [int(n) for n in w.shape[2:]]
    rank = len(kernel)
    over = windows(x.shape[2:], kernel, strides, dilations, pads, "NOTSET")
    counts = over.counts(x.shape[2:])
    batch, channels = x.shape[0], int(x.shape[1])
    shares = channels // offset_group  # channels that move together
    places = offset.reshape([batch, offset_group, *kernel, rank, *counts])
    factors = mask.reshape([batch, offset_group, *kernel, *counts]) if mask is not None else None

    def gathered(*i: sympy.Expr) -> Element:
        n, g, c, tap, window = i[0], i[1], i[2], i[3 : 3 + rank], i[3 + rank :]
        base = over.positions(window, tap)
        moved = [places[(n, g, *tap, sympy.Integer(d), *window)] for d in range(rank)]
        at = [element(base[d] - over.before[d], np.int64).astype(x.dtype) + moved[d] for d in range(rank)]
        value = sampled(x, (n, g * shares + c), at)
        return value if factors is None else value * factors[(n, g, *tap, *window)]

    wide = b.compute([batch, offset_group, shares, *kernel, *counts], x.dtype, gathered)
    rows, outputs = channels // group * int(np.prod(kernel)), int(w.shape[0]) // group
    columns = wide.reshape([batch, group, rows, int(np.prod([int(c) for c in counts]))])
    found = b.matmul(w.reshape([group, outputs, rows]), columns)
    return with_bias(found.reshape([batch, group * outputs, *counts]), bias)


def largest_share(x: Tensor, lead: tuple, at: list[Element], extents: Sequence[int]) -> Element:
    """Return the largest of the four neighbours' shares in an interpolated value."""
    best: Element | None = None
    for corner in itertools.product(*(neighbours(p, "linear") for p in at)):
        index = [whole(where(place > n - 1, n - 1, place)) for (place, _), n in zip(corner, extents, strict=True)]
        weight = corner[0][1] * corner[1][1]  # type: ignore[operator]
        part = x[(*lead, *index)] * weight
        best = part if best is None else call("max", best, part)
    assert best is not None
    return best


@lowering("RoiAlign", since=10)
def roi_align(
    b: Builder,
    x: Tensor,
    rois: Tensor,
    batches: Tensor,
    *,
    coordinate_transformation_mode: str = "output_half_pixel",
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
) -> Tensor:
    """Return means or maxima of samples in the cells of boxes (He et al. 2017)."""
    if sampling_ratio == 0:
        raise Declined("a number of samples that depends on the boxes")
    shift = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    cells, extents = (output_height, output_width), [int(n) for n in x.shape[2:]]
    samples = sampling_ratio

    def coordinate(r: sympy.Expr, d: int, cell: sympy.Expr, sample: sympy.Expr) -> Element:
        low, high = (rois[r, sympy.Integer(k)] * spatial_scale - shift for k in (1 - d, 3 - d))
        size = high - low if shift else where(high - low < 1, 1, high - low)
        step = size / cells[d]
        position, inner = (element(k, np.int64).astype(x.dtype) for k in (cell, sample))
        return low + (position + (inner + 0.5) / samples) * step

    def value(out: tuple, k: tuple) -> Element:
        r, c = out[:2]
        at = [coordinate(r, d, out[2 + d], k[d]) for d in range(2)]
        outside = [(p < -1) | (p > n) for p, n in zip(at, extents, strict=True)]
        kept = [clamped(p, 0, n - 1.0) for p, n in zip(at, extents, strict=True)]
        lead = (batches[r], c)
        inside = sampled(x, lead, kept) if mode == "avg" else largest_share(x, lead, kept, extents)
        return where(outside[0] | outside[1], 0, inside)

    shape: list[Dim] = [rois.shape[0], x.shape[1], output_height, output_width]
    found = b.reduction(shape, [samples, samples], value, "sum" if mode == "avg" else "max", x.dtype)
    return found.map(lambda v: v / samples**2) if mode == "avg" else found
