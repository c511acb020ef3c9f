"""Reverse convolutions: gather the windows again rather than keep a copy for each element of the kernel."""

from __future__ import annotations

from collections.abc import Sequence

from sdgrad.onnx_ops.families.conv import (
    as_product,
    is_product,
    library_node,
    padded_extents,
    scattered,
    windows,
    without_padding,
)
from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined
from sdgrad.record.tensors import Tensor


@adjoint("Conv")
def convolution(
    b: Builder,
    reversal: Reversed,
    *,
    auto_pad: str,
    dilations: Sequence[int] = (),
    group: int,
    kernel_shape: Sequence[int] = (),
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> list[Tensor | None]:
    """``Y = W X`` with ``X`` the windows: ``W' = sum over the batch of Y' X^T``, ``X' = W^T Y'``."""
    x, w, seed = reversal.operand(0), reversal.operand(1), reversal.seed
    over = windows(x.shape[2:], [int(n) for n in w.shape[2:]], strides, dilations, pads, auto_pad)
    if library_node(x, w, over, group, x.shape[2:]) is not None:
        raise Declined("the nodes of its lowering have adjoints of their own")
    weights, matrix = as_product(b, x, w, over, group)
    given = seed.reshape([x.shape[0], group, weights.shape[1], matrix.shape[3]])
    to_weights = b.reduction(
        weights.shape,
        [matrix.shape[0], matrix.shape[3]],
        lambda i, k: given[k[0], i[0], i[1], k[1]] * matrix[k[0], i[0], i[2], k[1]],
        "sum",
        w.dtype,
    ).reshape(w.shape)
    moved = b.matmul(weights.transpose([0, 2, 1]), given)
    extents = padded_extents(x.shape[2:], over)
    if is_product(over):
        to_image = moved.reshape([*x.shape[:2], *extents])
    else:
        columns = moved.reshape([*x.shape[:2], *over.kernel, *over.counts(x.shape[2:])])
        to_image = scattered(b, columns, over, extents)
    to_bias = seed.sum([0, *range(2, x.rank)]) if reversal.has(2) else None
    return [without_padding(to_image, over, x.shape[2:]), to_weights, to_bias]
