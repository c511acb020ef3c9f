"""LU factors of matrices with partial pivoting, and systems that they solve (de Hoog, Anderssen and Lukas 2011)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.linalg import inexact, require, solve_triangular, square
from sdgrad.record.functions.matrix_calls import (
    as_rule,
    conjugate_transpose,
    lower_part,
    of_each,
    real_type,
    upper_part,
    with_ones,
)
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import array, known, rule
from sdgrad.record.values import Array
from sdgrad.runtime.libraries.lapack import LapackCall


def _lu_vjp(f: Any, i: Any, grad_f: Any) -> Any:
    """Of the square part of the factors, and what more rows or columns add to it."""
    k = min(f.shape[0], f.shape[1])
    lower, upper = with_ones(lower_part(f[:k, :k])), upper_part(f[:k, :k])
    of_lower, of_upper = lower_part(grad_f[:k, :k]), upper_part(grad_f[:k, :k])
    if f.shape[0] > k:
        more = conjugate_transpose(scipy.linalg.solve_triangular(upper, conjugate_transpose(grad_f[k:])))
        of_upper = of_upper - conjugate_transpose(f[k:]) @ more
    if f.shape[1] > k:
        more = scipy.linalg.solve_triangular(lower, grad_f[:, k:], trans=2, lower=True)
        of_lower = of_lower - more @ conjugate_transpose(f[:, k:])
    middle = lower_part(conjugate_transpose(lower) @ of_lower) + upper_part(of_upper @ conjugate_transpose(upper))
    half = scipy.linalg.solve_triangular(lower, middle, trans=2, lower=True)
    found = conjugate_transpose(scipy.linalg.solve_triangular(upper, conjugate_transpose(half)))
    if f.shape[0] > k:
        found = np.concatenate([found, more])
    if f.shape[1] > k:
        found = np.concatenate([found, more], axis=1)
    return _rows(found, i)


@as_rule
def _rows(matrix: Any, order: Any) -> Any:
    """Return rows of a matrix, all of which are there."""
    m, places = tensor_of(matrix), tensor_of(order)
    return matrix.recorder.array(matrix.recorder.compute(m.shape, m.dtype, lambda i, j: m[places[i], j]))


def _packed(a: Any) -> list[Any]:
    """Return packed factors, interchanges, and the order of rows."""
    (matrix,) = inexact(a)
    if matrix.ndim < 2:
        raise ValueError("The input array must be at least two-dimensional.")
    m, n = matrix.tensor.shape[-2:]
    parts = {"f": ((m, n), matrix.dtype), "p": ((min(m, n),), np.int32), "i": ((m,), np.int32)}
    return of_each("lu", {"a": matrix}, parts, _lu_vjp)


@rule(scipy.linalg.lu_factor)
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    factors, interchanges, _ = _packed(a)
    return factors, interchanges


@as_rule
def with_pivots(factors: Any) -> Any:
    """Return packed factors, and record that no pivot is zero."""
    require(factors, "a pivot is zero", lambda: (np.diagonal(factors, axis1=-2, axis2=-1) != 0).all())
    return factors


def factors_and_order(a: Any) -> tuple[Any, Any]:
    """Return the packed factors of a matrix, and the order of its rows, for :func:`solve_in_order`."""
    factors, _, order = _packed(a)
    return factors, order


def solve_in_order(factors: Any, order: Any, b: Any) -> Any:
    """Solve a system with a right side of one axis."""
    half = solve_triangular(with_ones(lower_part(factors)), _rows(b[:, None], order), lower=True)
    return solve_triangular(upper_part(factors), half)[:, 0]


@rule(scipy.linalg.lu)
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    factors, _, order = _packed(a)
    k = min(factors.shape[-2:])
    lower, upper = with_ones(lower_part(factors[..., :k])), upper_part(factors[..., :k, :])
    if permute_l:
        return np.take_along_axis(lower, order[..., None], axis=-2), upper
    if p_indices:
        return order, lower, upper
    columns = known(np.arange(factors.shape[-2]))
    return (order[..., None] == columns).astype(real_type(factors.dtype)), lower, upper


@rule(scipy.linalg.lu_solve)
def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    factors, right = inexact(square(lu_and_piv[0]), b)
    if factors.ndim != 2 or right.ndim > 2:
        raise ParseError("scipy.linalg.lu_solve of stacks of matrices is not recorded: write a loop")
    if trans not in (0, 1, 2):
        raise ValueError("trans must be 0, 1, or 2.")
    if factors.shape[0] != right.shape[0]:
        raise ValueError(f"Shapes of lu {factors.shape} and b {right.shape} are incompatible")
    lower, upper = with_ones(lower_part(factors)), upper_part(factors)
    rows = _order(array(lu_and_piv[1]))
    if trans == 0:
        return solve_triangular(upper, solve_triangular(lower, right[rows], lower=True))
    places = np.argsort(rows)
    return solve_triangular(lower, solve_triangular(upper, right, trans), trans, lower=True)[places]


def _order(interchanges: Array) -> Array:
    """Return which row comes to each place."""
    recorder: Any = interchanges.recorder
    found = recorder.declare("order", (interchanges.tensor.shape[0], 1), np.int32)
    given = tensor_of(astype(interchanges, np.int32, copy=False))
    recorder.call_into(LapackCall("order"), {"_p": given}, {"_i": found})
    return recorder.array(found)[:, 0]


NO_LDL = (
    "scipy.linalg.ldl has no derivative here: use np.linalg.cholesky of a positive definite matrix, or "
    "scipy.linalg.lu, np.linalg.solve and slogdet"
)


@rule(scipy.linalg.ldl)
def ldl(
    A: Any,  # noqa: N803 (SciPy's name)
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any:
    """Record values alone."""
    (matrix,) = inexact(A)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError('The input array "a" should be square.')
    n, dtype = matrix.tensor.shape[-1], matrix.dtype
    parts = {"l": ((n, n), dtype), "d": ((n, n), dtype), "i": ((n,), np.int64)}
    numbers = int(bool(lower)), int(bool(hermitian))
    outer, blocks, order = of_each("ldl", {"a": matrix}, parts, None, numbers=numbers, told=NO_LDL)
    return outer, blocks, order
