"""Solve linear systems of which a program gives the product with the matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from sdgrad.errors import ArgumentError, ParseError
from sdgrad.record.functions.table import array, known
from sdgrad.solvers.algorithms import krylov
from sdgrad.solvers.closed import Closed, Equation, no_nest, start_of, tolerance
from sdgrad.solvers.eager import solver
from sdgrad.solvers.implicit import LINEAR, RESTART, derivatives, recorded, solution

T = TypeVar("T")
SYMMETRIC = ("cg", "minres")
METHODS = (*SYMMETRIC, "gmres", "bicgstab", "direct")


@solver
def linear_solve(
    matvec: Callable[..., Any],
    b: T,
    args: Sequence[Any] = (),
    *,
    method: str = "gmres",
    x0: Any = None,
    tol: float = 1e-12,
    maxiter: int | None = None,
    restart: int = RESTART,
) -> T:
    """Return ``x`` with ``matvec(x, *args) = b``, where ``matvec`` is linear in ``x``.

    The derivative takes one more system, with the transpose of ``matvec``. It is by ``b``, by ``args`` and by all that
    ``matvec`` reads outside, in both modes and to any order.

    :param matvec: a function that can be recorded, from an array of the shape of ``b`` to one of the same shape;
        ``args`` are more arguments of it.
    :param b: the right side: float64 or float32.
    :param method: ``"cg"`` (symmetric positive definite), ``"minres"`` (symmetric), ``"gmres"``, ``"bicgstab"``, or
        ``"direct"``, which makes the matrix.
    :param x0: where the iterations begin; zero if nothing is said.
    :param tol: the residual to reach, relative to ``b``.
    :param maxiter: the most products: ten for each unknown if nothing is said; ``restart`` are those that GMRES keeps.
    :raises ConvergenceError: the residual is not reached.
    """
    right = _checked(method, b)
    first = known(np.zeros(right.shape, right.dtype)) if x0 is None else start_of(x0, "sdgrad.linear_solve")
    product = Closed.of(matvec, (first,), args)
    if product.shapes != [tuple(right.shape)]:
        raise ArgumentError(f"sdgrad.linear_solve: matvec returns shape {product.shapes[0]}, and b has {right.shape}")
    equation = Equation(product, tuple(product.operands.values()), right, linear=True, check=product.check)
    return solution(
        "linear_solve",
        equation,
        first,
        lambda multiply, y: _search(method, multiply, np.reshape(right, -1), y, tol, maxiter, restart),
        symmetric=method in SYMMETRIC,
        advice=LINEAR,
    )


def _checked(method: str, b: Any) -> Any:
    """Return a right side as real numbers."""
    no_nest(b, "sdgrad.linear_solve")
    right = array(b)
    if method not in METHODS:
        raise ArgumentError(f"sdgrad.linear_solve: method is one of {', '.join(METHODS)}, not {method!r}")
    if right.dtype.kind not in "fiu":
        raise ParseError(f"sdgrad.linear_solve takes real numbers, not {right.dtype}")
    return right if right.dtype.kind == "f" else right.astype(float)


def _search(
    method: str, multiply: Callable, right: Any, y: Any, tol: float, maxiter: int | None, restart: int
) -> tuple[Any, Any]:
    """Record the iterations of a method, or what makes the matrix."""
    tol = tolerance(tol, right)
    most = 10 * right.shape[0] if maxiter is None else maxiter
    if method == "direct":
        found = np.linalg.solve(derivatives(multiply, y, ()), right)
        return found, np.all(np.isfinite(found))
    more = (min(right.shape[0], restart),) if method == "gmres" else ()
    x, size = recorded(getattr(krylov, method), multiply, right, y, tol, most, *more)
    return x, size <= 10 * tol
