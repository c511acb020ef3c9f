"""The polar decomposition, and the nearest orthogonal matrix, which is smooth where singular values are equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.record.functions.linalg import adjoint, inexact
from sdgrad.record.functions.matrix_calls import as_rule, conjugate_transpose, of_each, over_sums
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.singular_values import svdvals
from sdgrad.record.functions.table import rule
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array


# -- X with P X + X P = S, for a positive definite P and a skew-Hermitian S
def _skew_vjp(p: Any, s: Any, grad_x: Any) -> tuple[Any, Any]:
    """Solve with the same P, which is its own adjoint: derivatives of each order are solutions again."""
    found = skew_solution(p, 0.5 * (grad_x - conjugate_transpose(grad_x)))
    x = skew_solution(p, s)
    inner = found @ x
    return inner + conjugate_transpose(inner), found


@as_rule
def skew_solution(p: Any, s: Any) -> Array:
    """Solve by the eigenvalues of P, sums of which are positive where it is no more than one of them that is zero."""
    recorder: Any = p.recorder

    def make(given: Mapping[str, Tensor], made: Mapping[str, Tensor]) -> None:
        w, v = np.linalg.eigh(recorder.array(given["p"]))
        inner = conjugate_transpose(v) @ recorder.array(given["s"]) @ v
        recorder.copy(tensor_of(v @ over_sums(w, 0.5 * inner) @ conjugate_transpose(v)), made["x"])

    parts = {"x": (s.tensor.shape[-2:], s.dtype)}
    (found,) = of_each("skew_solution", {"p": p, "s": s}, parts, _skew_vjp, make=make)
    return found


# -- the polar factor
def _unitary_vjp(a: Any, grad_w: Any) -> Any:
    """From ``P W^H dW + W^H dW P = W^H dA - dA^H W``, where ``A = W P``."""
    w = unitary(a)
    p, inner = conjugate_transpose(w) @ a, conjugate_transpose(w) @ grad_w
    p = 0.5 * (p + conjugate_transpose(p))
    found = w @ skew_solution(p, inner - conjugate_transpose(inner))
    if a.shape[0] > a.shape[1]:
        rest = grad_w - w @ inner
        found = found + conjugate_transpose(np.linalg.solve(p, conjugate_transpose(rest)))
    return found


@as_rule
def unitary(matrix: Array) -> Array:
    """Return the factor with orthonormal columns, or rows."""
    if matrix.tensor.shape[-2] < matrix.tensor.shape[-1]:
        return adjoint(unitary(adjoint(matrix)))
    recorder: Any = matrix.recorder

    def make(given: Mapping[str, Tensor], made: Mapping[str, Tensor]) -> None:
        u, _, v = np.linalg.svd(recorder.array(given["a"]), full_matrices=False)
        recorder.copy(tensor_of(u @ v), made["w"])

    parts = {"w": (matrix.tensor.shape[-2:], matrix.dtype)}
    (found,) = of_each("polar", {"a": matrix}, parts, _unitary_vjp, make=make)
    return found


@rule(scipy.linalg.polar)
def polar(a: Any, side: str = "right") -> Any:
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    (matrix,) = inexact(a)
    found = unitary(matrix)
    return found, adjoint(found) @ matrix if side == "right" else matrix @ adjoint(found)


@rule(scipy.linalg.orthogonal_procrustes)
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> Any:  # noqa: N803 (SciPy's names)
    first, second = inexact(A, B)
    if first.shape != second.shape:
        raise ValueError(f"the shapes of A and B differ ({first.shape} vs {second.shape})")
    product = adjoint(first) @ second
    return unitary(product), np.sum(svdvals(product), axis=-1)
