"""Reverse max-pooling: the cotangent goes to the first largest element of each window, as in PyTorch and XLA."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy

from sdgrad.onnx_ops.families.conv import padded_extents, surrounded, without_padding
from sdgrad.onnx_ops.families.pool import is_extreme, placed
from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Element, bounds, element, product, where
from sdgrad.record.tensors import Tensor


@adjoint("MaxPool")
def max_pool(
    b: Builder,
    reversal: Reversed,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    dilations: Sequence[int] = (),
    kernel_shape: Sequence[int],
    pads: Sequence[int] = (),
    storage_order: int = 0,
    strides: Sequence[int] = (),
) -> Tensor:
    """Reverse MaxPool: find each window's first largest element again, and add the cotangent there."""
    x, values, seed = reversal.operand(0), reversal.result(0), reversal.seed
    _, _, over = placed(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    image = surrounded(b, x, over, bounds(x.dtype)[0])
    extents = padded_extents(x.shape[2:], over)
    pixels = product(extents)

    def pixel(out: tuple, inside: tuple) -> sympy.Expr:
        flat: sympy.Expr = sympy.Integer(0)
        for at, n in zip(over.positions(out[2:], inside), extents, strict=True):
            flat = flat * n + at
        return flat

    def candidate(out: tuple, inside: tuple) -> Element:
        hit = is_extreme(image, over, x.shape[2:], values, out, inside)
        return where(hit, element(pixel(out, inside), np.int64), element(pixels, np.int64))

    first = b.reduction(values.shape, over.kernel, candidate, "min", np.int64)
    spread = b.full([*x.shape[:2], *extents], 0, x.dtype)
    flat = spread.reshape([*x.shape[:2], pixels])
    b.accumulate(flat, values.shape, lambda *i: ((*i[:2], first[i]), seed[i]))
    return without_padding(spread, over, x.shape[2:])
