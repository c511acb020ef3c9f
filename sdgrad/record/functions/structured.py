"""Matrices of a structure: Toeplitz, Hankel and circulant ones, blocks on a diagonal, companions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.linalg import in_double_precision, require, solve
from sdgrad.record.functions.products import conjugate
from sdgrad.record.functions.table import array, fixed, known, rule


def _vector(values: Any) -> Any:
    found = array(values)
    return found if found.ndim else np.reshape(found, 1)


def _along(values: Any, places: np.ndarray) -> Any:
    """Return the matrix of elements at known places along the last axis."""
    return np.take(values, known(places), axis=-1)


@rule(scipy.linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    column = _vector(c)
    row = conjugate(column) if r is None else _vector(r)
    m, n = column.shape[-1], row.shape[-1]
    batch = np.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    column, row = np.broadcast_to(column, (*batch, m)), np.broadcast_to(row, (*batch, n))
    values = np.concatenate([column[..., ::-1], row[..., 1:]], axis=-1)
    return _along(values, m - 1 - np.arange(m)[:, None] + np.arange(n))


@rule(scipy.linalg.circulant)
def circulant(c: Any) -> Any:
    column = _vector(c)
    n = column.shape[-1]
    return _along(column, (np.arange(n)[:, None] - np.arange(n)) % max(n, 1))


@rule(scipy.linalg.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    column = np.ravel(array(c))
    row = np.zeros_like(column) if r is None else np.ravel(array(r))
    places = np.arange(len(column))[:, None] + np.arange(len(row))
    return _along(np.concatenate([column, row[1:]]), places)


@rule(scipy.linalg.block_diag)
def block_diag(*arrs: Any) -> Any:
    given = [np.atleast_2d(array(a)) for a in arrs or ([],)]
    batch = np.broadcast_shapes(*(a.shape[:-2] for a in given))
    dtype = np.result_type(*(a.dtype for a in given))
    width, before, rows = sum(a.shape[-1] for a in given), 0, []
    for a in given:
        m, n = a.shape[-2:]
        block = np.broadcast_to(a, (*batch, m, n)).astype(dtype)
        left, right = (np.zeros((*batch, m, k), dtype) for k in (before, width - before - n))
        rows.append(np.concatenate([left, block, right], axis=-1))
        before += n
    return np.concatenate(rows, axis=-2)


def _of_monic(values: Any, text: str) -> Any:
    """Return the coefficients behind the leading one of polynomials, whose leading one is made 1."""
    leading = values[..., :1]
    require(values, text, lambda: (leading != 0).all(), ValueError)
    return values[..., 1:] / (1.0 * leading)


@rule(scipy.linalg.companion)
def companion(a: Any) -> Any:
    values = _vector(a)
    n = values.shape[-1]
    if n < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    text = "The first coefficient(s) of `a` (i.e. elements of `a[..., 0]`) must not be zero."
    first = -_of_monic(values, text)
    below = np.broadcast_to(known(np.eye(n - 2, n - 1)).astype(first.dtype), (*values.shape[:-1], n - 2, n - 1))
    return np.concatenate([first[..., None, :], below], axis=-2)


@rule(scipy.linalg.fiedler_companion)
def fiedler_companion(a: Any) -> Any:
    values = _vector(a)
    n = values.shape[-1] - 1
    if n < 1:
        return np.zeros((*values.shape[:-1], 0), values.dtype)
    rest = _of_monic(values, "Leading coefficient is zero.")
    units = np.broadcast_to(known(np.array([1.0, 0.0])).astype(rest.dtype), (*values.shape[:-1], 2))
    pattern = scipy.linalg.fiedler_companion(np.arange(1, n + 2)).astype(int)  # -2, -3, .. for the coefficients, 1 or 0
    return _along(np.concatenate([-rest, units], axis=-1), np.where(pattern < 0, -pattern - 2, n + 1 - pattern))


@rule(scipy.linalg.diagsvd)
def diagsvd(s: Any, M: Any, N: Any) -> Any:  # noqa: N803 (SciPy's names)
    part, rows, columns = np.diag(array(s)), static(M), static(N)
    k = part.shape[0]
    if k not in (rows, columns):
        raise ValueError("Length of s must be M or N.")
    shape, axis = ((rows, columns - rows), 1) if k == rows else ((rows - columns, columns), 0)
    return np.concatenate([part, np.zeros(shape, part.dtype)], axis=axis)


@rule(scipy.linalg.convolution_matrix)
def convolution_matrix(a: Any, n: Any, mode: str = "full") -> Any:
    values, columns = array(a), static(n)
    if columns <= 0:
        raise ValueError("n must be a positive integer.")
    m = values.shape[-1]
    if m == 0:
        raise ValueError("len(a) must be at least 1.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    trim = 0 if mode == "full" else min(m, columns) - 1
    first = trim if mode == "valid" else trim // 2
    rows = m + columns - 1 - (2 * trim if mode == "valid" else trim)
    places = first + np.arange(rows)[:, None] - np.arange(columns)
    nothing = np.zeros((*values.shape[:-1], 1), values.dtype)
    return _along(np.concatenate([values, nothing], axis=-1), np.where((places >= 0) & (places < m), places, m))


@rule(scipy.linalg.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Any:
    left, right = array(a), array(b)
    if min(left.ndim, right.ndim) < 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if left.shape[-1] != right.shape[-1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    found = left[..., :, None, :] * right[..., None, :, :]
    return np.reshape(found, (*found.shape[:-3], left.shape[-2] * right.shape[-2], left.shape[-1]))


@rule(scipy.linalg.leslie)
def leslie(f: Any, s: Any) -> Any:
    first, rates = _vector(f), _vector(s)
    n = first.shape[-1]
    if n != rates.shape[-1] + 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less than the length of f."
        )
    if n < 2:
        raise ValueError("The length of s must be at least 1.")
    below = rates[..., :, None] * known(np.eye(n - 1, n))
    dtype = np.result_type(first.dtype, rates.dtype)
    return np.concatenate([first[..., None, :].astype(dtype), below.astype(dtype)], axis=-2)


@rule(scipy.linalg.fiedler)
def fiedler(a: Any) -> Any:
    values = _vector(a)
    return np.abs(values[..., :, None] - values[..., None, :])


# -- systems and products
def _first_column_and_row(c_or_cr: Any) -> tuple[Any, Any]:
    return c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, conjugate(array(c_or_cr)))


@rule(scipy.linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    matrix, right = in_double_precision(toeplitz(*_first_column_and_row(c_or_cr)), b)
    shape = right.shape
    flat = right if right.ndim < 2 else np.reshape(right, (shape[0], -1))
    return np.reshape(solve(matrix, flat), shape)


@rule(scipy.linalg.matmul_toeplitz)
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    matrix, right = in_double_precision(toeplitz(*_first_column_and_row(c_or_cr)), x)
    flat: Any = right if right.ndim < 2 else np.reshape(right, (right.shape[0], -1))
    return np.reshape(matrix @ flat, (matrix.shape[0], *right.shape[1:]))


@rule(scipy.linalg.solve_circulant)
def solve_circulant(
    c: Any, b: Any, singular: str = "raise", tol: Any = None, caxis: int = -1, baxis: int = 0, outaxis: int = 0
) -> Any:
    column, right = np.moveaxis(_vector(c), caxis, -1), np.moveaxis(_vector(b), baxis, -1)
    n = column.shape[-1]
    if n != right.shape[-1]:
        raise ValueError(f"Shapes of c {column.shape} and b {right.shape} are incompatible")
    spectrum: Any = np.fft.fft(column)
    sizes = np.abs(spectrum)
    least = np.max(sizes, axis=-1, keepdims=True) * n * np.finfo(np.float64).eps if tol is None else fixed(tol)
    is_zero = sizes <= least
    if singular == "raise":
        require(spectrum, "near singular circulant matrix.", lambda: ~is_zero.any())
    quotient = np.fft.fft(right) / np.where(is_zero, 1.0, spectrum)
    found = np.fft.ifft(np.where(is_zero, 0.0, quotient))
    return np.moveaxis(found if "c" in (column.dtype.kind, right.dtype.kind) else np.real(found), -1, outaxis)
