"""Reverse products of matrices: by products with the other operand, summed over broadcast axes in the same pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy

from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Dim, Element
from sdgrad.record.tensors import Tensor

Term = Callable[[Sequence[sympy.Expr], sympy.Expr, sympy.Expr, sympy.Expr], Element]


@adjoint("MatMul", copies=False)
def matmul(b: Builder, reversal: Reversed) -> list[Tensor | None]:
    """``A' = Y' B^T`` and ``B' = A^T Y'``."""
    left, right, seed = reversal.operand(0), reversal.operand(1), reversal.seed
    row, column = left.rank == 1, right.rank == 1
    a, c = left.unsqueeze(0) if row else left, right.unsqueeze(1) if column else right
    seed = seed.unsqueeze(-2) if row else seed
    seed = seed.unsqueeze(-1) if column else seed
    batch = seed.shape[:-2]
    wide_a, wide_c = (x.broadcast((*batch, *x.shape[-2:])) for x in (a, c))
    to_a = over(b, a, batch, c.shape[-1], lambda at, m, k, n: seed[(*at, m, n)] * wide_c[(*at, k, n)])
    to_c = over(b, c, batch, a.shape[-2], lambda at, k, n, m: wide_a[(*at, m, k)] * seed[(*at, m, n)])
    return [to_a.squeeze(0) if row else to_a, to_c.squeeze(1) if column else to_c]


def over(b: Builder, x: Tensor, batch: Sequence[Dim], last: Dim, term: Term) -> Tensor:
    """Sum ``term(batch, i, j, k)`` over ``k``, and over those dimensions of the batch that ``x`` lacks."""
    lead = len(batch) - (x.rank - 2)
    lacks = [d for d, n in enumerate(batch) if d < lead or (x.shape[d - lead] == 1 and n != 1)]

    def value(i: tuple, k: tuple) -> Element:
        inner = iter(k)
        at = [next(inner) if d in lacks else i[d - lead] for d in range(len(batch))]
        return term(at, i[-2], i[-1], k[-1])

    return b.reduction(x.shape, [*(batch[d] for d in lacks), last], value, "sum", x.dtype)


@adjoint("Gemm", copies=False)
def gemm(b: Builder, reversal: Reversed, *, alpha: float, beta: float, transa: int, transb: int) -> list[Tensor | None]:
    """As for MatMul, transposed where the operands are."""
    left, right, seed = reversal.operand(0), reversal.operand(1), reversal.seed

    def product(x: Tensor, y: Tensor, transposed: int) -> Tensor:
        found = b.matmul(y.transpose(), x.transpose()) if transposed else b.matmul(x, y)
        return found.map(lambda p: p * alpha) if alpha != 1 else found

    a, c = left.transpose() if transa else left, right.transpose() if transb else right
    to_left, to_right = product(seed, c.transpose(), transa), product(a.transpose(), seed, transb)
    if not reversal.has(2):
        return [to_left, to_right]
    added = seed.unbroadcast(reversal.operand(2).shape)
    return [to_left, to_right, added.map(lambda g: g * beta) if beta != 1 else added]
