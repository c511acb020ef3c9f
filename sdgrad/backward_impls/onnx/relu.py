"""Reverse the family of Relu from results alone: a layer keeps its output for the next one anyway."""

from __future__ import annotations

from collections.abc import Callable

from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Element, where
from sdgrad.record.tensors import Tensor


def by_result(reversal: Reversed, slope: Callable[[Element], Element]) -> Tensor:
    return reversal.seed.map(lambda g, y: slope(y) * g, reversal.result(0))


@adjoint("Relu")
def relu(b: Builder, reversal: Reversed) -> Tensor:
    return reversal.seed.map(lambda g, y: where(y <= 0, 0, g), reversal.result(0))


@adjoint("LeakyRelu")
def leaky_relu(b: Builder, reversal: Reversed, *, alpha: float) -> Tensor:
    increasing(alpha > 0)
    return reversal.seed.map(lambda g, y: where(y >= 0, g, alpha * g), reversal.result(0))


@adjoint("ThresholdedRelu")
def thresholded_relu(b: Builder, reversal: Reversed, *, alpha: float) -> Tensor:
    increasing(alpha >= 0)
    return reversal.seed.map(lambda g, y: where(y > 0, g, 0), reversal.result(0))


@adjoint("Elu")
def elu(b: Builder, reversal: Reversed, *, alpha: float) -> Tensor:
    """Clevert et al. 2016: below zero ``y' = alpha exp(x) = y + alpha``."""
    increasing(alpha > 0)
    return by_result(reversal, lambda y: where(y > 0, 1, y + alpha))


@adjoint("Celu")
def celu(b: Builder, reversal: Reversed, *, alpha: float) -> Tensor:
    """Barron 2017: below zero ``y' = exp(x / alpha) = y / alpha + 1``."""
    increasing(alpha > 0)
    return by_result(reversal, lambda y: where(y > 0, 1, y / alpha + 1))


@adjoint("Selu")
def selu(b: Builder, reversal: Reversed, *, alpha: float, gamma: float) -> Tensor:
    """Klambauer et al. 2017: Elu times ``gamma``."""
    increasing(alpha > 0 and gamma > 0)
    return by_result(reversal, lambda y: where(y > 0, gamma, y + gamma * alpha))


def increasing(is_so: bool) -> None:
    """A result says on which side its operand was only where the function is increasing.

    :raises Declined: it is not.
    """
    if not is_so:
        raise Declined("a function that is not increasing")
