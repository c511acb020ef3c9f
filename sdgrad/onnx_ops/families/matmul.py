"""Lower products of matrices and of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from sdgrad.onnx_ops.registry import lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Element
from sdgrad.record.tensors import Tensor


@lowering("MatMul")
def matmul(b: Builder, left: Tensor, right: Tensor) -> Tensor:
    return b.matmul(left, right)


@lowering("Gemm")
def gemm(
    b: Builder,
    left: Tensor,
    right: Tensor,
    added: Tensor | None,
    *,
    alpha: float,
    beta: float,
    transa: int,
    transb: int,
) -> Tensor:
    """Return ``alpha * A @ B + beta * C``."""
    product = b.matmul(left.transpose() if transa else left, right.transpose() if transb else right)
    if added is None:
        return product.map(lambda p: p * alpha) if alpha != 1 else product
    return product.map(lambda p, c: (p * alpha if alpha != 1 else p) + (c * beta if beta != 1 else c), added)


@lowering("Einsum")
def einsum(b: Builder, *operands: Tensor, equation: str) -> Tensor:
    """Compute Einstein's sum: letters that the result does not have are summed over."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = [expanded(t, x.rank) for t, x in zip(left.split(","), operands, strict=True)]
    right = _result_letters(terms, right if arrow else None)
    extents = _extents(terms, operands)
    summed = [c for c in extents if c not in right]
    if len(set(right)) != len(right):
        raise Declined(f"the equation {equation}")

    def factor(x: Tensor, term: str, at: dict) -> Element:
        return x[tuple(at[c] if n != 1 else 0 for c, n in zip(term, x.shape, strict=True))]

    def value(out: tuple, inner: tuple) -> Element:
        at = {**dict(zip(right, out, strict=True)), **dict(zip(summed, inner, strict=True))}
        return reduce(lambda p, q: p * q, (factor(x, t, at) for x, t in zip(operands, terms, strict=True)))

    shape = [extents[c] for c in right]
    if not summed:
        return b.compute(shape, operands[0].dtype, lambda *i: value(i, ()))
    return b.reduction(shape, [extents[c] for c in summed], value, "sum", operands[0].dtype)


def _result_letters(terms: Sequence[str], right: str | None) -> str:
    """Return the letters of the result: those given, else all that occur once, in alphabetical order; dots first."""
    letters = [c for t in terms for c in t]
    dots = "".join(sorted({c for c in letters if c.isdigit()}))
    if right is not None:
        return right.replace("...", dots)
    return dots + "".join(sorted({c for c in letters if letters.count(c) == 1 and not c.isdigit()}))


def _extents(terms: Sequence[str], operands: Sequence[Tensor]) -> dict[str, object]:
    """Return the extent of every letter; an extent of one is broadcast."""
    extents: dict[str, object] = {}
    for term, x in zip(terms, operands, strict=True):
        for letter, n in zip(term, x.shape, strict=True):
            if extents.get(letter, 1) == 1:
                extents[letter] = n
    return extents


def expanded(term: str, rank: int) -> str:
    """Return a term with digits in place of its dots, the last axis last."""
    if "..." not in term:
        return term
    missing = rank - len(term.replace("...", ""))
    return term.replace("...", "".join(str(9 - k) for k in reversed(range(missing))))  # aligned at the last
