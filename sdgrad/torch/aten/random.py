"""Translate random operations that are functions of standard numbers; these are drawn before the call."""

from __future__ import annotations

from typing import Any

from sdgrad.onnx_ops.families.extra import DOMAIN as OWN
from sdgrad.torch.aten.registry import aten
from sdgrad.torch.graph import Graph, Type, Value


@aten("bernoulli.default")
def _bernoulli(g: Graph, out: Type, self: Value, generator: Value) -> Value:
    return g.cast(g.op("Less", generator, self), out.dtype)


@aten("normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor")
def _normal(g: Graph, out: Type, mean: Any, std: Any, generator: Value) -> Value:
    """What is drawn has no derivative by what it is drawn with; ``rsample`` of a distribution has."""
    spread = g.op("Mul", generator, g.operand(std, out.dtype))
    return g.op("StopGradient", g.op("Add", spread, g.operand(mean, out.dtype)), domain=OWN)
