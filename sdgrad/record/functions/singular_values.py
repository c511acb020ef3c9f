"""Decompose matrices by singular values: with the vectors beside theirs too, pseudo-inverses, ranks, null spaces.

Each is a call of LAPACK with a rule in NumPy's terms, so that derivatives of every order follow (Townsend 2016).

The vectors beside those of singular values (``full_matrices=True``) are any basis of a space. Their derivative is that
of the basis that does not turn within this space: ``dU2 = -U1 (dU1^H U2)``. It is exact for what does not depend on the
basis: projections on the space, residuals, distances from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.functions.decompositions import eigh, eigvalsh, named
from sdgrad.record.functions.linalg import adjoint, inexact, require, square
from sdgrad.record.functions.matrix_calls import (
    Some,
    as_rule,
    conjugate_transpose,
    copied_below,
    of_each,
    over_differences,
    real_type,
    with_diagonal,
)
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import fixed, known, rule
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array


# -- rules: parameters are results, and their cotangents
@as_rule
def _svd_vjp(u: Any, s: Any, v: Any, grad_u: Any = None, grad_s: Any = None, grad_v: Any = None) -> Any:
    left = None if grad_u is None else conjugate_transpose(u) @ grad_u
    right = None if grad_v is None else v @ conjugate_transpose(grad_v)
    middle = with_diagonal(_of_turns(left, right, s), _of_scales(left, right, s, grad_s))
    # beside the space of u (or v), whose part within it goes into the middle: one product less
    if left is not None and u.shape[0] > s.shape[0]:
        return (u @ (middle - left / s[None, :]) + grad_u / s[None, :]) @ v
    if right is not None and v.shape[1] > s.shape[0]:
        return u @ ((middle - conjugate_transpose(right) / s[:, None]) @ v + grad_v / s[:, None])
    return u @ middle @ v


@as_rule
def _of_turns(left: Any, right: Any, s: Any) -> Any:
    """Return what the vectors add to the gradient as they turn."""
    squares = s * s
    across = 0.0 if left is None else over_differences(squares, left) * s[None, :]
    along = 0.0 if right is None else s[:, None] * over_differences(squares, right)
    return across + along


@as_rule
def _of_scales(left: Any, right: Any, s: Any, grad_s: Any) -> Any:
    """Return what the values add, and the phases of vectors (Wan and Zhang 2019): of left ones minus right."""
    scales = 0.0 * s if grad_s is None else grad_s
    if (right if left is None else left).dtype.kind == "c":
        turned = [sign * np.imag(np.diagonal(x)) for sign, x in ((1.0, left), (-1.0, right)) if x is not None]
        scales = scales + 1j * sum(turned) / (2.0 * s)
    return scales


@as_rule
def _singular_values_vjp(u: Any, v: Any, grad_s: Any) -> Any:
    return (u * grad_s) @ v


@as_rule
def _beside_vjp(u: Any, s: Any, v: Any, e: Any, grad_e: Any) -> Any:
    """Of the vectors beside: columns of a tall matrix, rows of a wide one."""
    if u.shape[0] > s.shape[0]:
        return -(e @ ((conjugate_transpose(grad_e) @ u) / s[None, :])) @ v
    return -u @ (((v @ conjugate_transpose(grad_e)) / s[:, None]) @ e)


def _full_svd_vjp(u: Any, s: Any, v: Any, e: Any, grad_u: Any, grad_s: Any, grad_v: Any, grad_e: Any) -> Any:
    return _svd_vjp(u, s, v, grad_u, grad_s, grad_v) + _beside_vjp(u, s, v, e, grad_e)


def _values_and_beside_vjp(u: Any, s: Any, v: Any, e: Any, grad_s: Any, grad_e: Any) -> Any:
    return _singular_values_vjp(u, v, grad_s) + _beside_vjp(u, s, v, e, grad_e)


OF_VALUES: Some = {frozenset({"s"}): _singular_values_vjp}
OF_BESIDE: Some = {frozenset({"e"}): _beside_vjp, frozenset({"s", "e"}): _values_and_beside_vjp, **OF_VALUES}
"""Rules where the program reads no vectors of singular values, which need no differences of these."""


@as_rule
def pinv_vjp(a: Any, p: Any, grad_p: Any) -> Any:
    """Of matrices whose rank does not change (Golub and Pereyra 1973)."""
    g, h = conjugate_transpose(grad_p), conjugate_transpose(p)
    if a.shape[0] < a.shape[1]:  # products as small as they can be, each of them once
        gp, hp = g @ p, h @ p
        return (gp - (a @ p) @ gp - conjugate_transpose(gp)) @ h + hp @ (g - gp @ a)
    pg, ph = p @ g, p @ h
    return (g - a @ pg) @ ph + h @ (pg - pg @ (p @ a) - conjugate_transpose(pg))


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
    return of_each("svd", {"a": matrix}, parts, _svd_vjp, OF_VALUES)


def _full(a: Any) -> tuple[Any, Any, Any, Any]:
    """Return the thin decomposition, and the vectors beside: columns of a tall matrix, rows of a wide one."""
    (matrix,) = inexact(a)
    m, n = matrix.tensor.shape[-2:]
    k, dtype = min(m, n), matrix.dtype
    parts = {"u": ((m, k), dtype), "s": ((k,), real_type(dtype)), "v": ((k, n), dtype)}
    parts["e"] = ((m, m - k) if m > n else (n - k, n), dtype)
    u, s, v, e = of_each("svd_full", {"a": matrix}, parts, _full_svd_vjp, OF_BESIDE)
    require(s, DIVERGED, lambda: np.isfinite(s).all() | np.isfinite(matrix).all())
    return u, s, v, e


def _with_square_factors(matrix: Array) -> tuple[Any, Any, Any]:
    """Return factors of a rectangular matrix of which both outer ones are square."""
    m, n = matrix.shape[-2:]
    if 0 in (m, n):
        left, right = (
            np.broadcast_to(known(np.eye(d, dtype=matrix.dtype)), (*matrix.shape[:-2], d, d)) for d in (m, n)
        )
        return left.copy(), np.zeros((*matrix.shape[:-2], 0), real_type(matrix.dtype)), right.copy()
    u, s, v, e = _full(matrix)
    return (np.concatenate([u, e], axis=-1), s, v) if m > n else (u, s, np.concatenate([v, e], axis=-2))


def identities(n: int, matrix: Array) -> Any:
    """Return an identity for each of a stack of matrices without elements."""
    return np.broadcast_to(known(np.eye(n, dtype=matrix.dtype)), (*matrix.shape[:-2], n, n)).copy()


def _of_hermitian(a: Any, compute_uv: bool = True) -> Any:
    """Return the decomposition of Hermitian matrices, by eigenvalues."""
    if not compute_uv:
        return np.sort(np.abs(eigvalsh(a)), axis=-1)[..., ::-1]
    w: Any
    u: Any
    w, u = eigh(a)
    order = np.argsort(np.abs(w), axis=-1)[..., ::-1]
    w, u = np.take_along_axis(w, order, axis=-1), np.take_along_axis(u, order[..., None, :], axis=-1)
    sizes: Any = np.abs(w)
    return named(np.linalg.svd, u, sizes, adjoint(u * np.sign(w)[..., None, :]))


@rule(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    (matrix,) = inexact(a)
    if hermitian:
        return _of_hermitian(matrix, compute_uv)
    if not compute_uv:
        return _thin(matrix)[1]
    if full_matrices and matrix.ndim > 1 and matrix.shape[-2] != matrix.shape[-1]:
        return named(np.linalg.svd, *_with_square_factors(matrix))
    return named(np.linalg.svd, *_thin(matrix, vectors=True))


@rule(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return _thin(x)[1]


DEFAULT = inspect.signature(np.linalg.pinv).parameters["rtol"].default


@rule(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = DEFAULT) -> Any:
    (matrix,) = inexact(a)
    if hermitian:
        matrix = copied_below(square(matrix))
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
    if 0 in matrix.tensor.shape[-2:]:
        return np.zeros(matrix.shape[:-2], np.int64)[()]
    s: Any = _of_hermitian(matrix, compute_uv=False) if hermitian else _thin(matrix)[1]
    relative = max(matrix.shape[-2:]) * np.finfo(matrix.dtype).eps if rtol is None else rtol
    limit = np.max(s, axis=-1, keepdims=True) * relative if tol is None else tol
    return np.sum(s > limit, axis=-1)


@rule(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    (matrix,) = inexact(x)
    if 0 in matrix.tensor.shape[-2:]:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p not in (None, 2, -2):
        return np.linalg.norm(matrix, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(matrix), p, axis=(-2, -1))
    s = _thin(matrix)[1]
    found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    of_numbers = ~np.isnan(matrix).any(axis=(-2, -1))
    return np.where(np.isnan(found) & of_numbers, np.inf, found)


# -- SciPy's
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


def _require_full_rank(name: str, s: Array, matrix: Array, rcond: Any) -> Any:
    """Record that matrices have full rank, and return whether each has."""
    relative = _relative(rcond, matrix)
    is_full = (s > relative * np.max(s, axis=-1, keepdims=True, initial=0.0)).all(axis=-1)
    text = (
        f"scipy.linalg.{name}: the rank of a matrix is less than it could be, and would decide the size of the result: "
        "take a part of the vectors of numpy.linalg.svd"
    )
    require(s, text, lambda: is_full.all() | ~np.isfinite(matrix).all())
    return is_full


def of_full_rank(name: str, vectors: Any, s: Array, matrix: Array, rcond: Any) -> Any:
    """Return vectors of a matrix of full rank; of another one, no numbers."""
    is_full = _require_full_rank(name, s, matrix, rcond)
    return np.where(is_full[..., None, None], vectors, matrix.dtype.type(np.nan))


@rule(scipy.linalg.null_space)
def null_space(
    A: Any,  # noqa: N803 (SciPy's name)
    rcond: Any = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    (matrix,) = inexact(A)
    m, n = matrix.shape[-2:]
    if m >= n:
        found = np.zeros((*matrix.shape[:-2], n, 0), matrix.dtype)
        return of_full_rank("null_space", found, _thin(matrix, vectors=True)[1], matrix, rcond)
    if m == 0:
        return identities(n, matrix)
    _, s, _, beside = _full(matrix)
    return of_full_rank("null_space", adjoint(beside), s, matrix, rcond)


@rule(scipy.linalg.orth)
def orth(A: Any, rcond: Any = None) -> Any:  # noqa: N803 (SciPy's name)
    (matrix,) = inexact(A)
    u, s, _ = _thin(matrix, vectors=True)
    return of_full_rank("orth", u, s, matrix, rcond)
