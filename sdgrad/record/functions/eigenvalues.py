"""Eigenvalues of general matrices (Boeddeker, Hanebrink, Drude, Heymann and Haeb-Umbach 2017).

Results are complex: whether all are real, only a run knows. Eigenvectors have norm one and a real largest element, as
LAPACK returns them, and so their phases have a derivative as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.functions.decompositions import eigh
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.linalg import inexact, require, solve, square
from sdgrad.record.functions.matrix_calls import as_rule, complex_type, conjugate_transpose, of_each, over_values
from sdgrad.record.functions.table import rule

DIGITS = 0.01  # error of a derivative, relative, from which it is NaN


def _eig_vjp(a: Any, w: Any, v: Any, grad_w: Any, grad_v: Any) -> Any:
    """For eigenvectors of norm one whose phases stay as they are."""
    h = conjugate_transpose(v)
    inner = h @ grad_v
    lengths = np.real(np.sum(np.conj(v) * grad_v, axis=0))
    middle = over_values(w, inner - (h @ v) * lengths, grad_w)
    return _of_type(_in_basis(h, middle @ h), a)


def _eigenvalues_vjp(a: Any, v: Any, grad_w: Any) -> Any:
    h = conjugate_transpose(v)
    return _of_type(_in_basis(h, grad_w[:, None] * h), a)


@as_rule
def _in_basis(h: Any, right: Any) -> Any:
    """Solve with eigenvectors; NaN where they are no basis but for rounding: those of a defective matrix."""
    inverse = np.linalg.inv(h)
    size = np.sqrt(np.sum(np.abs(h) ** 2) * np.sum(np.abs(inverse) ** 2))
    return np.where(size * np.finfo(h.dtype).eps < DIGITS, inverse @ right, np.nan)


@as_rule
def _of_type(g: Any, a: Any) -> Any:
    return g if a.dtype.kind == "c" else np.real(g)


def _decomposed(a: Any) -> tuple[Any, Any]:
    matrix = square(a)
    if 0 in matrix.tensor.shape:  # none is complex
        return np.zeros(matrix.shape[:-1], matrix.dtype), np.zeros(matrix.shape, matrix.dtype)
    n, dtype = matrix.tensor.shape[-1], complex_type(matrix.dtype)
    parts = {"w": ((n,), dtype), "v": ((n, n), dtype)}
    w, v = of_each("eig", {"a": matrix}, parts, _eig_vjp, {frozenset({"w"}): _eigenvalues_vjp})
    text = "Array must not contain infs or NaNs"
    require(w, text, lambda: np.isfinite(matrix).all())
    require(w, "Eigenvalues did not converge", lambda: np.isfinite(w).all() | ~np.isfinite(matrix).all())
    return w, v


def _with_phases(v: Any) -> Any:
    """Return eigenvectors as they are, with the derivative of what makes their largest elements real."""
    places = np.argmax(np.abs(v), axis=-2)
    largest = np.take_along_axis(v, places[..., None, :], axis=-2)
    phases = np.abs(largest) / largest
    return v * (phases * detached(np.conj(phases)))


@rule(np.linalg.eig)
def eig(a: Any) -> Any:
    w, v = _decomposed(a)
    kind: Any = type(np.linalg.eig(np.eye(1)))
    return kind(w, v if isinstance(v, np.ndarray) else _with_phases(v))


@rule(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    return _decomposed(a)[0]


@rule(scipy.linalg.eig)
def scipy_eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    if left or homogeneous_eigvals:
        raise ParseError("scipy.linalg.eig: left=True and homogeneous_eigvals=True are not recorded")
    if b is not None:
        raise ParseError("scipy.linalg.eig: of two matrices is not recorded: use eig(numpy.linalg.solve(b, a))")
    w, v = _decomposed(a)
    return (w, _with_phases(v)) if right else w


@rule(scipy.linalg.eigvals)
def scipy_eigvals(
    a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Any:
    if homogeneous_eigvals:
        raise ParseError("scipy.linalg.eigvals: homogeneous_eigvals=True is not recorded")
    return eigvals(a if b is None else solve(square(b), square(a)))


# -- of bands
@rule(scipy.linalg.eigh_tridiagonal)
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    if select not in ("a", "all", 0):
        raise ParseError("scipy.linalg.eigh_tridiagonal: select= is not recorded: take a part of the results")
    main, beside = inexact(d, e)
    if main.dtype.kind == "c":
        raise TypeError("Only real arrays currently supported")
    if main.ndim != 1 or beside.shape != (main.shape[0] - 1,):
        raise ValueError(f"d (shape {main.shape}) must have one more element than e (shape {beside.shape})")
    w, v = eigh(np.diag(main) + np.diag(beside, -1))
    return w if eigvals_only else (w, v)


@rule(scipy.linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(
    d: Any,
    e: Any,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    return eigh_tridiagonal(d, e, eigvals_only=True, select=select)


@rule(scipy.linalg.eig_banded)
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    if select not in ("a", "all", 0):
        raise ParseError("scipy.linalg.eig_banded: select= is not recorded: take a part of the results")
    (bands,) = inexact(a_band)
    if bands.ndim != 2:
        raise ValueError("expected a 2-D array")
    count, n = bands.shape
    matrix: Any = np.zeros((n, n), bands.dtype)
    for d in range(min(count, n)):  # by distance from the diagonal
        below = bands[d, : n - d] if lower else np.conj(bands[count - 1 - d, d:])
        matrix = matrix + np.diag(below, -d)
    w, v = eigh(matrix)
    return w if eigvals_only else (w, v)


@rule(scipy.linalg.eigvals_banded)
def eigvals_banded(
    a_band: Any,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
) -> Any:
    return eig_banded(a_band, lower, eigvals_only=True, select=select)
