"""Reverse softmax and its logarithm, from their results alone.

The softmax of a row that is masked everywhere is NaN, and models put something else in its place: no derivative passes
through it. The guard asks for the result, not for a cotangent of zero, so that the adjoints are linear.
"""

from __future__ import annotations

import numpy as np

from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Element, call, where
from sdgrad.record.tensors import Tensor


@adjoint("Softmax", since=13)
def softmax(b: Builder, reversal: Reversed, *, axis: int) -> Tensor:
    """``x' = y (y' - sum(y y'))``."""
    y, seed = reversal.result(0), reversal.seed
    total = y.map(lambda v, g: defined(v) * g, seed).sum([axis], keepdims=True)
    return y.map(lambda v, g, s: defined(v) * (g - s), seed, total)


@adjoint("LogSoftmax", since=13)
def log_softmax(b: Builder, reversal: Reversed, *, axis: int) -> Tensor:
    """``x' = y' - exp(y) sum(y')``."""
    seed = reversal.seed
    total = seed.sum([axis], keepdims=True)
    return seed.map(lambda g, v, s: g - defined(call("exp", v)) * s, reversal.result(0), total)


def defined(y: Element) -> Element:
    """Return a probability; zero in place of NaN."""
    return where(call("abs", y) < np.inf, y, 0)
