"""Decompose matrices: eigenvalues, singular values, orthogonal factors, and what is made of them.

Each is a call of LAPACK with a rule in NumPy's terms, so that derivatives of every order follow. Sources: Giles 2008
(eigenvalues), Townsend 2016 (singular values), Walter and Lehmann 2012 (QR).

Where eigenvalues or singular values are equal, their vectors are not unique. What depends on the values alone has its
derivative there; what depends on such vectors has NaN, not a number that is plausible and wrong.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.linalg import adjoint, cholesky, inexact, require, solve_triangular, square
from sdgrad.record.functions.matrix_calls import (
    Some,
    as_rule,
    conjugate_transpose,
    copied_below,
    of_each,
    of_lower,
    over_adjoint,
    over_differences,
    real_type,
    with_diagonal,
)
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import fixed, rule
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array


# -- rules: parameters are results, and their cotangents
def _eigh_vjp(w: Any, v: Any, grad_w: Any, grad_v: Any) -> Any:
    inner = conjugate_transpose(v) @ grad_v
    middle = with_diagonal(0.5 * over_differences(w, inner), grad_w)
    return of_lower(v @ middle @ conjugate_transpose(v))


def _eigenvalues_vjp(v: Any, grad_w: Any) -> Any:
    return of_lower((v * grad_w) @ conjugate_transpose(v))


def _svd_vjp(u: Any, s: Any, v: Any, grad_u: Any, grad_s: Any, grad_v: Any) -> Any:
    left, right = conjugate_transpose(u) @ grad_u, v @ conjugate_transpose(grad_v)
    squares = s * s
    across = over_differences(squares, left) * s[None, :]
    along = s[:, None] * over_differences(squares, right)
    found = u @ with_diagonal(across + along, grad_s + _of_phases(left, right, s)) @ v
    if u.shape[0] > s.shape[0]:
        found = found + ((grad_u - u @ left) / s[None, :]) @ v
    if v.shape[1] > s.shape[0]:
        found = found + u @ ((grad_v - conjugate_transpose(right) @ v) / s[:, None])
    return found


@as_rule
def _of_phases(left: Any, right: Any, s: Any) -> Any:
    """Return what the phases of singular vectors add to the gradient (Wan and Zhang 2019): of left ones minus right."""
    if left.dtype.kind != "c":
        return np.zeros_like(s)
    return 1j * np.imag(np.diagonal(left) - np.diagonal(right)) / (2.0 * s)


def _singular_values_vjp(u: Any, v: Any, grad_s: Any) -> Any:
    return (u * grad_s) @ v


def _qr_vjp(q: Any, r: Any, grad_q: Any, grad_r: Any) -> Any:
    """For at least as many rows as columns."""
    inner = r @ conjugate_transpose(grad_r) - conjugate_transpose(grad_q) @ q
    return over_adjoint(grad_q + q @ copied_below(inner), r)


@as_rule
def pinv_vjp(a: Any, p: Any, grad_p: Any) -> Any:
    """Of matrices whose rank does not change (Golub and Pereyra 1973)."""
    g, h = conjugate_transpose(grad_p), conjugate_transpose(p)
    beside = (g - a @ (p @ g)) @ (p @ h) + (h @ p) @ (g - (g @ p) @ a)
    return beside - h @ grad_p @ h


OF_SOME: dict[str, Some] = {
    "eigh": {frozenset({"w"}): _eigenvalues_vjp},
    "svd": {frozenset({"s"}): _singular_values_vjp},
}
"""Rules where the program reads the values alone, which need no differences of them."""


# -- calls
def _named(function: Callable, *values: Array) -> Any:
    """Return results in the named tuple that NumPy's function returns."""
    kind: Any = type(function(np.eye(1)))
    return values if kind is tuple else kind(*values)


