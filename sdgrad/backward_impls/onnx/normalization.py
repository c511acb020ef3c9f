"""Reverse normalizations, from their operands and moments alone.

With ``u = (x - mean) / deviation`` and ``d`` the cotangent of ``u``: ``x' = (d - mean(d) - u mean(u d)) / deviation``
(Ioffe and Szegedy 2015, section 3; Ba, Kiros and Hinton 2016).
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from sdgrad.onnx_ops.families.normalization import moments, per_channel, standardized, widened
from sdgrad.onnx_ops.families.reduction import mean
from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Element, call, dim, element, product
from sdgrad.record.tensors import Tensor


def through_moments(seed: Tensor, unit: Tensor, inverse: Tensor, axes: Sequence[int]) -> Tensor:
    """Return the cotangent of values before they were brought to mean zero and variance one."""
    level = mean(seed, axes, True)
    slope = mean(seed * unit, axes, True)
    return seed.map(lambda d, u, i, m, s: (d - m - u * s) * i, unit, inverse, level, slope)


@adjoint("LayerNormalization", since=17)
def layer_normalization(
    b: Builder, reversal: Reversed, *, axis: int, epsilon: float, stash_type: int
) -> list[Tensor | None]:
    """Reverse layer normalization, by the moments that it returns."""
    if any(c is not None for c in reversal.cotangents[1:]):
        raise Declined("derivatives of the mean and of the deviation")
    x, scale = reversal.operand(0), reversal.operand(1)
    wide = reversal.result(1).dtype
    seed, x = reversal.seed.astype(wide), x.astype(wide)
    unit = standardized(x, reversal.result(1), reversal.result(2))
    scaled = seed * scale.astype(wide)
    gradient = through_moments(scaled, unit, reversal.result(2), range(axis % x.rank, x.rank))
    bias = seed.unbroadcast(reversal.operand(2).shape) if reversal.has(2) else None
    return [gradient, (seed * unit).unbroadcast(scale.shape), bias]


@adjoint("RMSNormalization", since=23)
def rms_normalization(
    b: Builder, reversal: Reversed, *, axis: int, epsilon: float, stash_type: int
) -> list[Tensor | None]:
    """Reverse ``u = x / r``: ``x' = (d - u mean(u d)) / r`` (Zhang and Sennrich 2019)."""
    x, scale, seed = (widened(t) for t in (reversal.operand(0), reversal.operand(1), reversal.seed))
    axes = range(axis % x.rank, x.rank)
    inverse = mean(x.map(lambda v: v * v), axes, True).map(lambda v: 1 / call("sqrt", v + epsilon))
    unit = x * inverse
    scaled = seed * scale
    slope = mean(scaled * unit, axes, True)
    gradient = scaled.map(lambda d, u, i, s: (d - u * s) * i, unit, inverse, slope)
    return [gradient, (seed * unit).unbroadcast(scale.shape)]


@adjoint("InstanceNormalization")
def instance_normalization(b: Builder, reversal: Reversed, *, epsilon: float) -> list[Tensor | None]:
    """Reverse instance normalization, with the moments over each image's axes."""
    x, scale, seed = reversal.operand(0), reversal.operand(1), reversal.seed
    unit = standardized(x, reversal.result(1), reversal.result(2))
    space = range(2, x.rank)
    gradient = through_moments(seed * per_channel(scale, x.rank), unit, reversal.result(2), space)
    channels = [0, *space]
    return [gradient, (seed * unit).sum(channels), seed.sum(channels)]


@adjoint("GroupNormalization", since=21)
def group_normalization(
    b: Builder, reversal: Reversed, *, epsilon: float, num_groups: int, stash_type: int
) -> list[Tensor | None]:
    """Reverse the normalization of channels in groups (Wu and He 2018)."""
    x, scale, seed = (widened(t) for t in (reversal.operand(0), reversal.operand(1), reversal.seed))
    grouped = [x.shape[0], num_groups, dim(sympy.sympify(product(x.shape[1:])) / num_groups)]
    groups = x.reshape(grouped)
    average, inverse = moments(groups, [2], epsilon)
    unit = standardized(groups, average, inverse)
    scaled = (seed * per_channel(scale, x.rank)).reshape(grouped)
    gradient = through_moments(scaled, unit, inverse, [2]).reshape(x.shape)
    channels = [0, *range(2, x.rank)]
    return [gradient, (seed * unit.reshape(x.shape)).sum(channels), seed.sum(channels)]


@adjoint("BatchNormalization", since=15)
def batch_normalization(
    b: Builder, reversal: Reversed, *, epsilon: float, momentum: float, training_mode: int = 0
) -> list[Tensor | None]:
    """Reverse batch normalization in training; the running moments depend on the batch as well."""
    if not training_mode:
        raise Declined("with given moments it is a function of each element")
    x, scale, seed = reversal.operand(0), reversal.operand(1), reversal.seed
    average, inverse = (per_channel(reversal.result(k), x.rank) for k in (3, 4))
    over = [0, *range(2, x.rank)]
    unit = standardized(x, average, inverse)
    gradient = through_moments(seed * per_channel(scale, x.rank), unit, inverse, over)
    count = product([x.shape[d] for d in over])
    for k, moved in enumerate(reversal.cotangents[1:3]):
        if moved is not None:

            def add(g: Element, v: Element, m: Element, r: Element, power: int = k) -> Element:
                part = r * (1 - momentum) / element(count, x.dtype)
                return g + (part * (v - m) * 2 if power else part)

            gradient = gradient.map(add, x, average, per_channel(moved, x.rank))
    old = [
        c.map(lambda r: r * momentum) if c is not None else b.full(scale.shape, 0, x.dtype)
        for c in reversal.cotangents[1:3]
    ]
    return [gradient, (seed * unit).sum(over), seed.sum(over), *old]
