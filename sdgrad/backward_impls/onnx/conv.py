"""Convolutions: windows are gathered again rather than kept, which would be a copy for each element of the kernel."""

from __future__ import annotations

from collections.abc import Sequence

from sdgrad.onnx_ops.builder import Builder
from sdgrad.onnx_ops.elements import Element, product
from sdgrad.onnx_ops.families.conv import (
    gathered,
    is_product,
    padded_extents,
    scattered,
    surrounded,
    windows,
    without_padding,
)
from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.onnx_ops.tensors import Tensor


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
    kernel = [int(n) for n in w.shape[2:]]
    over = windows(x.shape[2:], kernel, strides, dilations, pads, auto_pad)
    counts = over.counts(x.shape[2:])
    batch, channels, outputs = x.shape[0], int(w.shape[1]), int(w.shape[0]) // group
    rows, columns = channels * product(kernel), product(counts)
    image = surrounded(b, x, over)
    wide = image if is_product(over) else gathered(b, image, over, counts)
    matrix = wide.reshape([batch, group, rows, columns])
    given = seed.reshape([batch, group, outputs, columns])
    weights = w.reshape([group, outputs, rows])
    to_weights = _products(b, given, matrix, group).reshape(w.shape)
    moved = _transposed(b, weights, given, group)
    if is_product(over):
        to_image = moved.reshape([*x.shape[:2], *padded_extents(x.shape[2:], over)])
    else:
        gaps = moved.reshape([*x.shape[:2], *kernel, *counts])
        to_image = scattered(b, gaps, over, padded_extents(x.shape[2:], over))
    to_bias = seed.sum([0, *range(2, x.rank)]) if len(reversal.inputs) > 2 and reversal.inputs[2] is not None else None
    return [without_padding(to_image, over, x.shape[2:]), to_weights, to_bias]


def _products(b: Builder, left: Tensor, right: Tensor, group: int) -> Tensor:
    """``sum over n, p of left[n, g, o, p] right[n, g, r, p]``."""
    batch, _, outputs, columns = left.shape
    rows = right.shape[2]
    if group == 1:
        left, right = left.squeeze(1), right.squeeze(1)
        return b.reduction(
            [outputs, rows],
            [batch, columns],
            lambda i, k: left[k[0], i[0], k[1]] * right[k[0], i[1], k[1]],
            "sum",
            left.dtype,
        )
    return b.reduction(
        [group, outputs, rows],
        [batch, columns],
        lambda i, k: left[k[0], i[0], i[1], k[1]] * right[k[0], i[0], i[2], k[1]],
        "sum",
        left.dtype,
    )


def _transposed(b: Builder, weights: Tensor, given: Tensor, group: int) -> Tensor:
    """``sum over o of weights[g, o, r] given[n, g, o, p]``."""
    _, outputs, rows = weights.shape
    batch, _, _, columns = given.shape
    if group == 1:
        return b.matmul(weights.squeeze(0).transpose(), given.squeeze(1))
    if outputs >= 16:
        return b.matmul(weights.transpose([0, 2, 1]), given)

    def term(i: tuple, k: tuple) -> Element:
        return weights[i[1], k[0], i[2]] * given[i[0], i[1], k[0], i[3]]

    return b.reduction([batch, group, rows, columns], [outputs], term, "sum", weights.dtype)
