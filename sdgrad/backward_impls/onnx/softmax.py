"""Softmax and its logarithm, from their results alone."""

from __future__ import annotations

from sdgrad.onnx_ops.builder import Builder
from sdgrad.onnx_ops.elements import call
from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.onnx_ops.tensors import Tensor


@adjoint("Softmax", since=13)
def softmax(b: Builder, reversal: Reversed, *, axis: int) -> Tensor:
    """``x' = y (y' - sum(y y'))``."""
    y, seed = reversal.result(0), reversal.seed
    total = (y * seed).sum([axis], keepdims=True)
    return y.map(lambda v, g, s: v * (g - s), seed, total)


@adjoint("LogSoftmax", since=13)
def log_softmax(b: Builder, reversal: Reversed, *, axis: int) -> Tensor:
    """``x' = y' - exp(y) sum(y')``."""
    seed = reversal.seed
    total = seed.sum([axis], keepdims=True)
    return seed.map(lambda g, v, s: g - call("exp", v) * s, reversal.result(0), total)
