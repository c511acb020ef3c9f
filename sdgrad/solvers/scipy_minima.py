"""Apply minimisers of ``scipy.optimize``: the minimum is that of ours, with its derivative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize as optimize

from sdgrad.api.forward import in_place
from sdgrad.api.gradient import grad
from sdgrad.errors import ParseError
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import active, array, rule
from sdgrad.solvers.algorithms.bounded import golden_section, projected_newton, valley
from sdgrad.solvers.algorithms.descent import lbfgs, newton_descent
from sdgrad.solvers.closed import SEARCHED, Closed, Equation, start_of, tolerance
from sdgrad.solvers.implicit import NEWTON, derivatives, recorded, shaped, solution
from sdgrad.solvers.minimum import MEMORY
from sdgrad.solvers.scipy_calls import STEPS, accuracy, found, of_number, refuse, vector

TAKE_BOUNDS = ("nelder-mead", "l-bfgs-b", "tnc", "slsqp", "powell", "trust-constr", "cobyla", "cobyqa")
METHODS = (*TAKE_BOUNDS, "cg", "bfgs", "newton-cg", "dogleg", "trust-ncg", "trust-exact", "trust-krylov")
NO_VALLEY = (
    "Bracketing values (xa, xb, xc) do not fulfill this requirement: (f(xb) < f(xa)) and (f(xb) < f(xc)), and xb "
    "between the others"
)
COARSE = 1e-4  # width of a golden section, relative to where it is


@dataclass(frozen=True)
class Objective:
    """A function to minimise, closed over what it reads, in the recording that goes on."""

    value: Closed

    @staticmethod
    def of(f: Callable, x0: Any, what: str) -> Objective:
        value = Closed.of(f, (x0,), ())
        if value.shapes != [()]:
            raise ParseError(f"{what}: the function returns shape {value.shapes[0]}, and has to return a number")
        return Objective(value)

    @property
    def operands(self) -> tuple[Any, ...]:
        return tuple(self.value.operands.values())

    def gradient(self, x: Any, *values: Any) -> Any:
        """Record the gradient as a function of ``x`` and of what the function reads."""
        return in_place(grad(works_inside(lambda y: self.value(y, *values))), (x,), {})

    def parts(self, shape: tuple[int, ...]) -> tuple[Callable, Callable, Callable]:
        """Return value, gradient and Hessian as functions of a vector."""

        def value(x: Any) -> Any:
            return self.value(shaped(x, shape), *self.operands)

        def gradient(x: Any) -> Any:
            return np.reshape(array(self.gradient(shaped(x, shape), *self.operands)), -1)

        return value, gradient, lambda x: derivatives(gradient, x, ())


Prepare = Callable[[Callable, Any], Any]


def minimum(what: str, f: Callable, x0: Any, tol: float, bounds: Any = None, prepare: Prepare | None = None) -> Any:
    """Record where a function is least near a place, between bounds if there are some.

    :param prepare: records a search for a better place, from the function of a vector and a vector.
    """
    own = Objective.of(f, x0, what)
    shape = tuple(np.shape(x0))
    small = int(np.prod(shape)) <= NEWTON
    if bounds is not None and not small:
        raise ParseError(f"{what}: bounds are recorded for up to {NEWTON} unknowns: write x in terms of free numbers")
    value, gradient, hessian = own.parts(shape)
    limits = None if bounds is None else [np.reshape(array(detached(b)), -1) for b in bounds]

    def find(flat: Callable, y: Any) -> tuple[Any, Any]:
        first = y if prepare is None else prepare(value, y)
        if limits is not None:
            return recorded(projected_newton, value, gradient, hessian, first, *limits, tol, STEPS)
        if small:
            return recorded(newton_descent, value, gradient, hessian, first, tol, STEPS)
        return recorded(lbfgs, value, gradient, first, tolerance(max(tol, 1e-9), y), 10 * STEPS, MEMORY)

    if bounds is None:
        equation = Equation(own.gradient, own.operands, check=own.value.check, rough=SEARCHED)
        return solution(what, equation, x0, find, symmetric=True)

    def projected(x: Any, low: Any, high: Any, *values: Any) -> Any:
        return x - np.clip(x - own.gradient(x, *values), low, high)

    equation = Equation(projected, (*bounds, *own.operands), check=own.value.check, rough=SEARCHED)
    return solution(what, equation, x0, find)


def bounds_of(bounds: Any, x0: Any) -> tuple[Any, Any] | None:
    """Return lower and upper bounds as arrays of the shape of what is bounded; None if all are infinite."""
    if bounds is None:
        return None
    if isinstance(bounds, (optimize.Bounds, Limits)):
        low, high = bounds.lb, bounds.ub
    elif isinstance(bounds, (list, tuple)) and len(bounds) == 2 and np.shape(x0) == () and not np.ndim(bounds[0]):
        low, high = bounds
    else:
        pairs = [(b[0], b[1]) for b in bounds]
        if len(pairs) != np.size(x0):
            raise ValueError("The number of bounds is not compatible with the length of `x0`.")
        low = [-np.inf if b is None else b for b, _ in pairs]
        high = [np.inf if b is None else b for _, b in pairs]
    return like(low, x0), like(high, x0)


def like(bound: Any, x0: Any) -> Any:
    """Return a bound in the shape and the type of what it bounds."""
    own: Any = array(bound) if isinstance(bound, (list, tuple)) else bound
    zero = np.zeros_like(detached(x0))
    return np.where(True, own, zero) if np.ndim(x0) else own * 1.0 + zero


@dataclass(frozen=True)
class Limits:
    """Bounds of which some are recorded."""

    lb: Any
    ub: Any


@rule(optimize.Bounds, aliases=True)
def bounds_object(lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> Limits:
    return active().reads.made(Limits(lb, ub))


@rule(optimize.minimize, aliases=True)
def minimize(
    fun: Any, x0: Any, args: Any = (), method: Any = None, jac: Any = None, hess: Any = None, hessp: Any = None,
    bounds: Any = None, constraints: Any = (), tol: Any = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """``jac=``, ``hess=`` and options change how the minimum is found, not which it is."""
    what = "scipy.optimize.minimize"
    if constraints not in ((), [], None):
        raise ParseError(f"{what}: constraints= are not recorded: solve the equations of the optimum by sdgrad.root")
    refuse(what, callback=callback)
    if method is not None and not (isinstance(method, str) and method.lower() in METHODS):
        raise ParseError(f"{what}: method={method!r} is not recorded")
    if bounds is not None and method is not None and method.lower() not in TAKE_BOUNDS:
        raise ParseError(f"{what}: method {method} ignores bounds")
    start = vector(x0, what, keep=True)
    own = of_number(fun, args, jac is True)
    x = minimum(what, own, start, accuracy(start, tol), bounds_of(bounds, start))
    gradient = Objective.of(own, x, what)
    return found(
        x=x, fun=own(x), success=True, status=0, message="Optimization terminated successfully.",
        jac=gradient.gradient(x, *gradient.operands),
    )  # fmt: skip


@rule(optimize.minimize_scalar, aliases=True)
def minimize_scalar(
    fun: Any, bracket: Any = None, bounds: Any = None, args: Any = (), method: Any = None, tol: Any = None,
    options: Any = None,
) -> Any:  # fmt: skip
    what = "scipy.optimize.minimize_scalar"
    refuse(what, options={} if options is None else {k: v for k, v in options.items() if k not in ("xatol", "maxiter")})
    kind = ("brent" if bounds is None else "bounded") if method is None else method.lower()
    if kind not in ("brent", "golden", "bounded"):
        raise ValueError(f"Unknown solver {method}")
    if (kind == "bounded") != (bounds is not None):
        raise ValueError("The `bounds` parameter is mandatory for method `bounded`, and is for no other.")
    own, start = of_number(fun, args), start_of(0.0, what)
    if bounds is not None:
        limits: Any = bounds_of(tuple(bounds), start)
        x = minimum(what, own, start, accuracy(start, tol), limits, _inside(*map(detached, limits)))
    else:
        ends = tuple(bracket) if bracket is not None else (0.0, 1.0)
        if len(ends) not in (2, 3):
            raise ValueError("Bracketing interval must be length 2 or 3 sequence.")
        x = minimum(what, own, start, accuracy(start, tol), None, _downhill([detached(e * 1.0) for e in ends]))
    return found(x=x, fun=own(x), success=True, message="Solution found.")


def _number_of(value: Callable) -> Callable:
    return lambda x: value(np.reshape(array(x), 1))


def _inside(low: Any, high: Any) -> Prepare:
    """Return the search by golden sections between two bounds."""

    def search(value: Callable, y: Any) -> Any:
        a, c = (np.where(True, end, y[0]) for end in (low, high))
        b = a + 0.3819660112501051 * (c - a)
        return np.reshape(array(recorded(golden_section, _number_of(value), a, b, c, COARSE * (c - a))), 1)

    return search


def _downhill(ends: list[Any]) -> Prepare:
    """Return the search by golden sections that begins with two places, or with three of which one is lowest."""

    def search(value: Callable, y: Any) -> Any:
        places = [np.where(True, end, y[0]) for end in ends]
        of_number_ = _number_of(value)
        if len(places) == 2:
            *places, _ = recorded(valley, of_number_, *places, 100)
        else:
            first, middle, last = map(of_number_, places)
            a, b, c = places
            require((middle < first) & (middle < last) & ((b - a) * (c - b) > 0), NO_VALLEY)
        a, b, c = places
        width = COARSE * (np.abs(b) + 1e-3 * np.abs(c - a))
        return np.reshape(array(recorded(golden_section, of_number_, a, b, c, width)), 1)

    return search
