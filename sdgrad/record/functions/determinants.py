"""Determinants: sums of products of small matrices, LU factors of large ones.

The derivative is the adjugate, which exists for matrices without an inverse as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.record.functions.linalg import inexact, solve, square
from sdgrad.record.functions.matrix_calls import (
    as_rule,
    conjugate_transpose,
    lower_part,
    of_each,
    ones_below,
    plus_one,
    real_type,
    with_diagonal,
)
from sdgrad.record.functions.table import rule
from sdgrad.record.values import Array, Number

LARGEST_EXPANSION = 4  # rows of determinants that are sums of products


@rule(np.linalg.det)
def det(a: Any) -> Any:
    matrix = square(a)
    matrix.recorder.hints.need_sizes(matrix.tensor.shape)  # for rules of rules
    n = matrix.shape[-1]
    if not isinstance(n, Number) and n <= LARGEST_EXPANSION:
        return _expanded(matrix, list(range(n)))
    (found,) = of_each("det", {"a": matrix}, {"d": ((1,), matrix.dtype)}, _det_vjp)
    return found[..., 0]


def _expanded(matrix: Array, columns: list[int]) -> Any:
    """Return the determinant of the last rows, by the elements of the first of them."""
    if not columns:
        return np.ones(matrix.shape[:-2], matrix.dtype)[()]
    row = matrix[..., matrix.shape[-1] - len(columns), :]
    found: Any = 0
    for k, c in enumerate(columns):
        rest = columns[:k] + columns[k + 1 :]
        term = row[..., c] * _expanded(matrix, rest) if rest else row[..., c]
        found = term if k == 0 else found - term if k % 2 else found + term
    return found


def _det_vjp(a: Any, grad_d: Any) -> Any:
    return grad_d[0] * conjugate_transpose(_adjugate(a))


@as_rule
def _adjugate(a: Any) -> Any:
    (matrix,) = inexact(a)
    (found,) = of_each("adjugate", {"a": matrix}, {"x": (matrix.tensor.shape, matrix.dtype)}, _adjugate_vjp)
    return found


def _adjugate_vjp(a: Any, grad_x: Any) -> Any:
    """Where A is diagonal, an element of the adjugate is a product of others; ``adj(U S V) = adj(V) adj(S) adj(U)``."""
    u, s, v = np.linalg.svd(a, full_matrices=False)
    turned = np.conj(np.linalg.det(u) * np.linalg.det(v)) * (v @ grad_x @ u)
    rest = _products_without_two(s)
    return u @ with_diagonal(-rest * turned, rest @ np.diagonal(turned)) @ v


@as_rule
def _products_without_two(s: Any) -> Any:
    """Return products of all but two numbers, zero on the diagonal; no number divides."""
    n, one = s.shape[0], np.ones_like(s[:1])
    before = np.concatenate([one, np.cumprod(s)[:-1]])
    after = np.concatenate([np.cumprod(s[::-1])[::-1][1:], one])
    between = np.cumprod(ones_below(np.broadcast_to(s, (n, n))), axis=1)  # from behind the first to the second
    between = np.concatenate([np.ones_like(between[:, :1]), between[:, :-1]], axis=1)
    below = lower_part(np.transpose(before[:, None] * between * after[None, :]))
    return below + np.transpose(below)


@rule(scipy.linalg.det)
def scipy_det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return det(a)


SIGN_AND_LOGARITHM = type(np.linalg.slogdet(np.eye(1)))


@rule(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    matrix = square(a)
    if matrix.tensor.shape[-1] == 0:
        batch = matrix.shape[:-2]
        return SIGN_AND_LOGARITHM(np.ones(batch, matrix.dtype)[()], np.zeros(batch, real_type(matrix.dtype))[()])
    matrix.recorder.hints.need_sizes(matrix.tensor.shape)  # for the rule
    vjp = _complex_slogdet_vjp if matrix.dtype.kind == "c" else _slogdet_vjp
    parts = {"s": ((1,), matrix.dtype), "l": ((1,), real_type(matrix.dtype))}
    sign, logarithm = of_each("slogdet", {"a": matrix}, parts, vjp)
    return SIGN_AND_LOGARITHM(sign[..., 0], logarithm[..., 0])


@as_rule
def _inverse(a: Any) -> Any:
    """Return the inverse; of a matrix that has none, no numbers."""
    return solve(a, plus_one(np.zeros_like(a)))


def _slogdet_vjp(a: Any, grad_l: Any) -> Any:
    return grad_l[0] * _inverse(a).T


def _complex_slogdet_vjp(a: Any, s: Any, grad_s: Any, grad_l: Any) -> Any:
    """From ``dl + i dphase = tr(A^-1 dA)``."""
    of_phase = -np.imag(np.conj(grad_s[0]) * s[0])
    return (grad_l[0] + 1j * of_phase) * conjugate_transpose(_inverse(a))
