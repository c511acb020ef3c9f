"""Sylvester, Lyapunov and Riccati equations: derivatives are solutions of such equations as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.record.functions.linalg import adjoint, inexact, inv, solve, square
from sdgrad.record.functions.matrix_calls import conjugate_transpose, of_each
from sdgrad.record.functions.table import known, rule

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
    matrix, right = inexact(square(a), square(q))
    if matrix.shape[-2:] != right.shape[-2:]:
        raise ValueError("Matrix a and q should have the same shape.")
    n = matrix.shape[-1]
    method = method or ("direct" if n < LARGEST_DIRECT else "bilinear")
    if method.lower() == "bilinear":  # the continuous equation of a Cayley transform
        one = known(np.eye(n))
        h = adjoint(matrix)
        turned = inv(h + one)
        return solve_continuous_lyapunov(adjoint((h - one) @ turned), -2.0 * (inv(matrix + one) @ right @ turned))
    if method.lower() != "direct":
        raise ValueError(f"Unknown solver {method}")
    pairs = matrix[..., :, None, :, None] * np.conj(matrix)[..., None, :, None, :]
    pairs = np.reshape(pairs, (*matrix.shape[:-2], n * n, n * n))
    flat = np.reshape(right, (*right.shape[:-2], n * n, 1))
    return np.reshape(solve(known(np.eye(n * n)) - pairs, flat), (*pairs.shape[:-2], n, n))
