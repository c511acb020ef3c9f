"""Sylvester, Lyapunov and Riccati equations: derivatives are solutions of such equations as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.functions.linalg import adjoint, in_double_precision, inexact, inv, require, solve, square
from sdgrad.record.functions.matrix_calls import conjugate_transpose, of_each, plus_one
from sdgrad.record.functions.table import rule

LARGEST_DIRECT = 10  # rows of discrete equations from which on SciPy solves a continuous one instead


def _sylvester_vjp(a: Any, b: Any, x: Any, grad_x: Any) -> Any:
    right = scipy.linalg.solve_sylvester(conjugate_transpose(a), conjugate_transpose(b), grad_x)
    h = conjugate_transpose(x)
    return -(right @ h), -(h @ right), right


@rule(scipy.linalg.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    first, second, right = inexact(square(a), square(b), q)
    if right.shape[-2:] != (first.shape[-1], second.shape[-1]):
        raise ValueError(f"solve_sylvester: matrices of {first.shape[-1]} and {second.shape[-1]} rows, q {right.shape}")
    operands = {"a": first, "b": second, "q": right}
    (found,) = of_each("sylvester", operands, {"x": (right.tensor.shape[-2:], right.dtype)}, _sylvester_vjp)
    return found


@rule(scipy.linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    matrix = square(a)
    if matrix.shape[-2:] != tuple(np.shape(q)[-2:]):
        raise ValueError("Matrix a and q should have the same shape.")
    return solve_sylvester(matrix, adjoint(matrix), q)


@rule(scipy.linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    matrix, right = in_double_precision(square(a), square(q))
    if matrix.shape[-2:] != right.shape[-2:]:
        raise ValueError("Matrix a and q should have the same shape.")
    n = matrix.shape[-1]
    method = method or ("direct" if n < LARGEST_DIRECT else "bilinear")
    if method.lower() == "bilinear":  # the continuous equation of a Cayley transform
        h = adjoint(matrix)
        turned = inv(plus_one(h))
        moved = -2.0 * (inv(plus_one(matrix)) @ right @ turned)
        return solve_continuous_lyapunov(-adjoint(plus_one(-h) @ turned), moved)
    if method.lower() != "direct":
        raise ValueError(f"Unknown solver {method}")
    pairs = matrix[..., :, None, :, None] * np.conj(matrix)[..., None, :, None, :]
    pairs = np.reshape(pairs, (*matrix.shape[:-2], n * n, n * n))
    flat = np.reshape(right, (*right.shape[:-2], n * n, 1))
    return np.reshape(solve(plus_one(-pairs), flat), (*pairs.shape[:-2], n, n))


# -- Riccati equations
def _care_vjp(a: Any, g: Any, x: Any, grad_x: Any) -> Any:
    """From ``C^H dX + dX C = -(dA^H X + X dA - X dG X + dQ)`` with the closed loop ``C = A - G X``."""
    h = conjugate_transpose(x)
    of_q = -scipy.linalg.solve_continuous_lyapunov(a - g @ x, grad_x)
    return h @ of_q + x @ conjugate_transpose(of_q), -(h @ of_q @ h), of_q


def _dare_vjp(a: Any, g: Any, x: Any, grad_x: Any) -> Any:
    """From ``dX - C^H dX C = dA^H X C + C^H X dA - C^H X dG X C + dQ`` with ``C = (1 + G X)^-1 A``."""
    closed = np.linalg.solve(plus_one(g @ x), a)
    of_q = scipy.linalg.solve_discrete_lyapunov(closed, grad_x)
    half = x @ closed
    return half @ (of_q + conjugate_transpose(of_q)), -(half @ of_q @ conjugate_transpose(half)), of_q


def _riccati(kind: str, vjp: Callable, a: Any, b: Any, q: Any, r: Any, s: Any) -> Any:
    """Return the stabilizing solution; a term of both state and control is taken away first."""
    matrix, control, of_state, of_control = in_double_precision(square(a), b, square(q), square(r))
    for name, x in (("q", of_state), ("r", of_control)):
        _is_hermitian(x, name)
    turned = solve(of_control, adjoint(control))
    if s is not None:
        across = solve(of_control, adjoint(inexact(s, matrix)[0]))
        matrix, of_state = matrix - control @ across, of_state - adjoint(across) @ of_control @ across
    operands = {"a": matrix, "g": control @ turned, "q": of_state}
    (found,) = of_each(kind, operands, {"x": (matrix.tensor.shape[-2:], matrix.dtype)}, vjp)
    require(found, "Failed to find a finite solution.", lambda: np.isfinite(found).all())
    return found


def _is_hermitian(x: Any, name: str) -> None:
    def holds() -> Any:
        sizes, rest = (np.max(np.sum(np.abs(m), axis=-2)) for m in (x, x - adjoint(x)))
        return rest <= 100 * np.finfo(x.dtype).eps * sizes

    require(x, f"Matrix {name} should be symmetric/hermitian.", holds, ValueError)


@rule(scipy.linalg.solve_continuous_are)
def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    _without_descriptor(e, "solve_continuous_are")
    return _riccati("care", _care_vjp, a, b, q, r, s)


@rule(scipy.linalg.solve_discrete_are)
def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    _without_descriptor(e, "solve_discrete_are")
    return _riccati("dare", _dare_vjp, a, b, q, r, s)


def _without_descriptor(e: Any, name: str) -> None:
    if e is not None:
        raise ParseError(f"scipy.linalg.{name}: e= is not recorded: multiply the equation by the inverse of e")
