"""Solve equations: roots and fixed points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from sdgrad.errors import ArgumentError
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import array
from sdgrad.solvers.algorithms import krylov
from sdgrad.solvers.algorithms.fixed_point import iterate
from sdgrad.solvers.algorithms.newton import between, newton
from sdgrad.solvers.closed import Closed, Equation, start_of, tolerance
from sdgrad.solvers.eager import solver
from sdgrad.solvers.implicit import BRACKET, DIRECT, RESTART, derivatives, products, recorded, solution, zeros

T = TypeVar("T")
INEXACT = 1e-5  # relative residual of the linear systems of Newton's method without a matrix


@solver
def root(
    f: Callable[..., Any],
    x0: T,
    args: Sequence[Any] = (),
    *,
    bracket: Sequence[Any] | None = None,
    tol: float = 1e-12,
    maxiter: int = 100,
) -> T:
    """Return ``x`` with ``f(x, *args) = 0``, near ``x0``.

    The derivative is that of the solution, by the implicit function theorem: by ``args`` and by all that ``f`` reads
    outside, in both modes and to any order. None goes through ``x0`` and the iterations.

    :param f: a function that can be recorded, from an array or a number to one of the same shape.
    :param x0: where the search begins: float64 or float32.
    :param args: more arguments of ``f``.
    :param bracket: two numbers between which ``f`` of a number changes its sign; ``x0`` then says only the type.
    :param tol: the last step relative to the largest element of ``x``.
    :param maxiter: the most steps.
    :raises ConvergenceError: the search does not end, or the signs at the ends of the bracket are equal.

    Newton's method, with steps that are halved until the residual decreases: by a matrix of derivatives up to 64
    unknowns, by GMRES with products beyond (Knoll and Keyes 2004). In a bracket, Chandrupatla's method (1997).
    """
    start: Any = start_of(x0, "sdgrad.root")
    tol = tolerance(tol, start)
    closed = same_shape(f, start, args, "sdgrad.root")
    equation = Equation(closed, tuple(closed.operands.values()), check=closed.check)
    if bracket is None:
        return solution("root", equation, start, lambda left, y: newton_steps(left, y, tol, maxiter))
    if np.ndim(start):
        raise ArgumentError("sdgrad.root: a bracket is for a function of one number")
    ends = [detached(end) for end in bracket]
    return solution("root", equation, start, lambda left, y: bracketed(left, y, ends, tol, maxiter), advice=BRACKET)


@solver
def fixed_point(
    f: Callable[..., Any], x0: T, args: Sequence[Any] = (), *, tol: float = 1e-12, maxiter: int = 10000
) -> T:
    """Return ``x`` with ``f(x, *args) = x``, by iterating ``f`` from ``x0``.

    The derivative is that of the fixed point, as for :func:`root`: the iterations are neither kept nor reversed.
    ``f`` has to contract near the point; where it does so slowly, ``sdgrad.root(lambda x: x - f(x), x0)`` takes fewer
    steps.

    :param f: a function that can be recorded, from an array or a number to one of the same shape.
    :param tol: the last step relative to the largest element of ``x``.
    :param maxiter: the most iterations.
    :raises ConvergenceError: they are not enough.
    """
    x0 = start_of(x0, "sdgrad.fixed_point")
    tol = tolerance(tol, x0)
    closed = same_shape(f, x0, args, "sdgrad.fixed_point")
    operands = tuple(closed.operands.values())
    equation = Equation(lambda x, *values: closed(x, *values) - x, operands, check=closed.check)
    return solution(
        "fixed_point", equation, x0, lambda flat, y: recorded(iterate, lambda x: flat(x) + x, y, tol, maxiter)
    )


def bracketed(left: Callable, y: Any, bracket: Sequence[Any], tol: float, maxiter: int) -> tuple[Any, Any]:
    """Record the search between two numbers, which take the type of ``y``."""
    ends = (np.where(True, end, y[0]) for end in bracket)
    low, high = (end[()] if isinstance(end, np.ndarray) else end for end in ends)  # an array would be one from outside
    found, done = recorded(between, lambda x: left(np.reshape(array(x), 1))[0], low, high, tol, maxiter)
    return np.reshape(array(found), 1), done


def newton_steps(flat: Callable, y: Any, tol: float, maxiter: int, most_direct: int = DIRECT) -> tuple[Any, Any]:
    """Record Newton's method."""
    n = y.shape[0]

    def direct(x: Any, r: Any) -> Any:
        return np.linalg.solve(derivatives(flat, x, ()), r)

    def by_products(x: Any, r: Any) -> Any:
        product = products(flat, x, ())
        return recorded(krylov.gmres, product, r, zeros(n, r.dtype), INEXACT, 4 * n, min(n, RESTART))[0]

    return recorded(newton, flat, direct if n <= most_direct else by_products, y, tol, maxiter)


def same_shape(f: Callable, x0: Any, args: Sequence[Any], name: str) -> Closed:
    """Return a function of the program that returns what it takes."""
    closed = Closed.of(f, (x0,), args)
    if closed.shapes != [tuple(np.shape(x0))]:
        raise ArgumentError(f"{name}: the function returns shape {closed.shapes[0]}, and takes {tuple(np.shape(x0))}")
    return closed
