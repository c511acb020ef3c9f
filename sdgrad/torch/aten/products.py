"""Translate products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sdgrad.onnx_ops.families.extra import DOMAIN as OWN
from sdgrad.record.elements import product
from sdgrad.torch.aten.registry import aten
from sdgrad.torch.graph import Graph, Type, Value


@aten("mm.default", "bmm.default", "matmul.default", "mv.default", "dot.default", "vdot.default")
def _matmul(g: Graph, out: Type, self: Value, second: Value | None = None, **more: Any) -> Value:
    other = second if second is not None else next(v for v in more.values() if isinstance(v, Value))
    if self.rank > 2 and other.rank == 2:  # one product of matrices
        x = g.reshape(self, [product(self.shape[:-1]), self.shape[-1]])
        return g.reshape(g.op("MatMul", x, other), out.shape)
    return g.op("MatMul", self, other)


def _plus(g: Graph, out: Type, self: Value, found: Value, beta: float, alpha: float) -> Value:
    if alpha != 1:
        found = g.op("Mul", found, g.constant(alpha, out.dtype))
    if beta == 0:
        return found
    if beta != 1:
        self = g.op("Mul", self, g.constant(beta, out.dtype))
    return g.op("Add", found, self)


@aten("addmm.default")
def _addmm(g: Graph, out: Type, self: Value, mat1: Value, mat2: Value, beta: float = 1, alpha: float = 1) -> Value:
    if all(float(np.float32(v)) == float(v) for v in (alpha, beta)):  # attributes are numbers in single precision
        return g.op("Gemm", mat1, mat2, self, alpha=float(alpha), beta=float(beta))
    return _plus(g, out, self, g.op("MatMul", mat1, mat2), beta, alpha)


@aten("addbmm.default", "baddbmm.default")
def _baddbmm(
    g: Graph, out: Type, self: Value, batch1: Value, batch2: Value, beta: float = 1, alpha: float = 1
) -> Value:
    """Return ``beta * input + alpha * batch1 @ batch2``."""
    found = g.op("MatMul", batch1, batch2)
    if len(out.shape) == 2:
        found = g.reduce("ReduceSum", Value(found.name, (0, *out.shape)), [0], False)
    return _plus(g, out, self, found, beta, alpha)


@aten("addmv.default")
def _addmv(g: Graph, out: Type, self: Value, mat: Value, vec: Value, beta: float = 1, alpha: float = 1) -> Value:
    return _plus(g, out, self, g.op("MatMul", mat, vec), beta, alpha)


@aten("linear.default")
def _linear(g: Graph, out: Type, input: Value, weight: Value, bias: Value | None = None) -> Value:
    """Return one product of matrices, whatever the dimensions of the operand are."""
    if weight.rank != 2 or input.rank < 2:
        found = g.op("MatMul", input, g.transpose(weight, range(weight.rank)[::-1]))
        return found if bias is None else g.op("Add", found, bias)
    rows = product(input.shape[:-1])
    x = g.reshape(input, [rows, input.shape[-1]])
    return g.reshape(g.op("Gemm", x, weight, bias, transB=1), out.shape)


@aten("einsum.default")
def _einsum(g: Graph, out: Type, equation: str, tensors: Sequence[Value], path: Any = None) -> Value:
    return g.op("Einsum", *(g.cast(t, out.dtype) for t in tensors), equation=equation)


@aten("linalg_det.default", "det.default")
def _det(g: Graph, out: Type, self: Value | None = None, A: Value | None = None) -> Value:  # noqa: N803
    return g.op("Det", self if self is not None else A)


@aten("cumsum.default")
def _cumsum(g: Graph, out: Type, self: Value, dim: int, dtype: torch.dtype | None = None) -> Value:
    x = g.cast(self, out.dtype)
    return x if not out.shape else g.op("CumSum", x, g.constant(self.axis(dim), torch.int64))


@aten("cumprod.default")
def _cumprod(g: Graph, out: Type, self: Value, dim: int, dtype: torch.dtype | None = None) -> Value:
    x = g.cast(self, out.dtype)
    return x if not out.shape else g.op("CumProd", x, g.constant(self.axis(dim), torch.int64), domain=OWN)
