"""Decompose Hermitian matrices by eigenvalues.

It is a call of LAPACK with a rule in NumPy's terms, so that derivatives of every order follow (Giles 2008).

Where eigenvalues or singular values are equal, their vectors are not unique. What depends on the values alone has its
derivative there; what depends on such vectors has NaN, not a number that is plausible and wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.linalg import adjoint, cholesky, require, solve_triangular, square
from sdgrad.record.functions.matrix_calls import (
    Some,
    conjugate_transpose,
    copied_below,
    of_each,
    of_lower,
    over_differences,
    real_type,
    with_diagonal,
)
from sdgrad.record.functions.table import rule
from sdgrad.record.values import Array


# -- rules: parameters are results, and their cotangents
def _eigh_vjp(w: Any, v: Any, grad_w: Any, grad_v: Any) -> Any:
    inner = conjugate_transpose(v) @ grad_v
    middle = with_diagonal(0.5 * over_differences(w, inner), grad_w)
    return of_lower(v @ middle @ conjugate_transpose(v))


def _eigenvalues_vjp(v: Any, grad_w: Any) -> Any:
    return of_lower((v * grad_w) @ conjugate_transpose(v))


OF_VALUES: Some = {frozenset({"w"}): _eigenvalues_vjp}
"""The rule where the program reads the values alone, which needs no differences of them."""


# -- calls
def named(function: Callable, *values: Array) -> Any:
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
    w, v = of_each("eigh", {"a": matrix}, parts, _eigh_vjp, OF_VALUES)
    require(w, "Eigenvalues did not converge", lambda: np.isfinite(w).all())
    return named(np.linalg.eigh, w, v)


@rule(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    return eigh(a, UPLO)[0]


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
