"""Lower steps of optimizers, from the preview of the standard's training operators."""

from __future__ import annotations

from collections.abc import Sequence

from sdgrad.onnx_ops.registry import lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Element, call, where
from sdgrad.record.tensors import Tensor

DOMAIN = "ai.onnx.preview.training"


def groups(tensors: Sequence[Tensor], kinds: int) -> list[tuple[Tensor, ...]]:
    """Group operands: parameters come first, then their gradients, then each kind of state."""
    count = len(tensors) // kinds
    return [tuple(tensors[k * count + i] for k in range(kinds)) for i in range(count)]


def regularized(b: Builder, x: Tensor, gradient: Tensor, coefficient: float) -> Tensor:
    return gradient.map(lambda g, v: g + coefficient * v, x)


@lowering("Adagrad", domain=DOMAIN)
def adagrad(
    b: Builder, rate: Tensor, step: Tensor, *tensors: Tensor, decay_factor: float, epsilon: float,
    norm_coefficient: float,
) -> list[Tensor]:  # fmt: skip
    """Take a step of Adagrad (Duchi, Hazan and Singer 2011)."""
    r = rate.map(lambda v, t: v / (1 + t.astype(v.dtype) * decay_factor), step)
    parameters, squares = [], []
    for x, gradient, h in groups(tensors, 3):
        g = regularized(b, x, gradient, norm_coefficient)
        squares.append(h.map(lambda s, v: s + v * v, g))
        parameters.append(x.map(lambda v, a, d, s: v - a * d / (call("sqrt", s) + epsilon), r, g, squares[-1]))
    return [*parameters, *squares]


@lowering("Adam", domain=DOMAIN)
def adam(
    b: Builder, rate: Tensor, step: Tensor, *tensors: Tensor, alpha: float, beta: float, epsilon: float,
    norm_coefficient: float, norm_coefficient_post: float,
) -> list[Tensor]:  # fmt: skip
    """Take a step of Adam (Kingma and Ba 2015)."""

    def adjusted(v: Element, t: Element) -> Element:
        count = t.astype(v.dtype)
        first, second = (call("pow", Element(call("abs", v * 0 + base).code, v.dtype), count) for base in (alpha, beta))
        return where(count > 0, v * call("sqrt", 1 - second) / (1 - first), v)

    r = rate.map(adjusted, step)
    parameters, means, squares = [], [], []
    for x, gradient, v, h in groups(tensors, 4):
        g = regularized(b, x, gradient, norm_coefficient)
        means.append(v.map(lambda m, d: alpha * m + (1 - alpha) * d, g))
        squares.append(h.map(lambda s, d: beta * s + (1 - beta) * d * d, g))
        new = x.map(lambda p, a, m, s: p - a * m / (call("sqrt", s) + epsilon), r, means[-1], squares[-1])
        parameters.append(new.map(lambda p: p * (1 - norm_coefficient_post)) if norm_coefficient_post else new)
    return [*parameters, *means, *squares]


@lowering("Momentum", domain=DOMAIN)
def momentum(
    b: Builder, rate: Tensor, step: Tensor, *tensors: Tensor, alpha: float, beta: float, mode: str,
    norm_coefficient: float,
) -> list[Tensor]:  # fmt: skip
    """Take a step with momentum (Polyak 1964); ``nesterov`` looks ahead (Sutskever et al. 2013)."""
    weight = step.map(lambda t, r: where(t > 0, beta, 1.0).astype(r.dtype), rate, dtype=rate.dtype)
    parameters, speeds = [], []
    for x, gradient, v in groups(tensors, 3):
        g = regularized(b, x, gradient, norm_coefficient)
        speeds.append(v.map(lambda s, d, w: alpha * s + w * d, g, weight))
        moved = g.map(lambda d, s: d + alpha * s, speeds[-1]) if mode == "nesterov" else speeds[-1]
        parameters.append(x.map(lambda p, r, m: p - r * m, rate, moved))
    return [*parameters, *speeds]
