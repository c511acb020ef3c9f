"""Minimise functions of one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from sdgrad.api.forward import in_place
from sdgrad.api.gradient import grad
from sdgrad.errors import ArgumentError
from sdgrad.record.calls import works_inside
from sdgrad.solvers.algorithms.descent import lbfgs, newton_descent
from sdgrad.solvers.closed import Closed, Equation, start_of, tolerance
from sdgrad.solvers.eager import solver
from sdgrad.solvers.implicit import NEWTON, derivatives, recorded, shaped, solution

T = TypeVar("T")
MEMORY = 10  # past gradients of L-BFGS
GRADIENTS = 16  # how much less exact than their arguments gradients are


@solver
def minimize(f: Callable, x0: T, args: Sequence[Any] = (), *, tol: float | None = None, maxiter: int = 1000) -> T:
    """Return ``x`` where ``f(x, *args)`` is least near ``x0``.

    The derivative is that of the point where the gradient is zero, by the implicit function theorem: by ``args`` and by
    all that ``f`` reads outside, in both modes and to any order. None goes through ``x0`` and the iterations. That of
    the least value is ``f(minimize(f, x0))``.

    :param f: a function that can be recorded, from an array or a number to a number, with second derivatives.
    :param x0: where the search begins: float64 or float32.
    :param args: more arguments of ``f``.
    :param tol: up to 64 unknowns the last step relative to the largest element of ``x`` (1e-12); beyond, the largest
        element of the gradient (1e-9, in float32 1.5e-5), relative to that at ``x0`` if that is above 1.
    :param maxiter: the most steps.
    :raises ConvergenceError: the search does not end.

    Up to 64 unknowns by Newton's method with the Hessian, beyond by L-BFGS. A saddle point is where neither begins.
    """
    start: Any = start_of(x0, "sdgrad.minimize")
    value = Closed.of(f, (start,), args)
    if value.shapes != [()]:
        raise ArgumentError(
            f"sdgrad.minimize: the function returns shape {value.shapes[0]}, and has to return a number"
        )
    small = int(np.prod(np.shape(start))) <= NEWTON
    limit = tolerance(tol, start) if tol is not None else default_limit(start, small)
    operands = tuple(value.operands.values())
    shape = tuple(np.shape(start))

    def find(flat: Callable, y: Any) -> tuple[Any, Any]:
        def of_vector(x: Any) -> Any:
            return value(shaped(x, shape), *operands)

        if small:
            return recorded(newton_descent, of_vector, flat, lambda x: derivatives(flat, x, ()), y, limit, maxiter)
        return recorded(lbfgs, of_vector, flat, y, limit, maxiter, MEMORY)

    def gradient(x: Any, *values: Any) -> Any:
        return in_place(grad(works_inside(lambda y: value(y, *values))), (x,), {})

    return solution("minimize", Equation(gradient, operands, check=value.check), start, find, symmetric=True)


def default_limit(x0: Any, small: bool) -> float:
    """Return what a search ends with: a step, or a gradient."""
    return tolerance(1e-12, x0) if small else max(1e-9, GRADIENTS * tolerance(0.0, x0))
