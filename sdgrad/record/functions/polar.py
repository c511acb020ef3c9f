"""The polar decomposition, and the nearest orthogonal matrix, which is smooth where singular values are equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.record.functions.linalg import adjoint, inexact
from sdgrad.record.functions.matrix_calls import conjugate_transpose, of_each, over_sums
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.singular_values import svdvals
from sdgrad.record.functions.table import rule
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array


def _unitary_vjp(a: Any, grad_w: Any) -> Any:
    """From ``P W^H dW + W^H dW P = W^H dA - dA^H W``, where P has the singular values."""
    u, s, v = np.linalg.svd(a, full_matrices=False)
    inner = conjugate_transpose(u) @ grad_w @ conjugate_transpose(v)
    found = u @ over_sums(s, inner) @ v
    if a.shape[0] > a.shape[1]:
        found = found + ((grad_w @ conjugate_transpose(v) - u @ inner) / s[None, :]) @ v
    if a.shape[0] < a.shape[1]:
        found = found + u @ ((conjugate_transpose(u) @ grad_w - inner @ v) / s[:, None])
    return found


def _unitary(matrix: Array) -> Array:
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
    found = _unitary(matrix)
    return found, adjoint(found) @ matrix if side == "right" else matrix @ adjoint(found)


@rule(scipy.linalg.orthogonal_procrustes)
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> Any:  # noqa: N803 (SciPy's names)
    first, second = inexact(A, B)
    if first.shape != second.shape:
        raise ValueError(f"the shapes of A and B differ ({first.shape} vs {second.shape})")
    product = adjoint(first) @ second
    return _unitary(product), np.sum(svdvals(product), axis=-1)
