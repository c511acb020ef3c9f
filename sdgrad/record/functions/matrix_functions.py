"""Functions of matrices: exponentials, logarithms, roots.

The derivative in a direction is a block of the function of a matrix of twice the size (Mathias 1996). The adjoint is
the derivative at the conjugate transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.linalg import in_double_precision, require, solve, square
from sdgrad.record.functions.matrices import matrix_power
from sdgrad.record.functions.matrix_calls import as_rule, conjugate_transpose, of_each
from sdgrad.record.functions.table import array, known, rule
from sdgrad.record.values import Array, is_recorded


def _of_square(kind: str, a: Any, vjp: Callable) -> Any:
    matrix = square(a)
    matrix.recorder.hints.need_sizes(matrix.tensor.shape)  # for the rule
    (found,) = of_each(kind, {"a": matrix}, {"x": (matrix.tensor.shape[-2:], matrix.dtype)}, vjp)
    return found


def _block(a: Any, direction: Any) -> tuple[Any, Any]:
    """Return ``[[a, s e], [0, a]]`` for a direction e, and s, which makes both blocks about as large."""
    of_matrix, of_direction = (detached(np.max(np.abs(x), axis=(-2, -1), keepdims=True)) for x in (a, direction))
    usual = (of_matrix > 0.0) & (of_direction > 0.0)
    scale = np.where(usual, of_matrix / np.where(usual, of_direction, 1.0), 1.0)
    above = np.concatenate([a, scale * direction], axis=-1)
    return np.concatenate([above, np.concatenate([np.zeros_like(a), a], axis=-1)], axis=-2), scale


def _derivative(function: Callable, a: Any, direction: Any) -> Any:
    """Return the derivative of a function of a matrix in a direction."""
    block, scale = _block(a, direction)
    n = a.shape[-1]
    return function(block)[..., :n, n:] / scale


# -- the exponential
def _kept_size(n: Any, dtype: Any) -> Any:
    """Return how many numbers ``sdgrad_expm.h`` keeps for the adjoint: seven matrices, and more."""
    return 7 * n * n * (2 if dtype == np.complex128 else 1) + n + 3


def _exponential(a: Any) -> tuple[Any, Any]:
    """Return the exponential, and what its adjoint needs."""
    matrix = square(a)
    matrix.recorder.hints.need_sizes(matrix.tensor.shape)  # for rules of rules
    n = matrix.tensor.shape[-1]
    parts = {"x": ((n, n), matrix.dtype), "k": ((1, _kept_size(n, matrix.dtype)), np.int64)}
    found, kept = of_each("expm_kept", {"a": matrix}, parts, _expm_vjp)
    return found, kept


@as_rule
def _expm_adjoint(a: Any, k: Any, grad: Any) -> Any:
    """Return the derivative at the conjugate transpose, in a direction."""
    operands = {"a": a, "k": k, "g": grad}
    (found,) = of_each("expm_adjoint", operands, {"x": (a.tensor.shape, a.dtype)}, _expm_adjoint_vjp)
    return found


def _expm_vjp(a: Any, k: Any, grad_x: Any) -> Any:
    return _expm_adjoint(a, k, grad_x)


@as_rule
def _expm_adjoint_adjoint(a: Any, g: Any, grad: Any) -> tuple[Any, Any]:
    """Return the adjoint of :func:`_expm_adjoint`, a block of an exponential, by matrix and direction."""
    n = a.shape[-1]
    block, scale = _block(conjugate_transpose(a), g)
    zero = np.zeros_like(grad)
    above = np.concatenate([zero, grad / scale], axis=-1)
    of_block = _expm_adjoint(block, _exponential(block)[1], np.concatenate([above, np.zeros_like(above)]))
    return conjugate_transpose(of_block[:n, :n] + of_block[n:, n:]), scale * of_block[:n, n:]


def _expm_adjoint_vjp(a: Any, k: Any, g: Any, grad_x: Any) -> Any:
    grad_a, grad_g = _expm_adjoint_adjoint(a, g, grad_x)
    return grad_a, grad_g


@rule(scipy.linalg.expm)
def expm(A: Any) -> Any:  # noqa: N803 (SciPy's name)
    return _exponential(A)[0]


@rule(scipy.linalg.expm_frechet)
def expm_frechet(A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True) -> Any:  # noqa: N803
    matrix, direction = in_double_precision(square(A), square(E))
    if matrix.shape != direction.shape:
        raise ValueError("expected A and E to be the same shape")
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    block, scale = _block(matrix, direction)
    whole, n = expm(block), matrix.shape[-1]
    slope = whole[..., :n, n:] / scale
    return (whole[..., :n, :n], slope) if compute_expm else slope


# -- forms of matrices that are values alone
NO_SCHUR = (
    "scipy.linalg.schur has no derivative here, as its vectors are one choice of many: use np.linalg.eigvals for "
    "eigenvalues, np.linalg.eigh for symmetric matrices, or expm, logm and sqrtm"
)
NO_FORM = (
    "scipy.linalg.hessenberg has no derivative here, as its form is one choice of many: use np.linalg.eigvals for "
    "eigenvalues, or np.linalg.qr"
)


@rule(scipy.linalg.schur)
def schur(
    a: Any, output: str = "real", lwork: Any = None, overwrite_a: bool = False, sort: Any = None,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    if sort is not None:
        raise ParseError("scipy.linalg.schur: sort= is not recorded: leave it out")
    matrix = square(a)
    if output in ("complex", "c") and matrix.dtype.kind != "c":
        matrix = square(matrix.astype(np.result_type(matrix.dtype, np.complex64)))
    shape = matrix.tensor.shape[-2:]
    form, vectors = of_each("schur", {"a": matrix}, dict.fromkeys("tz", (shape, matrix.dtype)), None, told=NO_SCHUR)
    return form, vectors


@rule(scipy.linalg.hessenberg)
def hessenberg(a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    given = array(a)
    if given.ndim < 2 or given.shape[-1] != given.shape[-2]:
        raise ValueError("expected square matrix")
    n, matrix = given.shape[-1], square(given)
    if n <= 2:  # SciPy returns what it is given
        found, unit = (given, known(np.eye(n))) if n else (matrix, matrix)
        return (found.copy(), np.broadcast_to(unit, given.shape).copy()) if calc_q else found.copy()
    shape = matrix.tensor.shape[-2:]
    form, vectors = of_each("hessenberg", {"a": matrix}, dict.fromkeys("hq", (shape, matrix.dtype)), None, told=NO_FORM)
    return (form, vectors) if calc_q else form


# -- functions of the exponential
@rule(scipy.linalg.cosm)
def cosm(A: Any) -> Any:  # noqa: N803
    matrix: Any = square(A)
    if matrix.dtype.kind == "c":
        return 0.5 * (expm(1j * matrix) + expm(-1j * matrix))
    return np.real(expm(1j * matrix))


@rule(scipy.linalg.sinm)
def sinm(A: Any) -> Any:  # noqa: N803
    matrix: Any = square(A)
    if matrix.dtype.kind == "c":
        return -0.5j * (expm(1j * matrix) - expm(-1j * matrix))
    return np.imag(expm(1j * matrix))


@rule(scipy.linalg.tanm)
def tanm(A: Any) -> Any:  # noqa: N803
    return solve(cosm(A), sinm(A))


@rule(scipy.linalg.coshm)
def coshm(A: Any) -> Any:  # noqa: N803
    matrix: Any = square(A)
    return 0.5 * (expm(matrix) + expm(-matrix))


@rule(scipy.linalg.sinhm)
def sinhm(A: Any) -> Any:  # noqa: N803
    matrix: Any = square(A)
    return 0.5 * (expm(matrix) - expm(-matrix))


@rule(scipy.linalg.tanhm)
def tanhm(A: Any) -> Any:  # noqa: N803
    return solve(coshm(A), sinhm(A))


# -- roots and logarithms. The result has the type of the matrix.
def _is_there(found: Array, matrix: Any, name: str) -> None:
    """Record that a real matrix has a real result."""
    if found.dtype.kind == "f":
        text = f"scipy.linalg.{name}: the result is complex or does not exist: pass a complex matrix"
        require(found, text, lambda: np.isfinite(found).all() | ~np.isfinite(matrix).all())


def _without_estimate(disp: Any, name: str) -> None:
    if disp is False:
        raise ParseError(f"scipy.linalg.{name}: disp=False, which returns an estimate of the error, is not recorded")


def _sqrtm_vjp(x: Any, grad_x: Any) -> Any:
    """From ``dA = X dX + dX X``."""
    h = conjugate_transpose(x)
    return scipy.linalg.solve_sylvester(h, h, grad_x)


@rule(scipy.linalg.sqrtm)
def sqrtm(A: Any, disp: Any = None, blocksize: Any = None) -> Any:  # noqa: N803
    _without_estimate(disp, "sqrtm")
    matrix = square(A)
    found = _of_square("sqrtm", matrix, _sqrtm_vjp)
    _is_there(found, matrix, "sqrtm")
    return found


@as_rule
def _logm_adjoint(a: Any, grad: Any) -> Any:
    return _derivative(logm, conjugate_transpose(a), grad)


def _logm_vjp(a: Any, grad_x: Any) -> Any:
    return _logm_adjoint(a, grad_x)


@rule(scipy.linalg.logm)
def logm(A: Any, disp: Any = None) -> Any:  # noqa: N803
    _without_estimate(disp, "logm")
    (matrix,) = in_double_precision(square(A))
    found = _of_square("logm", matrix, _logm_vjp)
    _is_there(found, matrix, "logm")
    return found


@rule(scipy.linalg.fractional_matrix_power)
def fractional_matrix_power(A: Any, t: Any) -> Any:  # noqa: N803
    matrix = square(A)
    if is_recorded(t):
        return expm(t * logm(matrix))
    whole = int(np.floor(t))
    if whole == t:
        return matrix_power(matrix, whole)
    (matrix,) = in_double_precision(matrix)
    rest = expm((t - whole) * logm(matrix))
    return matrix_power(matrix, whole) @ rest if whole else rest
