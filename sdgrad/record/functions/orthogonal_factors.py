"""Factor matrices into orthogonal and triangular ones: QR with and without the columns beside, with pivots, and RQ.

Each is a call of LAPACK with a rule in NumPy's terms, so that derivatives of every order follow (Walter and Lehmann
2012). The columns beside (``mode="complete"``) are any basis of a space; their derivative is that of the basis that
does not turn within this space, as in ``singular_values.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.functions.decompositions import named
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.linalg import adjoint, inexact
from sdgrad.record.functions.matrix_calls import as_rule, conjugate_transpose, copied_below, of_each, over_adjoint
from sdgrad.record.functions.singular_values import identities, of_full_rank, svdvals
from sdgrad.record.functions.table import array, rule
from sdgrad.record.values import Array


# -- rules, for at least as many rows as columns: parameters are results, and their cotangents
@as_rule
def _qr_vjp(q: Any, r: Any, grad_q: Any = None, grad_r: Any = None) -> Any:
    if grad_q is None:
        return over_adjoint(q @ copied_below(r @ conjugate_transpose(grad_r)), r)
    inner = -(conjugate_transpose(grad_q) @ q)
    if grad_r is not None:
        inner = inner + r @ conjugate_transpose(grad_r)
    return over_adjoint(grad_q + q @ copied_below(inner), r)


@as_rule
def _full_qr_vjp(q: Any, r: Any, e: Any, grad_q: Any, grad_e: Any, grad_r: Any = None) -> Any:
    return _qr_vjp(q, r, grad_q - e @ (conjugate_transpose(grad_e) @ q), grad_r)


# -- calls
def _factors(matrix: Array) -> tuple[Any, Any]:
    """Return the thin factors."""
    m, n = matrix.tensor.shape[-2:]
    k, dtype = min(m, n), matrix.dtype
    left = matrix if m >= n else matrix[..., :m]
    q: Any
    q, r = of_each("qr", {"a": left}, {"q": ((m, k), dtype), "r": ((k, k), dtype)}, _qr_vjp)
    return (q, r) if m >= n else (q, np.concatenate([r, adjoint(q) @ matrix[..., m:]], axis=-1))


def _rows_below(r: Any, m: int) -> Any:
    """Return a triangular factor with as many rows as the matrix has, of zeros."""
    *batch, k, n = r.shape
    return r if m <= k else np.concatenate([r, np.zeros((*batch, m - k, n), r.dtype)], axis=-2)


def _with_square_factor(matrix: Array) -> tuple[Any, Any]:
    """Return factors of which the orthogonal one is square."""
    m, n = matrix.shape[-2:]
    if m <= n:
        return _factors(matrix)
    dtype = matrix.dtype
    if n == 0:
        return identities(m, matrix), matrix.copy()
    parts = {"q": ((m, n), dtype), "r": ((n, n), dtype), "e": ((m, m - n), dtype)}
    q, r, e = of_each("qr_full", {"a": matrix}, parts, _full_qr_vjp)
    return np.concatenate([q, e], axis=-1), _rows_below(r, m)


@rule(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode == "raw":
        raise ParseError("numpy.linalg.qr: mode='raw' is not recorded: use 'reduced', 'complete' or 'r'")
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    (matrix,) = inexact(a)
    if matrix.ndim < 2:
        raise np.linalg.LinAlgError(f"{matrix.ndim}-dimensional array given. Array must be at least two-dimensional")
    q, r = _with_square_factor(matrix) if mode == "complete" else _factors(matrix)
    return r if mode == "r" else named(np.linalg.qr, q, r)


# -- SciPy's
def _pivots(matrix: Array) -> Any:
    """Return the order of columns that makes the diagonal of the triangular factor descend."""
    parts = {"i": ((matrix.tensor.shape[-1],), np.int32)}
    (found,) = of_each("pivots", {"a": detached(matrix)}, parts, None)
    return found


@rule(scipy.linalg.qr)
def scipy_qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    if mode == "raw":
        raise ParseError("scipy.linalg.qr: mode='raw' is not recorded: use 'full', 'economic' or 'r'")
    if mode not in ("full", "qr", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    matrix: Any = inexact(a)[0]
    if matrix.ndim < 2:
        raise ValueError("expected a 2-D array")
    order: tuple[Any, ...] = ()
    if pivoting:
        order = (_pivots(matrix),)
        matrix = np.take_along_axis(matrix, order[0][..., None, :], axis=-1)
    if mode == "r":
        return (_rows_below(_factors(matrix)[1], matrix.shape[-2]), *order)
    return (*(_factors if mode == "economic" else _with_square_factor)(matrix), *order)


@rule(scipy.linalg.qr_multiply)
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument can only be 'left' or 'right' but not '{mode}'")
    if overwrite_c:
        raise ParseError("scipy.linalg.qr_multiply: overwrite_c=True is not recorded: leave it out")
    q, *rest = scipy_qr(a, mode="economic", pivoting=pivoting)
    factor = np.conj(q) if conjugate else q
    other: Any = array(c)
    fits = other.shape[0] == q.shape[1] if mode == "left" else other.shape[-1] == q.shape[0]
    if q.ndim != 2 or other.ndim not in (1, 2) or not fits:
        raise ValueError(f"Array shapes are not compatible for a product: {q.shape} and {other.shape}")
    return (factor @ other if mode == "left" else other @ factor, *rest)


@rule(scipy.linalg.subspace_angles)
def subspace_angles(A: Any, B: Any) -> Any:  # noqa: N803 (SciPy's names)
    """Record angles by sines where they are small, by cosines where they are large (Knyazev and Argentati 2002)."""
    given = inexact(A), inexact(B)
    for (matrix,) in given:
        if matrix.ndim != 2:
            raise ValueError(f"expected 2D array, got shape {matrix.shape}")
    if given[0][0].shape[0] != given[1][0].shape[0]:
        raise ValueError("A and B must have the same number of rows")
    one, other = (of_full_rank("subspace_angles", _factors(m)[0], svdvals(m), m, None) for (m,) in given)
    if one.shape[1] < other.shape[1]:
        one, other = other, one
    across = adjoint(one) @ other
    cosines, sines = svdvals(across), svdvals(other - one @ across)
    by_sines, by_cosines = np.arcsin(np.minimum(sines, 1.0)), np.arccos(np.minimum(cosines[::-1], 1.0))
    return np.where(cosines**2 >= 0.5, by_sines, by_cosines)


@rule(scipy.linalg.rq)
def rq(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", check_finite: bool = True) -> Any:
    """Record the factors of the matrix that is mirrored in both directions and turned."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    (matrix,) = inexact(a)
    if matrix.ndim < 2:
        raise ValueError("expected matrix")
    turned = adjoint(matrix[..., ::-1, ::-1])
    q, r = (_factors if mode == "economic" else _with_square_factor)(turned)
    right, left = adjoint(q)[..., ::-1, ::-1], adjoint(r)[..., ::-1, ::-1]
    return left if mode == "r" else (left, right)
