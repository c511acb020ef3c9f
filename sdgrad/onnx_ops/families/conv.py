"""Convolutions: nodes of oneDNN in single precision; else windows gathered into a matrix, and a product (im2col).

Chellapilla, Puri and Simard 2006. The derivative of the second comes from the same two steps: with respect to the
weights a product with the gathered matrix, with respect to the image a product that is scattered back (col2im).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy

from sdgrad.onnx_ops.families.shape import padded
from sdgrad.onnx_ops.registry import integers, lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Dim, dim, divided, product
from sdgrad.record.tensors import Tensor
from sdgrad.runtime.libraries.onednn import IMAGE, RESULT, WEIGHTS, Convolution, covers


@dataclass(frozen=True)
class Windows:
    """Hold where the windows over the spatial axes of an image are."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]  # padding
    after: tuple[int, ...]

    @property
    def reach(self) -> tuple[int, ...]:
        """Return the extent of a window, holes included."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def counts(self, extents: Sequence[Dim], ceil: bool = False) -> tuple[Dim, ...]:
        """Return the number of windows along each axis; with ``ceil`` the last one may end behind the padding."""
        found: list[Dim] = []
        for n, p, q, r, s in zip(extents, self.before, self.after, self.reach, self.strides, strict=True):
            room = n + p + q - r
            count = divided(room + s - 1 if ceil else room, s) + 1
            if ceil and isinstance(n, int) and (count - 1) * s >= n + p:
                count = count - 1  # it would begin behind the image
            found.append(count)
        return tuple(found)

    def positions(self, window: Sequence[Dim], inside: Sequence[Dim]) -> tuple[sympy.Expr, ...]:
        """Return coordinates in the padded image."""
        return tuple(o * s + k * d for o, k, s, d in zip(window, inside, self.strides, self.dilations, strict=True))


def windows(
    extents: Sequence[Dim],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    auto_pad: str,
) -> Windows:
    """Return windows by the operator's attributes; those left out are ones and zeros."""
    rank = len(kernel)
    strides, dilations = tuple(strides) or (1,) * rank, tuple(dilations) or (1,) * rank
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        before, after = [], []
        for n, k, s, d in zip(extents, kernel, strides, dilations, strict=True):
            if not isinstance(n, int):
                raise Declined(f"auto_pad={auto_pad} along an open dimension")
            total = max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
            small, large = total // 2, total - total // 2
            before.append(small if auto_pad == "SAME_UPPER" else large)
            after.append(large if auto_pad == "SAME_UPPER" else small)
    else:
        pads = tuple(pads) if pads and auto_pad != "VALID" else (0,) * (2 * rank)
        before, after = list(pads[:rank]), list(pads[rank:])
    return Windows(tuple(kernel), strides, dilations, tuple(before), tuple(after))


def surrounded(b: Builder, x: Tensor, over: Windows, value: object = 0) -> Tensor:
    """Return an image (batch, channels, ..) with its padding."""
    return padded(b, x, (0, 0, *over.before), (0, 0, *over.after), "constant", value)


def gathered(b: Builder, image: Tensor, over: Windows, counts: Sequence[Dim]) -> Tensor:
    """Gather every window's content (im2col): (batch, channels, kernel .., windows ..) of a padded image."""
    rank = len(over.kernel)
    shape = [*image.shape[:2], *over.kernel, *counts]
    return b.compute(shape, image.dtype, lambda *i: image[(*i[:2], *over.positions(i[2 + rank :], i[2 : 2 + rank]))])


def scattered(b: Builder, columns: Tensor, over: Windows, extents: Sequence[Dim]) -> Tensor:
    """Add windows up where they overlap, in a padded image (col2im): the transpose of :func:`gathered`."""
    rank = len(over.kernel)
    image = b.full([*columns.shape[:2], *extents], 0, columns.dtype)
    b.accumulate(
        image,
        columns.shape,
        lambda *i: ((*i[:2], *over.positions(i[2 + rank :], i[2 : 2 + rank])), columns[i]),
    )
    return image


