"""Apply root finders of ``scipy.optimize``: the solution is that of ours, with its derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as optimize

from sdgrad.errors import ParseError
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import array, rule
from sdgrad.solvers.algorithms.fixed_point import accelerate, iterate
from sdgrad.solvers.closed import SEARCHED, Equation, start_of
from sdgrad.solvers.implicit import BRACKET, recorded, solution
from sdgrad.solvers.roots import bracketed, newton_steps, same_shape
from sdgrad.solvers.scipy_calls import STEPS, accuracy, as_number, found, of_array, of_number, refuse, wide

BRACKETING = ("bisect", "brentq", "brenth", "ridder", "toms748")
OPEN = ("newton", "secant", "halley")
SYSTEMS = ("hybr", "lm")
KRYLOV = (
    "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing", "krylov", "df-sane",
)  # fmt: skip
"""Methods for systems whose solution has the shape of the first guess."""


def _root(name: str, f: Callable, x0: Any, tol: float) -> Any:
    """Record a root near a first guess."""
    closed = same_shape(f, x0, (), f"scipy.optimize.{name}")
    equation = Equation(closed, tuple(closed.operands.values()), check=closed.check, rough=SEARCHED)
    return solution(f"scipy.optimize.{name}", equation, x0, lambda left, y: newton_steps(left, y, tol, STEPS))


def _between(name: str, f: Callable, low: Any, high: Any, tol: float) -> Any:
    """Record the place between two numbers where a function changes its sign."""
    start = start_of(0.0, name)
    ends = [detached(as_number(end) * 1.0) for end in (low, high)]
    closed = same_shape(f, start, (), f"scipy.optimize.{name}")
    equation = Equation(closed, tuple(closed.operands.values()), check=closed.check, rough=SEARCHED)
    return solution(
        f"scipy.optimize.{name}", equation, start, lambda left, y: bracketed(left, y, ends, tol, STEPS), advice=BRACKET
    )


def _told(x: Any) -> Any:
    return found(root=x, converged=True, flag="converged")


def bracketing(name: str) -> Callable:
    """Return the rule of a method that begins with a bracket."""

    def apply(
        f: Any, a: Any, b: Any, args: Any = (), xtol: Any = None, rtol: Any = None, maxiter: Any = STEPS,
        full_output: bool = False, disp: bool = True,
    ) -> Any:  # fmt: skip
        x = _between(name, of_number(f, args), a, b, accuracy(1.0, xtol, rtol))
        return (x, _told(x)) if full_output else x

    return apply


for _name in ("bisect", "brentq", "brenth", "ridder"):
    rule(getattr(optimize, _name), aliases=True)(bracketing(_name))


@rule(optimize.toms748, aliases=True)
def toms748(
    f: Any, a: Any, b: Any, args: Any = (), k: Any = 1, xtol: Any = None, rtol: Any = None, maxiter: Any = STEPS,
    full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    return bracketing("toms748")(f, a, b, args, xtol, rtol, maxiter, full_output, disp)


@rule(optimize.newton, aliases=True)
def newton(
    func: Any, x0: Any, fprime: Any = None, args: Any = (), tol: Any = None, maxiter: Any = STEPS, fprime2: Any = None,
    x1: Any = None, rtol: Any = None, full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    x = _root("newton", of_array(func, args), start_of(x0, "scipy.optimize.newton"), accuracy(x0, tol, rtol))
    if full_output and np.ndim(x):
        raise ParseError("scipy.optimize.newton: full_output= of an array is not recorded")
    return (x, _told(x)) if full_output else x


@rule(optimize.root_scalar, aliases=True)
def root_scalar(
    f: Any, args: Any = (), method: Any = None, bracket: Any = None, fprime: Any = None, fprime2: Any = None,
    x0: Any = None, x1: Any = None, xtol: Any = None, rtol: Any = None, maxiter: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    refuse("scipy.optimize.root_scalar", options=options)
    if method is not None and method.lower() not in (*BRACKETING, *OPEN):
        raise ValueError(f"Unknown solver {method}")
    own = of_number(f, args, fprime is True)
    if bracket is not None and (method is None or method.lower() in BRACKETING):
        low, high = bracket
        return _told(_between(method or "brentq", own, low, high, accuracy(1.0, xtol, rtol)))
    if x0 is None or method is not None and method.lower() in BRACKETING:
        raise ValueError("root_scalar needs a bracket, or x0 with a method that begins there")
    start = as_number(wide(start_of(x0, "scipy.optimize.root_scalar")))
    return _told(_root("root_scalar", own, start, accuracy(start, xtol, rtol)))


def _system(name: str, fun: Any, x0: Any, args: Any, first: bool, tol: float) -> tuple[Any, Any]:
    """Return a root of a system, and the function there."""
    own = of_array(fun, args, first)
    x = _root(name, own, x0, tol)
    return x, own(x)


@rule(optimize.root, aliases=True)
def root(
    fun: Any, x0: Any, args: Any = (), method: Any = "hybr", jac: Any = None, tol: Any = None, callback: Any = None,
    options: Any = None,
) -> Any:  # fmt: skip
    """``jac=`` and options change how the solution is found, not which it is."""
    refuse("scipy.optimize.root", callback=callback)
    if method.lower() not in (*SYSTEMS, *KRYLOV):
        raise ValueError(f"Unknown solver {method}")
    start = wide(start_of(x0, "scipy.optimize.root"))
    start = np.reshape(array(start), -1) if method.lower() in SYSTEMS else start
    x, value = _system("root", fun, start, args, jac is True, accuracy(start, tol))
    return found(x=x, fun=value, success=True, status=1, message="The solution converged.")


@rule(optimize.fsolve, aliases=True)
def fsolve(
    func: Any, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = False, col_deriv: Any = False,
    xtol: Any = None, maxfev: Any = 0, band: Any = None, epsfcn: Any = None, factor: Any = 100, diag: Any = None,
) -> Any:  # fmt: skip
    start = np.reshape(array(wide(start_of(x0, "scipy.optimize.fsolve"))), -1)
    x, value = _system("fsolve", func, start, args, False, accuracy(start, xtol))
    return (x, found(fvec=value), 1, "The solution converged.") if full_output else x


@rule(optimize.fixed_point, aliases=True)
def fixed_point(
    func: Any, x0: Any, args: Any = (), xtol: Any = None, maxiter: Any = STEPS, method: str = "del2"
) -> Any:
    ways = {"del2": accelerate, "iteration": iterate}
    if method not in ways:
        raise ValueError(f"Unknown method {method}")
    start = start_of(x0, "scipy.optimize.fixed_point")
    closed = same_shape(of_array(func, args), start, (), "scipy.optimize.fixed_point")
    equation = Equation(
        lambda x, *values: closed(x, *values) - x, tuple(closed.operands.values()), check=closed.check, rough=SEARCHED
    )
    tol = accuracy(start, xtol)
    most = max(STEPS, 10000 if method == "iteration" else 0)

    def find(flat: Callable, y: Any) -> tuple[Any, Any]:
        return recorded(ways[method], lambda x: flat(x) + x, y, tol, most)

    return solution("scipy.optimize.fixed_point", equation, start, find)
