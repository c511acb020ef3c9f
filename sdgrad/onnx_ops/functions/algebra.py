"""Matrices, with PyTorch's conventions: gradients by symmetric matrices are symmetric."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.onnx_ops.functions.table import recorded
from sdgrad.record.functions.detached import stop_gradient
from sdgrad.record.functions.factors import with_pivots

recorded("inv")(np.linalg.inv)
recorded("det")(np.linalg.det)
recorded("slogdet")(np.linalg.slogdet)
recorded("matrix_exp")(scipy.linalg.expm)


def symmetric(a: Any, upper: bool) -> Any:
    """Return the matrix of one triangle; its derivative is that of both halves."""
    own = np.triu(a) if upper else np.tril(a)
    strict = np.triu(a, 1) if upper else np.tril(a, -1)
    both = 0.5 * (a + np.swapaxes(a, -1, -2))
    return both + stop_gradient(own + np.swapaxes(strict, -1, -2) - both)


def transposed(a: Any, condition: bool) -> Any:
    """Return the matrix, or its transpose."""
    return np.swapaxes(a, -1, -2) if condition else a


def triangle(a: Any, upper: bool) -> Any:
    """Return one triangle, for factors of which the other is not read."""
    return np.triu(a) if upper else np.tril(a)


@recorded("cholesky")
def cholesky(a: Any, upper: bool = False) -> Any:
    """Return the factor of the matrix."""
    return transposed(np.linalg.cholesky(symmetric(a, upper)), upper)


def product_of_factor(factor: Any, upper: bool) -> Any:
    """Return the matrix that a factor is of."""
    lower = transposed(triangle(factor, upper), upper)
    return lower @ np.swapaxes(lower, -1, -2)


@recorded("cholesky_inverse")
def cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    """Return the inverse of the matrix of a factor."""
    return np.linalg.inv(product_of_factor(factor, upper))


@recorded("cholesky_solve")
def cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    """Return the solution for the matrix of a factor."""
    return np.linalg.solve(product_of_factor(factor, upper), b)


@recorded("eigh")
def eigh(a: Any, upper: bool) -> Any:
    """Return eigenvalues and vectors."""
    return tuple(np.linalg.eigh(symmetric(a, upper)))


@recorded("eigvalsh")
def eigvalsh(a: Any, upper: bool) -> Any:
    """Return eigenvalues."""
    return np.linalg.eigvalsh(symmetric(a, upper))


@recorded("svd")
def svd(a: Any, full_matrices: bool) -> Any:
    """Return singular values between their vectors."""
    return tuple(np.linalg.svd(a, full_matrices=full_matrices))


@recorded("svdvals")
def svdvals(a: Any) -> Any:
    """Return singular values."""
    return np.linalg.svd(a, compute_uv=False)


@recorded("qr")
def qr(a: Any, mode: Any) -> Any:
    """Return the two factors."""
    return tuple(np.linalg.qr(a, mode))


@recorded("lu")
def lu(a: Any) -> Any:
    """Return permutation and factors."""
    return tuple(scipy.linalg.lu(a))


@recorded("lu_factor")
def lu_factor(a: Any) -> Any:
    """Return packed factors and interchanges, which count from one."""
    factors, interchanges = scipy.linalg.lu_factor(a)
    return with_pivots(factors), interchanges + 1


@recorded("lu_solve")
def lu_solve(factors: Any, interchanges: Any, b: Any, left: bool, adjoint: bool) -> Any:
    """Return the solution of ``A X = B``, or of ``X A = B``."""
    given, turned = (factors, interchanges - 1), adjoint == left
    if left:
        return scipy.linalg.lu_solve(given, b, 1 if turned else 0)
    return np.swapaxes(scipy.linalg.lu_solve(given, np.swapaxes(b, -1, -2), 1 if turned else 0), -1, -2)


@recorded("solve")
def solve(a: Any, b: Any, left: bool = True) -> Any:
    """Return the solution; one vector for each matrix where the shapes say so."""
    vectors = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    if not left:
        return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    return np.linalg.solve(a, b[..., None])[..., 0] if vectors else np.linalg.solve(a, b)


@recorded("solve_triangular")
def solve_triangular(a: Any, b: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Return the solution for one triangle of the matrix."""
    own = triangle(a, upper)
    if unitriangular:
        own = own * (1 - np.eye(a.shape[-1], dtype=a.dtype)) + np.eye(a.shape[-1], dtype=a.dtype)
    return solve(own, b, left)


@recorded("pinv")
def pinv(a: Any, rtol: float | None = None, hermitian: bool = False) -> Any:
    """Return the pseudoinverse; PyTorch leaves out singular values that are smaller than rounding.

    :param hermitian: the lower triangle decides the value; the derivative is that of any matrix, as in PyTorch.
    """
    if hermitian:
        return pinv(a + stop_gradient(symmetric(a, False) - a), rtol)
    eps = float(np.finfo(a.dtype).eps)
    return np.linalg.pinv(a, rcond=max(a.shape[-2:]) * eps if rtol is None else rtol)