def without_padding(image: Tensor, over: Windows, extents: Sequence[Dim]) -> Tensor:
    for axis, (low, n) in enumerate(zip(over.before, extents, strict=True), start=2):
        image = image.slice(axis, low, n)
    return image


def padded_extents(extents: Sequence[Dim], over: Windows) -> list[Dim]:
    return [n + p + q for n, p, q in zip(extents, over.before, over.after, strict=True)]


def is_product(over: Windows) -> bool:
    """True if each window is one pixel, and each pixel a window."""
    return all(k == 1 for k in over.kernel) and all(s == 1 for s in over.strides)


def as_product(b: Builder, x: Tensor, w: Tensor, over: Windows, group: int) -> tuple[Tensor, Tensor]:
    """Return a convolution's weights and windows as matrices by group, to be multiplied."""
    counts, rows = over.counts(x.shape[2:]), int(w.shape[1]) * product(over.kernel)
    image = surrounded(b, x, over)
    wide = image if is_product(over) else gathered(b, image, over, counts)
    matrix = wide.reshape([x.shape[0], group, rows, product(counts)])
    return w.reshape([group, int(w.shape[0]) // group, rows]), matrix


def library_node(
    x: Tensor, w: Tensor, over: Windows, group: int, image: Sequence[Dim], computed: str = RESULT
) -> Convolution | None:
    """Return the node of oneDNN for a convolution of an image of these extents; None if it does not apply.

    :param x: what gives batch and type: the image, or (for the product that computes the image) the result.
    """
    batch, outputs, channels = x.shape[0], int(w.shape[0]) // group, w.shape[1]
    counts = over.counts(image)
    axes = zip(image, over.kernel, counts, over.strides, over.dilations, over.before, over.after, strict=True)
    extents = [batch, group, channels, outputs, *(n for axis in axes for n in axis)]
    some = all(not isinstance(n, int) or n > 0 for n in (*extents[:4], *image, *over.kernel, *counts))
    if not (some and covers(x.dtype) and 1 <= len(image) <= 3):
        return None
    return Convolution(computed=computed, extents=extents)


@lowering("Conv")
def convolution(
    b: Builder,
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    *,
    auto_pad: str,
    dilations: Sequence[int] = (),
    group: int,
    kernel_shape: Sequence[int] = (),
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Tensor:
    """Convolve: by a node of oneDNN, or as a product of the weights with the gathered windows."""
    over = windows(x.shape[2:], [int(n) for n in w.shape[2:]], strides, dilations, pads, auto_pad)
    node = library_node(x, w, over, group, x.shape[2:])
    if node is not None:
        result = b.call(node, {IMAGE: x, WEIGHTS: w}, RESULT, node.shape(RESULT), x.dtype)
    else:
        weights, matrix = as_product(b, x, w, over, group)
        found = b.matmul(weights, matrix)
        result = found.reshape([x.shape[0], w.shape[0], *over.counts(x.shape[2:])])
    return with_bias(result, bias)


@lowering("ConvTranspose")
def transposed_convolution(
    b: Builder,
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    *,
    auto_pad: str,
    dilations: Sequence[int] = (),
    group: int,
    kernel_shape: Sequence[int] = (),
    output_padding: Sequence[int] = (),
    output_shape: Sequence[int] = (),
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Tensor:
    """Transpose a convolution with respect to its image: a product, scattered to the windows."""
    rank = x.rank - 2
    kernel = [int(n) for n in w.shape[2:]]
    strides, dilations = tuple(strides) or (1,) * rank, tuple(dilations) or (1,) * rank
    extra = tuple(output_padding) or (0,) * rank
    full = [
        dim(s * (sympy.sympify(n) - 1) + e + (k - 1) * d + 1)
        for n, k, s, d, e in zip(x.shape[2:], kernel, strides, dilations, extra, strict=True)
    ]
    if output_shape or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        grown = [dim(sympy.sympify(n) * s) for n, s in zip(x.shape[2:], strides, strict=True)]
        wanted = list(output_shape)[-rank:] or grown
        before = _centred(full, wanted, auto_pad)
    else:
        before, wanted = _without_pads(full, pads if auto_pad != "VALID" else ())
    after = [_excess(f, p, n) for f, p, n in zip(full, before, wanted, strict=True)]
    over = Windows(tuple(kernel), strides, dilations, tuple(before), tuple(after))
    node = library_node(x, w, over, group, wanted, IMAGE) if over.counts(wanted) == x.shape[2:] else None
    if node is not None:
        return with_bias(b.call(node, {RESULT: x, WEIGHTS: w}, IMAGE, node.shape(IMAGE), x.dtype), bias)
    result = _scattered_products(b, x, w, over, group, full)
    for axis, (low, n) in enumerate(zip(before, wanted, strict=True), start=2):
        result = _window(b, result, axis, low, n)
    return with_bias(result, bias)


def _without_pads(full: Sequence[Dim], pads: Sequence[int]) -> tuple[list[Dim], list[Dim]]:
    """Return the padding before each axis, and the extents without the padding at both ends."""
    rank = len(full)
    given = tuple(pads) or (0,) * (2 * rank)
    wanted = [dim(f - p - q) for f, p, q in zip(full, given[:rank], given[rank:], strict=True)]
    return list(given[:rank]), wanted


def _centred(full: Sequence[Dim], wanted: Sequence[Dim], auto_pad: str) -> list[Dim]:
    """Return the padding before each axis of a result in the middle; of an odd padding, SAME_UPPER has less before."""
    total = [_excess(f, n) for f, n in zip(full, wanted, strict=True)]
    return [t // 2 if auto_pad == "SAME_UPPER" else t - t // 2 for t in total]


def with_bias(result: Tensor, bias: Tensor | None) -> Tensor:
    """Add the bias of each channel."""
    if bias is None:
        return result
    return result.map(lambda v, c: v + c, bias.unsqueeze(*range(1, result.rank - 1)))


def _excess(full: Dim, *parts: Dim) -> Dim:
    """Return how many elements of an axis are in none of its parts; not negative if that is known."""
    left = full
    for part in parts:
        left = left - part
    return max(0, left) if isinstance(full, int) else left


def _scattered_products(b: Builder, x: Tensor, w: Tensor, over: Windows, group: int, extents: Sequence[Dim]) -> Tensor:
    """Spread each pixel of ``x`` over its window by the weights, and add up in a padded image."""
    batch, channels, outputs = x.shape[0], int(w.shape[0]) // group, int(w.shape[1])
    columns = b.matmul(
        w.reshape([group, channels, outputs * product(over.kernel)]).transpose([0, 2, 1]),
        x.reshape([batch, group, channels, product(x.shape[2:])]),
    ).reshape([batch, group * outputs, *over.kernel, *x.shape[2:]])
    return scattered(b, columns, over, extents)


def _window(b: Builder, x: Tensor, axis: int, low: Dim, count: Dim) -> Tensor:
    """Return ``count`` elements from ``low`` on; zeros where the tensor ends before."""
    missing = low + count - x.shape[axis]
    if isinstance(missing, int) and missing > 0:
        after = [missing if d == axis else 0 for d in range(x.rank)]
        x = padded(b, x, [0] * x.rank, after)
    return x.slice(axis, low, count)


@lowering("Col2Im")
def col2im(
    b: Builder,
    x: Tensor,
    image_shape: Tensor,
    block_shape: Tensor,
    *,
    dilations: Sequence[int] = (),
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Tensor:
    """Add windows up where they overlap."""
    extents, kernel = integers(image_shape, "image_shape"), integers(block_shape, "block_shape")
    over = windows(extents, kernel, strides, dilations, pads, "NOTSET")
    counts = over.counts(extents)
    channels = dim(sympy.sympify(x.shape[1]) / product(kernel))
    wide = x.reshape([x.shape[0], channels, *kernel, *counts])
    return without_padding(scattered(b, wide, over, padded_extents(extents, over)), over, extents)
