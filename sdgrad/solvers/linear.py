"""Solve linear systems of which a program gives the product with the matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ArgumentError
from sdgrad.record.functions.table import array, known
from sdgrad.solvers.algorithms import krylov
from sdgrad.solvers.closed import Closed, Equation, check_real
from sdgrad.solvers.eager import solver
from sdgrad.solvers.implicit import RESTART, derivatives, recorded, solution

SYMMETRIC = ("cg", "minres")
METHODS = (*SYMMETRIC, "gmres", "bicgstab", "direct")


@solver
def linear_solve(
    matvec: Callable,
    b: Any,
    args: Sequence[Any] = (),
    *,
    method: str = "gmres",
    x0: Any = None,
    tol: float = 1e-12,
    maxiter: int | None = None,
    restart: int = RESTART,
) -> Any:
    """Return ``x`` with ``matvec(x, *args) = b``, where ``matvec`` is linear in ``x``.

    The derivative is that of the solution: one more system, with the transpose, which is made of ``matvec``. It is by
    ``b``, by ``args`` and by all that ``matvec`` reads outside, in both modes and to any order.

    :param matvec: a function that can be recorded, from an array of the shape of ``b`` to one of the same shape.
    :param b: the right side: float64 or float32.
    :param args: more arguments of ``matvec``.
    :param method: ``"cg"`` (symmetric positive definite), ``"minres"`` (symmetric), ``"gmres"``, ``"bicgstab"``, or
        ``"direct"``, which makes the matrix.
    :param x0: where the iterations begin; zero if nothing is said.
    :param tol: the residual to reach, relative to ``b``.
    :param maxiter: the most products; ten times as many as there are unknowns if nothing is said.
    :param restart: products that GMRES keeps.
    :raises ConvergenceError: the residual is not reached.
    """
    if method not in METHODS:
        raise ArgumentError(f"sdgrad.linear_solve: method is one of {', '.join(METHODS)}, not {method!r}")
    right = array(b)
    check_real(right, "sdgrad.linear_solve")
    right = right if right.dtype.kind == "f" else right.astype(float)
    first = known(np.zeros(right.shape, right.dtype)) if x0 is None else x0
    product = Closed.of(matvec, first, args)
    if product.shapes != [tuple(right.shape)]:
        raise ArgumentError(f"sdgrad.linear_solve: matvec returns shape {product.shapes[0]}, and b has {right.shape}")
    n = int(np.prod(right.shape))
    most = 10 * n if maxiter is None else maxiter
    equation = Equation(product, tuple(product.operands.values()), right, linear=True)

    def find(multiply: Callable, y: Any) -> tuple[Any, Any]:
        constants = np.reshape(right, -1)
        if method == "direct":
            return np.linalg.solve(derivatives(multiply, y, ()), constants), True
        more = (min(n, restart),) if method == "gmres" else ()
        x, size = recorded(getattr(krylov, method), multiply, constants, y, tol, most, *more)
        return x, size <= 10 * tol

    return solution("linear_solve", equation, first, find, symmetric=method in SYMMETRIC)
