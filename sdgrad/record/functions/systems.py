"""Linear systems of SciPy's: of matrices of a kind, of bands, and in the sense of least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.least_squares import least_squares
from sdgrad.record.functions.linalg import adjoint, cholesky, inexact, require, solve, solve_triangular
from sdgrad.record.functions.matrix_calls import as_rule, copied_below, of_each, symmetric_below
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.products import conjugate
from sdgrad.record.functions.shapes import diagonal, matrix_transpose
from sdgrad.record.functions.singular_values import static_number
from sdgrad.record.functions.table import array, rule
from sdgrad.record.values import Array

KINDS = {"gen": "general", "sym": "symmetric", "her": "hermitian", "pos": "positive definite", None: "general"}
"""Other names of kinds of matrices. What SciPy finds out itself (None) does not change the solution."""
READS_ALL = ("general", "banded")
SINGULAR = "A singular matrix detected"


@rule(scipy.linalg.solve)
def scipy_solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Any:
    matrix, right = inexact(a, b)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"Expected square matrix, got a1.shape={matrix.shape}")
    if transposed and matrix.dtype.kind == "c":
        raise NotImplementedError("scipy.linalg.solve can currently not solve a^T x = b for complex matrices.")
    if right.ndim == 1:
        return scipy_solve(matrix, right[:, None], lower, assume_a=assume_a, transposed=transposed)[..., 0]
    if right.shape[-2] != matrix.shape[-1]:
        raise ValueError(f"incompatible shapes: a1.shape={matrix.shape} and b1.shape={right.shape}")
    kind = KINDS.get(assume_a, assume_a)
    if kind in READS_ALL:
        return solve(matrix_transpose(matrix) if transposed else matrix, right)
    if kind in ("upper triangular", "lower triangular"):
        _has_pivots(diagonal(matrix, axis1=-2, axis2=-1))
        return solve_triangular(matrix, right, int(transposed), kind == "lower triangular")
    return _of_part(matrix, right, kind, lower, transposed)


def _of_part(matrix: Array, right: Array, kind: str, lower: bool, transposed: bool) -> Any:
    """Return the solution for a matrix of which a part is read."""
    if kind == "diagonal":
        pivots = diagonal(matrix, axis1=-2, axis2=-1)
        _has_pivots(pivots)
        return right / pivots[..., None]
    if kind == "tridiagonal":
        near = np.tril(np.triu(matrix, -1), 1)
        return solve(matrix_transpose(near) if transposed else near, right)
    if kind == "positive definite":
        factor = cholesky(matrix if lower else adjoint(matrix))
        return solve_triangular(factor, solve_triangular(factor, right, lower=True), 2, lower=True)
    if kind == "symmetric":
        return solve(symmetric_below(matrix if lower else matrix_transpose(matrix)), right)
    if kind == "hermitian":
        return solve(copied_below(matrix if lower else adjoint(matrix)), right)
    raise ValueError(f"{kind} is not a recognized matrix structure")


def _has_pivots(pivots: Any) -> None:
    require(pivots, SINGULAR, lambda: (pivots != 0).all())


@rule(scipy.linalg.lstsq)
def scipy_lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:
    matrix, right = inexact(a, b)
    if matrix.ndim != 2 or right.ndim > 2:
        raise ParseError("scipy.linalg.lstsq of stacks of matrices is not recorded: write a loop")
    m, n = matrix.shape
    if m != right.shape[0]:
        raise ValueError(f"Shape mismatch: a and b should have the same number of rows ({m} != {right.shape[0]}).")
    if lapack_driver not in (None, "gelsd", "gelss", "gelsy"):
        raise ValueError(f'LAPACK driver "{lapack_driver}" is not found')
    least = np.finfo(matrix.dtype).eps if cond is None else static_number(cond)
    found, squares, s = least_squares(matrix, right, least)
    rank = np.sum(s > least * np.max(s))
    nothing = np.zeros(0, matrix.dtype)
    if lapack_driver == "gelsy":
        return found, nothing, rank, None
    return found, squares if m > n else nothing, rank, s


# -- bands
@as_rule
def _turned(a: Any, lower: int, upper: int) -> Any:
    """Return the diagonals of the conjugate transpose."""
    n = a.shape[1]
    wide: Any = np.pad(conjugate(a), ((0, 0), (lower, upper)))
    padded = tensor_of(wide)
    shape = (lower + upper + 1, n)
    return a.recorder.array(a.recorder.compute(shape, a.dtype, lambda k, i: padded[lower + upper - k, i + k]))


@as_rule
def _of_diagonals(y: Any, x: Any, lower: int, upper: int) -> Any:
    """Return the diagonals of ``-y x^H``."""
    n, padded, other = y.shape[0], np.pad(y, ((upper, lower), (0, 0))), conjugate(x)
    return np.stack([-np.sum(padded[k : k + n] * other, axis=1) for k in range(lower + upper + 1)])


def _banded(kind: str, lower: int, upper: int, a: Array, b: Array) -> Array:
    """Return the solution of a system of diagonals."""

    def vjp(a: Any, x: Any, grad_x: Any) -> Any:
        y = scipy.linalg.solve_banded((upper, lower), _turned(a, lower, upper), grad_x)
        return _of_diagonals(y, x, lower, upper), y

    shape = b.tensor.shape[-2:]
    (found,) = of_each(kind, {"a": a, "b": b}, {"x": (shape, b.dtype)}, vjp, numbers=(lower, upper))
    return found


@rule(scipy.linalg.solve_banded)
def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    lower, upper = map(static, l_and_u)
    bands, right = inexact(ab, b)
    if right.ndim == 1:
        return solve_banded((lower, upper), bands, right[:, None])[..., 0]
    if bands.shape[-1] != right.shape[-2]:
        raise ValueError("shapes of ab and b are not compatible.")
    if lower + upper + 1 != bands.shape[-2]:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) does not equal "
            f"ab.shape[0] ({bands.shape[-2]})"
        )
    found = _banded("banded", lower, upper, bands, right)
    require(found, "singular matrix", lambda: _is_there(found, bands, right))
    return found


def _is_there(found: Any, bands: Any, right: Any) -> Any:
    """True if a solution is of numbers, or the system is not."""
    return np.isfinite(found).all() | ~np.isfinite(bands).all() | ~np.isfinite(right).all()


@rule(scipy.linalg.solveh_banded)
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    bands, right = inexact(ab, b)
    if right.ndim == 1:
        return solveh_banded(bands, right[:, None], lower=lower)[..., 0]
    if bands.shape[-1] != right.shape[-2]:
        raise ValueError("shapes of ab and b are not compatible.")
    count, n = bands.shape[-2] - 1, bands.shape[-1]
    of_rows = [bands[..., d if lower else count - d, :] for d in range(count + 1)]  # by distance from the diagonal
    above: list[Any] = []
    below: list[Any] = []
    for d in range(1, count + 1):
        own = on_the_other_side(of_rows[d], d, n, not lower)
        above.insert(0, own if lower else of_rows[d])
        below.append(of_rows[d] if lower else own)
    whole: Any = np.stack([*above, astype(np.real(of_rows[0]), bands.dtype), *below], axis=-2)
    found = _banded("positive_banded", count, count, whole, right)
    require(found, "the matrix is not positive definite", lambda: _is_there(found, bands, right))
    return found


def on_the_other_side(band: Any, by: int, n: int, backwards: bool) -> Any:
    """Return the diagonal on the other side."""
    kept = conjugate(array(band[..., by:] if backwards else band[..., : n - by]))
    nothing = np.zeros((*band.shape[:-1], min(by, n)), band.dtype)
    return np.concatenate([kept, nothing] if backwards else [nothing, kept], axis=-1)
