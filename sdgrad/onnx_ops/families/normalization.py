"""Lower normalizations that the standard does not define by other operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy

from sdgrad.onnx_ops.families.pool import norm_of, power_of
from sdgrad.onnx_ops.families.reduction import mean
from sdgrad.onnx_ops.registry import lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Element, call, element, where
from sdgrad.record.tensors import Tensor


def per_channel(x: Tensor, rank: int) -> Tensor:
    """Return a vector along the second axis."""
    return x.unsqueeze(*range(1, rank - 1))


@lowering("BatchNormalization", since=9)
def batch_normalization(
    b: Builder,
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    average: Tensor,
    variance: Tensor,
    *,
    epsilon: float,
    momentum: float,
    training_mode: int = 0,
) -> list[Tensor]:
    """Normalize batches (Ioffe and Szegedy 2015); in training by the batch's own moments.

    The adjoint takes them.
    """
    running: list[Tensor] = []
    if training_mode:
        over = [d for d in range(x.rank) if d != 1]
        own = mean(x, over, False)
        centred = x - per_channel(own, x.rank)
        batch = (own, mean(centred.map(lambda v: v * v), over, False))
        running = [
            old.map(lambda o, n: o * momentum + n * (1 - momentum), new)
            for old, new in zip((average, variance), batch, strict=True)
        ]
        average, variance = batch
    inverse = variance.map(lambda v: 1 / call("sqrt", v + epsilon))
    columns = (per_channel(t, x.rank) for t in (average, inverse * scale, bias))
    result = x.map(lambda v, m, f, c: (v - m) * f + c, *columns)
    return [result, *running, average, inverse] if training_mode else [result]


def moments(x: Tensor, axes: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor]:
    """Return mean and inverse deviation over axes, which stay as one element."""
    average = mean(x, axes, True)
    variance = mean(x.map(lambda v, m: (v - m) * (v - m), average), axes, True)
    return average, variance.map(lambda v: 1 / call("sqrt", v + epsilon))


def standardized(x: Tensor, average: Tensor, inverse: Tensor) -> Tensor:
    return x.map(lambda v, m, i: (v - m) * i, average, inverse)


def widened(x: Tensor) -> Tensor:
    """Return half precision as single precision, in which moments are computed at least."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x


@lowering("InstanceNormalization")
def instance_normalization(b: Builder, x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float) -> list[Tensor]:
    """Normalize instances (Ulyanov, Vedaldi and Lempitsky 2016); the adjoint takes the moments."""
    average, inverse = moments(x, range(2, x.rank), epsilon)
    columns = per_channel(scale, x.rank), per_channel(bias, x.rank)
    result = x.map(lambda v, m, i, s, c: (v - m) * i * s + c, average, inverse, *columns)
    return [result, average, inverse]


@lowering("LayerNormalization", since=17)
def layer_normalization(
    b: Builder, x: Tensor, scale: Tensor, bias: Tensor | None, *, axis: int, epsilon: float, stash_type: int
) -> list[Tensor]:
    """Normalize layers (Ba, Kiros and Hinton 2016); also return the mean and the inverse deviation."""
    axes = range(axis % x.rank, x.rank)
    wide = widened(x) if stash_type == 1 else x
    average, inverse = moments(wide, axes, epsilon)
    unit = standardized(wide, average, inverse).astype(x.dtype) * scale
    return [unit + bias if bias is not None else unit, average, inverse]


@lowering("LRN")
def local_response_normalization(b: Builder, x: Tensor, *, alpha: float, beta: float, bias: float, size: int) -> Tensor:
    """Divide by the squares of neighbouring channels (Krizhevsky, Sutskever and Hinton 2012)."""
    before, after = (size - 1) // 2, size // 2
    channels = x.shape[1]

    def total(*i: sympy.Expr) -> Element:
        result = element(0, x.dtype)
        for offset in range(-before, after + 1):
            c = element(i[1] + offset, np.int64)
            inside = (c >= 0) & (c < element(channels, np.int64))
            value = x.at(i[0], i[1] + offset, *i[2:], when=inside)
            result = result + value * value
        return x[i] / (bias + (alpha / size) * result) ** beta

    return b.compute(x.shape, x.dtype, total)


@lowering("LpNormalization")
def lp_normalization(b: Builder, x: Tensor, *, axis: int, p: int) -> Tensor:
    """Divide by a norm; the result is zero where the norm is zero."""
    norm = norm_of(power_of(x, p).sum([axis], keepdims=True), p)
    return x.map(lambda v, n: where(n.equals(0), 0, v / n), norm)
