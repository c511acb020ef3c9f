"""Translate convolutions, pooling, softmax and losses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sdgrad.record.elements import product
from sdgrad.torch.aten.indexing import in_range
from sdgrad.torch.aten.registry import RULES, aten
from sdgrad.torch.graph import Graph, Type, Value, numbers


def _each(values: Sequence[int], rank: int) -> list[int]:
    return list(values) * rank if len(values) == 1 else list(values)


@aten("convolution.default")
def _convolution(
    g: Graph,
    out: Type,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    """Convolve, or transpose a convolution."""
    rank = weight.rank - 2
    pads = _each(padding, rank)
    shared: dict[str, Any] = {
        "strides": _each(stride, rank),
        "pads": [*pads, *pads],
        "dilations": _each(dilation, rank),
        "group": groups,
        "kernel_shape": list(weight.numbers[2:]),
    }
    x = input if input.rank == rank + 2 else g.unsqueeze(input, 0)
    if transposed:
        found = g.op("ConvTranspose", x, weight, bias, output_padding=_each(output_padding, rank), **shared)
    else:
        found = g.op("Conv", x, weight, bias, **shared)
    return found if input.rank == rank + 2 else g.reshape(found, out.shape)


def _pool(
    g: Graph,
    kind: str,
    x: Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    batched: int,
    outputs: int = 1,
    **more: Any,
) -> list[Value]:
    """Return the results of windows."""
    rank = len(kernel)
    pads = _each(padding, rank)
    wide = x if x.rank == batched else g.unsqueeze(x, 0)
    more |= {"kernel_shape": list(kernel), "strides": _each(stride, rank) or list(kernel), "pads": [*pads, *pads]}
    found = g.ops(kind, wide, outputs=outputs, **more)
    return [v if x.rank == batched else g.op("Squeeze", v, g.integers([0])) for v in found]


def _max_pool(rank: int, places: bool):
    """Return the largest element of each window and its position."""

    def rule(
        g: Graph,
        out: Any,
        self: Value,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> Any:
        kernel = _each(kernel_size, rank)
        more: dict[str, Any] = {"dilations": _each(dilation, rank), "ceil_mode": int(ceil_mode)}
        largest, *at = _pool(g, "MaxPool", self, kernel, stride, padding, rank + 2, 1 + places, **more)
        # ONNX counts positions through all images and channels, PyTorch in each channel
        inside = [g.op("Mod", v, g.operand(product(self.shape[-rank:]), torch.int64)) for v in at]
        return (largest, *inside) if places else largest

    return rule


for _rank in (1, 2, 3):
    RULES[f"max_pool{_rank}d.default"] = _max_pool(_rank, False)
    RULES[f"max_pool{_rank}d_with_indices.default"] = _max_pool(_rank, True)


def _window_sums(
    g: Graph, out: Type, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], divisor: int
) -> Value:
    """Return sums of windows over a number: zeros make the last windows whole."""
    rank = len(kernel)
    first, lead = _each(padding, rank), x.rank - rank
    sizes = zip(numbers(x.shape[lead:]), numbers(out.shape[lead:]), kernel, stride, first, strict=True)
    last = [max((m - 1) * s + k - n - p, 0) for n, m, k, s, p in sizes]
    pads = [*[0] * lead, *first, *[0] * lead, *last]
    wide = Value(g.op("Pad", x, g.integers(pads), g.constant(0, x.dtype)).name, x.shape, x.dtype)
    (mean,) = _pool(g, "AveragePool", wide, kernel, stride, [0], rank + 2)
    return g.op("Mul", mean, g.constant(math.prod(kernel) / divisor, x.dtype))


def _average_pool(rank: int):
    """Return the mean of each window."""

    def rule(
        g: Graph,
        out: Type,
        self: Value,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        kernel = _each(kernel_size, rank)
        if divisor_override is not None:
            return _window_sums(g, out, self, kernel, _each(stride, rank) or kernel, padding, divisor_override)
        more: dict[str, Any] = {"count_include_pad": int(count_include_pad), "ceil_mode": int(ceil_mode)}
        return _pool(g, "AveragePool", self, kernel, stride, padding, rank + 2, **more)[0]

    return rule


for _rank in (1, 2, 3):
    RULES[f"avg_pool{_rank}d.default"] = _average_pool(_rank)


def _windows(n: int, m: int) -> list[np.ndarray]:
    """Return the places of windows that divide an axis into parts."""
    return [np.arange(k * n // m, -(-(k + 1) * n // m)) for k in range(m)]


def _adaptive_average(rank: int):
    """Return means of windows that divide each axis into a given number of parts."""

    def rule(g: Graph, out: Type, self: Value, output_size: Sequence[int]) -> Value:
        """Windows ``floor(i n / m) .. ceil((i + 1) n / m)``: a product with a matrix of averages for each axis."""
        x = self
        for axis in range(self.rank - rank, self.rank):
            if self.shape[axis] == out.shape[axis]:
                continue
            if out.shape[axis] == 1:
                x = g.reduce("ReduceMean", Value(x.name, self.shape, self.dtype), [axis], True)
                continue
            n, m = numbers([self.shape[axis], out.shape[axis]])
            matrix = np.stack([np.isin(np.arange(n), w) / len(w) for w in _windows(n, m)], 1)
            if n % m == 0:
                wide = g.reshape(x, [*x.shape[:axis], m, n // m, *x.shape[axis + 1 :]])
                x = g.reduce("ReduceMean", wide, [axis + 1], False)
            else:
                order = [a for a in range(self.rank) if a != axis] + [axis]
                product = g.op("MatMul", g.transpose(x, order), g.constant(matrix, self.dtype))
                x = g.transpose(product, list(np.argsort(order)))
            shape = [*out.shape[: axis + 1], *self.shape[axis + 1 :]]
            x = Value(x.name, (*self.shape[: self.rank - rank], *shape[self.rank - rank :]), self.dtype)
        return x

    return rule


for _rank in (1, 2, 3):
    for _prefix in ("", "_"):
        RULES[f"{_prefix}adaptive_avg_pool{_rank}d.default"] = _adaptive_average(_rank)


def _adaptive_max(rank: int):
    """Return maxima of windows that divide each axis into a given number of parts, and where they are."""

    def rule(g: Graph, out: Sequence[Type], self: Value, output_size: Sequence[int]) -> tuple[Value, Value]:
        """The windows of the average; those that are shorter repeat their last element."""
        extents, counts = numbers(self.shape[-rank:]), numbers(out[0].shape[-rank:])
        along = [_windows(n, m) for n, m in zip(extents, counts, strict=True)]
        each = [np.ravel_multi_index(np.ix_(*w), extents).ravel() for w in itertools.product(*along)]
        width = max(map(len, each), default=0)
        places = np.array([np.pad(w, (0, width - len(w)), "edge") for w in each], np.int64).reshape(-1, width)
        lead = self.shape[:-rank]
        wide = g.op("Gather", g.reshape(self, [*lead, product(extents)]), g.constant(places), axis=len(lead))
        at = g.op("ArgMax", wide, axis=len(lead) + 1, keepdims=1)
        largest = g.op("GatherElements", wide, at, axis=len(lead) + 1)
        first = g.constant(np.arange(len(places))[:, None] * width)
        found = g.op("Gather", g.constant(places.ravel()), g.op("Add", at, first), axis=0)
        return g.reshape(largest, out[0].shape), g.reshape(found, out[1].shape)

    return rule


for _rank in (1, 2, 3):
    RULES[f"adaptive_max_pool{_rank}d.default"] = _adaptive_max(_rank)


@aten("_softmax.default", "softmax.int")
def _softmax(g: Graph, out: Type, self: Value, dim: int, half_to_float: bool = False, dtype: Any = None) -> Value:
    return g.op("Softmax", g.cast(self, out.dtype), axis=self.axis(dim)) if self.shape else g.constant(1, out.dtype)


@aten("_log_softmax.default", "log_softmax.int")
def _log_softmax(g: Graph, out: Type, self: Value, dim: int, half_to_float: bool = False, dtype: Any = None) -> Value:
    return g.op("LogSoftmax", g.cast(self, out.dtype), axis=self.axis(dim)) if self.shape else g.constant(0, out.dtype)


@aten("nll_loss_forward.default")
def _nll_loss(
    g: Graph,
    out: Sequence[Type],
    self: Value,
    target: Value,
    weight: Value | None,
    reduction: int,
    ignore_index: int,
) -> tuple[Value, Value]:
    """Return the negative log likelihood of classes."""
    x = self if self.rank > 1 else g.reshape(self, [1, *self.shape])
    at = g.cast(target, torch.int64) if self.rank > 1 else g.reshape(target, [1])
    ignored, nothing = g.op("Equal", at, g.constant(ignore_index)), g.constant(ignore_index)
    inside = in_range(g, g.op("Where", ignored, g.constant(0), at, like=at), x.shape[1])
    at = g.op("Where", ignored, nothing, inside, like=at)
    named = {0: "none", 1: "mean", 2: "sum"}[reduction]
    loss = g.op("NegativeLogLikelihoodLoss", x, at, weight, reduction=named, ignore_index=ignore_index)
    return (g.reshape(loss, out[0].shape) if self.rank == 1 else loss), Value("")


RULES["nll_loss2d_forward.default"] = _nll_loss


@aten("pixel_shuffle.default")
def _pixel_shuffle(g: Graph, out: Type, self: Value, upscale_factor: int) -> Value:
    return g.op("DepthToSpace", self, blocksize=upscale_factor, mode="CRD")