@rule(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    matrix = square(a)
    if UPLO.upper() == "U":
        matrix = adjoint(matrix)
    n, dtype = matrix.tensor.shape[-1], matrix.dtype
    parts = {"w": ((n,), real_type(dtype)), "v": ((n, n), dtype)}
    w, v = of_each("eigh", {"a": matrix}, parts, _eigh_vjp, OF_SOME["eigh"])
    require(w, "Eigenvalues did not converge", lambda: np.isfinite(w).all())
    return _named(np.linalg.eigh, w, v)


@rule(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    return eigh(a, UPLO)[0]


DIVERGED = "SVD did not converge"


def _thin(a: Any, vectors: bool = False) -> tuple[Any, Any, Any]:
    """Return the thin decomposition.

    :param vectors: what is infinite is refused, as by NumPy where it computes vectors.
    """
    (matrix,) = inexact(a)
    if matrix.ndim < 2:
        raise np.linalg.LinAlgError(f"{matrix.ndim}-dimensional array given. Array must be at least two-dimensional")
    u, s, v = unchecked_svd(matrix)
    is_there = np.isfinite if vectors else lambda x: ~np.isnan(x)
    require(s, DIVERGED, lambda: is_there(s).all() | is_there(matrix).all())
    return u, s, v


def unchecked_svd(matrix: Array) -> list[Array]:
    """Return the thin decomposition; of what cannot be decomposed it has no numbers."""
    m, n = matrix.tensor.shape[-2:]
    k, dtype = min(m, n), matrix.dtype
    parts = {"u": ((m, k), dtype), "s": ((k,), real_type(dtype)), "v": ((k, n), dtype)}
    return of_each("svd", {"a": matrix}, parts, _svd_vjp, OF_SOME["svd"])


@rule(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    (matrix,) = inexact(a)
    if hermitian:
        raise ParseError("numpy.linalg.svd: hermitian=True is not recorded: use numpy.linalg.eigh")
    if not compute_uv:
        return _thin(matrix)[1]
    if full_matrices and matrix.shape[-2] != matrix.shape[-1]:
        raise ParseError(
            "numpy.linalg.svd: vectors beside those of singular values have no derivative: pass full_matrices=False"
        )
    return _named(np.linalg.svd, *_thin(matrix, vectors=True))


@rule(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return _thin(x)[1]


@rule(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    matrix: Any = inexact(a)[0]
    m, n = matrix.tensor.shape[-2:]
    if mode not in ("reduced", "r") and not (mode == "complete" and m <= n):
        raise ParseError(f"numpy.linalg.qr: mode='{mode}' has no derivative: use 'reduced', or 'r'")
    dtype, square_ = matrix.dtype, min(m, n)
    left = matrix if m >= n else matrix[..., :m]
    q: Any
    r: Any
    q, r = of_each("qr", {"a": left}, {"q": ((m, square_), dtype), "r": ((square_, square_), dtype)}, _qr_vjp)
    if m < n:
        r = np.concatenate([r, adjoint(q) @ matrix[..., m:]], axis=-1)
    return r if mode == "r" else _named(np.linalg.qr, q, r)


DEFAULT = inspect.signature(np.linalg.pinv).parameters["rtol"].default


@rule(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = DEFAULT) -> Any:
    (matrix,) = inexact(a)
    if hermitian:
        raise ParseError("numpy.linalg.pinv: hermitian=True is not recorded: leave it out, or use scipy.linalg.pinvh")
    if rcond is None:
        rcond = 1e-15 if rtol is DEFAULT else _relative(rtol, matrix)
    least = static_number(rcond)
    return pseudo_inverse(matrix, lambda largest: least * largest)


def _relative(rtol: Any, matrix: Array) -> float:
    """Return a tolerance in units of the largest singular value; None is that of rounding."""
    return max(matrix.shape[-2:]) * np.finfo(matrix.dtype).eps if rtol is None else static_number(rtol)


def static_number(value: Any) -> float:
    """Return a tolerance as Python's number."""
    found = fixed(value)
    if found is None or np.ndim(found):
        raise ParseError("a tolerance of singular values is one number that is known before the program runs")
    return float(found)


def pseudo_inverse(matrix: Array, least: Callable[[Any], Any]) -> Array:
    """Return the pseudo-inverse.

    :param least: gives the singular value from which on they are zero, for the largest one.
    """
    recorder: Any = matrix.recorder
    m, n = matrix.tensor.shape[-2:]

    def make(given: Mapping[str, Tensor], made: Mapping[str, Tensor]) -> None:
        u, s, v = _thin(recorder.array(given["a"]))
        kept = s > least(np.max(s, initial=0.0))
        inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        recorder.copy(tensor_of(adjoint(v) @ (inverse[:, None] * adjoint(u))), made["p"])

    (found,) = of_each("pinv", {"a": matrix}, {"p": ((n, m), matrix.dtype)}, pinv_vjp, make=make)
    return found


@rule(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:  # noqa: N803
    (matrix,) = inexact(A)
    if matrix.ndim < 2:
        return (np.abs(matrix) > 0.0).any() * 1
    s = _thin(matrix)[1]
    relative = max(matrix.shape[-2:]) * np.finfo(matrix.dtype).eps if rtol is None else rtol
    limit = np.max(s, axis=-1, keepdims=True) * relative if tol is None else tol
    return np.sum(s > limit, axis=-1)


@rule(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    (matrix,) = inexact(x)
    if p not in (None, 2, -2):
        return np.linalg.norm(matrix, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(matrix), p, axis=(-2, -1))
    s = _thin(matrix)[1]
    found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    of_numbers = ~np.isnan(matrix).any(axis=(-2, -1))
    return np.where(np.isnan(found) & of_numbers, np.inf, found)


# -- SciPy's
@rule(scipy.linalg.eigh)
def scipy_eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    type: int = 1,  # noqa: A002 (SciPy's name)
    subset_by_index: Any = None,
    driver: Any = None,
) -> Any:
    if b is not None and type != 1:
        raise ParseError("scipy.linalg.eigh: type= is not recorded: write a @ b or b @ a, or change the variables")
    w, v = _of_pair(a, b, lower)
    if subset_by_index is not None:
        chosen = _subset(subset_by_index, np.shape(w)[0])
        w, v = w[chosen], v[:, chosen]
    return w if eigvals_only else (w, v)


def _subset(ends: Any, n: int) -> slice:
    """Return the places of the first and the last eigenvalue that are asked for."""
    first, last = map(static, ends)
    if not 0 <= first <= last < n:
        raise ValueError(f"Requested eigenvalue indices are not valid. Valid range is [0, {n - 1}] and start <= end")
    return slice(first, last + 1)


def _of_pair(a: Any, b: Any, lower: bool) -> tuple[Any, Any]:
    """Return eigenvalues and eigenvectors of a matrix, or of one relative to another."""
    if b is None:
        return eigh(a, "L" if lower else "U")
    matrix = square(a)
    whole = copied_below(matrix if lower else adjoint(matrix))
    factor = cholesky(b if lower else adjoint(square(b)))
    half = solve_triangular(factor, whole, lower=True)
    w, y = eigh(adjoint(solve_triangular(factor, adjoint(half), lower=True)))
    return w, solve_triangular(factor, y, trans=2, lower=True)


@rule(scipy.linalg.eigvalsh)
def scipy_eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    type: int = 1,  # noqa: A002 (SciPy's name)
    subset_by_index: Any = None,
    driver: Any = None,
) -> Any:
    return scipy_eigh(a, b, lower=lower, eigvals_only=True, type=type, subset_by_index=subset_by_index)


@rule(scipy.linalg.svd)
def scipy_svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    found = svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


@rule(scipy.linalg.svdvals)
def scipy_svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return _thin(a)[1]


@rule(scipy.linalg.qr)
def scipy_qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    if pivoting:
        raise ParseError("scipy.linalg.qr: pivoting=True is not recorded")
    if mode == "r" and inexact(a)[0].shape[-2] > inexact(a)[0].shape[-1]:
        raise ParseError("scipy.linalg.qr: mode='r' returns rows of zeros: use mode='economic'")
    found = qr(a, {"full": "complete", "economic": "reduced"}.get(mode, mode))
    return (found,) if mode == "r" else tuple(found)


@rule(scipy.linalg.pinv)
def scipy_pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    (matrix,) = inexact(a)
    return _inverse_and_rank(matrix, atol, rtol, return_rank)


def _inverse_and_rank(matrix: Array, atol: Any, rtol: Any, return_rank: bool) -> Any:
    """Return the pseudo-inverse, and the rank if asked for, by SciPy's tolerances."""
    relative, absolute = _relative(rtol, matrix), 0.0 if atol is None else static_number(atol)
    if relative < 0 or absolute < 0:
        raise ValueError("atol and rtol values must be positive.")
    found = pseudo_inverse(matrix, lambda largest: absolute + relative * largest)
    if not return_rank:
        return found
    s = _thin(matrix)[1]
    return found, np.sum(s > absolute + relative * np.max(s, axis=-1, keepdims=True), axis=-1)


@rule(scipy.linalg.pinvh)
def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    matrix = square(a)
    whole = copied_below(matrix if lower else adjoint(matrix))
    return _inverse_and_rank(whole, atol, rtol, return_rank)
