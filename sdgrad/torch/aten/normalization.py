"""Translate normalizations over layers, groups and batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sdgrad.record.elements import product
from sdgrad.torch.aten.reductions import variance
from sdgrad.torch.aten.registry import RULES, aten
from sdgrad.torch.graph import Graph, Type, Value, numbers

DROPPED = Value("")
"""In place of a result that only PyTorch's own backward pass uses."""


def _given_or(g: Graph, x: Value | None, number: int, shape: Sequence[int], like: Value) -> Value:
    """A weight, or a number in its place."""
    return x if x is not None else g.constant(np.full(numbers(shape), number), like.dtype)


def _moment(g: Graph, x: Value, wanted: Type) -> Value:
    return g.reshape(g.cast(x, wanted.dtype), wanted.shape)


def _over_layer(
    g: Graph,
    kind: str,
    x: Value,
    shape: Sequence[int],
    weight: Value | None,
    *bias: Value | None,
    eps: float,
    outputs: int = 1,
) -> tuple[Value, ...]:
    """A normalization over the last dimensions, and (where asked for) its moments."""
    scale = _given_or(g, weight, 1, shape, x)
    return g.ops(kind, x, scale, *bias, outputs=outputs, axis=x.rank - len(shape), epsilon=float(eps))


@aten("native_layer_norm.default")
def _layer_norm(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None,
    bias: Value | None,
    eps: float,
) -> tuple[Value, ...]:
    found = _over_layer(g, "LayerNormalization", input, normalized_shape, weight, bias, eps=eps, outputs=3)
    return (found[0], *(_moment(g, x, t) for x, t in zip(found[1:], out[1:], strict=True)))


@aten("layer_norm.default")
def _whole_layer_norm(
    g: Graph,
    out: Type,
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Value:
    return _over_layer(g, "LayerNormalization", input, normalized_shape, weight, bias, eps=eps)[0]


@aten("rms_norm.default")
def _rms_norm(
    g: Graph,
    out: Type,
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    eps: float | None = None,
) -> Value:
    least = torch.finfo(input.dtype).eps if eps is None else eps
    return _over_layer(g, "RMSNormalization", input, normalized_shape, weight, eps=least)[0]


def _per_channel(g: Graph, x: Value, rank: int) -> Value:
    return g.unsqueeze(x, *range(1, rank - 1)) if rank > 2 else x


@aten("group_norm.default")
def _group_norm(
    g: Graph,
    out: Type,
    input: Value,
    num_groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Value:
    channels = input.shape[1:2]
    scale, shift = _given_or(g, weight, 1, channels, input), _given_or(g, bias, 0, channels, input)
    return g.op("GroupNormalization", input, scale, shift, num_groups=num_groups, epsilon=float(eps))


@aten("native_group_norm.default")
def _native_group_norm(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    weight: Value | None,
    bias: Value | None,
    N: int,  # noqa: N803
    C: int,  # noqa: N803
    HxW: int,  # noqa: N803
    group: int,
    eps: float,
) -> tuple[Value, ...]:
    return _group_norm(g, out[0], input, group, weight, bias, eps), DROPPED, DROPPED


def _normalized(
    g: Graph, x: Value, weight: Value | None, bias: Value | None, mean: Value, spread: Value, eps: float
) -> Value:
    """``(x - mean) / sqrt(spread + eps) weight + bias`` by channel."""
    scale = g.op("Reciprocal", g.op("Sqrt", g.op("Add", spread, g.constant(eps, x.dtype))))
    if weight is not None:
        scale = g.op("Mul", scale, weight)
    apart = g.op("Sub", x, _per_channel(g, mean, x.rank))
    found = g.op("Mul", apart, _per_channel(g, scale, x.rank))
    return found if bias is None else g.op("Add", found, _per_channel(g, bias, x.rank))


def _batch_norm(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value, ...]:
    """Result, mean and (where it trains) the new running moments; Ioffe and Szegedy 2015, with PyTorch's momentum."""
    if not training and running_mean is not None:
        assert running_var is not None
        found = _normalized(g, input, weight, bias, running_mean, running_var, eps)
        return (found, DROPPED, DROPPED, running_mean, running_var)[: len(out)]
    axes = [k for k in range(input.rank) if k != 1]
    channels = input.shape[1]
    spread, level = variance(g, input, axes, 0.0, False)
    mean = g.reshape(level, [channels])
    count = product([input.shape[k] for k in axes])
    found = _normalized(g, input, weight, bias, mean, spread, eps)
    if len(out) <= 3 or running_mean is None or running_var is None:
        return (found, *[DROPPED] * (len(out) - 1))
    dtype = running_mean.dtype

    def moved(old: Value, new: Value) -> Value:
        part = g.op("Mul", g.cast(new, dtype), g.constant(momentum, dtype))
        return g.op("Add", g.op("Mul", old, g.constant(1 - momentum, dtype)), part)

    if isinstance(count, int):
        ratio = g.constant(count / max(count - 1, 1), input.dtype)
    else:
        ratio = g.op("Div", g.operand(count, input.dtype), g.operand(count - 1, input.dtype))
    unbiased = g.op("Mul", spread, ratio)
    return found, DROPPED, DROPPED, moved(running_mean, mean), moved(running_var, unbiased)


def _batch_norm_of(
    g: Graph, out: Sequence[Type], input: Value, weight: Value | None, bias: Value | None, *more: Any
) -> tuple[Value, ...]:
    """Normalize; half precision, whose squares overflow, in single precision."""
    if input.dtype != torch.float16:
        return _batch_norm(g, out, input, weight, bias, *more)
    scale, shift = (g.cast(x, torch.float32) if x is not None else None for x in (weight, bias))
    kinds = [Type(t.shape, torch.float32) for t in out]
    first, *rest = _batch_norm(g, kinds, g.cast(input, torch.float32), scale, shift, *more)
    return (g.cast(first, input.dtype), *rest)


RULES["_native_batch_norm_legit_functional.default"] = lambda g, out, **given: _batch_norm_of(g, out, *given.values())


@aten("_native_batch_norm_legit.no_stats")
def _batch_norm_without_stats(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    weight: Value | None,
    bias: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value, ...]:
    return _batch_norm_of(g, out, input, weight, bias, None, None, True, momentum, eps)


@aten("_native_batch_norm_legit_no_training.default")
def _batch_norm_at_rest(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value,
    running_var: Value,
    momentum: float,
    eps: float,
) -> tuple[Value, ...]:
    return _batch_norm_of(g, out, input, weight, bias, running_mean, running_var, False, momentum, eps)
