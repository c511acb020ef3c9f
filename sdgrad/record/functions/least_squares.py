"""Solve linear least-squares problems: the shortest solution, by the pseudo-inverse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sdgrad.record.functions.linalg import inexact, require
from sdgrad.record.functions.matrix_calls import as_rule, conjugate_transpose, of_each
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.shapes import reshape
from sdgrad.record.functions.singular_values import DIVERGED, pinv_vjp, pseudo_inverse, static_number, unchecked_svd
from sdgrad.record.functions.table import rule
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array


@as_rule
def _adjoints(a: Any, b: Any, x: Any, p: Any, grad_x: Any) -> tuple[Any, Any]:
    """Of matrices whose rank does not change (Golub and Pereyra 1973), by products with columns alone."""
    h = conjugate_transpose(p)
    y = h @ grad_x
    of_solution = (h @ x) @ conjugate_transpose(grad_x - p @ (a @ grad_x)) - y @ conjugate_transpose(x)
    return of_solution + (b - a @ x) @ conjugate_transpose(p @ y), y


def _solution_vjp(a: Any, b: Any, x: Any, p: Any, grad_x: Any) -> Any:
    grad_a, grad_b = _adjoints(a, b, x, p, grad_x)
    return grad_a, grad_b


def _vjp(a: Any, b: Any, x: Any, p: Any, grad_x: Any, grad_p: Any) -> Any:
    grad_a, grad_b = _adjoints(a, b, x, p, grad_x)
    return grad_a + pinv_vjp(a, p, grad_p), grad_b


OF_SOME = {frozenset({"x", "lost"}): _solution_vjp}
"""The rule where a program does not read the pseudo-inverse."""


def _solution(matrix: Array, right: Array, least: float) -> tuple[Array, Array]:
    """Return the shortest solution, for each column, and whether there is none."""
    recorder: Any = matrix.recorder
    (m, n), k = matrix.tensor.shape, right.tensor.shape[-1]

    def make(given: Mapping[str, Tensor], made: Mapping[str, Tensor]) -> None:
        inverse: Any = pseudo_inverse(recorder.array(given["a"]), lambda largest: least * largest)
        recorder.copy(tensor_of(inverse), made["p"])
        recorder.copy(tensor_of(inverse @ recorder.array(given["b"])), made["x"])
        recorder.copy(tensor_of(reshape(np.isnan(inverse).any(), 1)), made["lost"])

    parts = {"x": ((n, k), matrix.dtype), "p": ((n, m), matrix.dtype), "lost": ((1,), np.bool_)}
    found, _, lost = of_each("lstsq", {"a": matrix, "b": right}, parts, _vjp, OF_SOME, make)
    return found, lost


def least_squares(matrix: Array, right: Array, least: float) -> tuple[Any, Any, Any]:
    """Return the shortest solution, sums of squared residuals, and singular values."""
    found: Any
    if right.ndim == 1:
        column, lost = _solution(matrix, reshape(right, (-1, 1)), least)
        found = reshape(column, -1)
    else:
        found, lost = _solution(matrix, right, least)
    rest = right - matrix @ found
    squares = np.sum(np.real(rest * np.conj(rest)), axis=0)
    require(found, DIVERGED, lambda: ~lost[0] | ~np.isnan(matrix).any())
    return found, squares, unchecked_svd(matrix)[1]  # which goes if nobody reads it


@rule(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    matrix, right = inexact(a, b)
    m, n = matrix.shape
    if 0 in matrix.tensor.shape:
        size = np.reshape(np.sum(np.abs(right) ** 2, axis=0), (-1,))
        none = np.zeros(0, size.dtype)
        unknowns = np.zeros((n, *right.shape[1:]), right.dtype)
        return unknowns, none if m <= n else size, np.zeros((), np.int32)[()], none
    least = np.finfo(matrix.dtype).eps * max(m, n) if rcond is None else static_number(rcond)
    found, squares, s = least_squares(matrix, right, least)
    if m <= n:
        squares = np.zeros(0, squares.dtype)
    return found, squares if squares.ndim else np.reshape(squares, 1), np.sum(s > least * np.max(s)).astype(np.int32), s
