"""Apply least squares of ``scipy.optimize``: the fit is that of ours, with its derivative."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as optimize

from sdgrad.api.forward import in_place
from sdgrad.api.jacobian import jacobian
from sdgrad.convert.callables import python_function
from sdgrad.errors import ParseError
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import array, rule
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.solvers.algorithms.least_squares import levenberg_marquardt
from sdgrad.solvers.implicit import NEWTON, recorded
from sdgrad.solvers.scipy_calls import accuracy, found, of_array, refuse, vector, wide
from sdgrad.solvers.scipy_minima import like, minimum

COARSE, TRIES = 1e-6, 1000  # of the steps before Newton's, which converge to it slowly
LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: np.where(z <= 1.0, z, 2.0 * np.sqrt(np.maximum(z, 1.0)) - 1.0),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}
"""What of the squares of the residuals is summed."""


def fit(what: str, residual: Callable, x0: Any, tol: float, limits: Any, loss: str, scale: Any) -> tuple[Any, Any]:
    """Record where the sum of squares is least, and the residuals there."""

    def cost(x: Any) -> Any:
        r = np.reshape(array(residual(x)), -1)
        return 0.5 * scale**2 * np.sum(LOSSES[loss]((r / scale) ** 2)) if loss != "linear" else 0.5 * np.sum(r * r)

    def prepare(value: Callable, y: Any) -> Any:
        def flat(x: Any) -> Any:
            return np.reshape(array(residual(x)), -1)

        return recorded(levenberg_marquardt, flat, lambda x: matrix(flat, x), y, COARSE, TRIES)

    unknowns = int(np.size(x0))
    coarse = prepare if limits is None and loss == "linear" and unknowns <= NEWTON else None
    x = minimum(what, works_inside(cost), x0, tol, limits, coarse)
    return x, np.reshape(array(residual(x)), -1)


def matrix(residual: Callable, x: Any) -> Any:
    """Record the matrix of the derivatives of residuals."""
    return in_place(jacobian(works_inside(lambda y: residual(y))), (x,), {})


def limits_of(bounds: Any, x0: Any) -> tuple[Any, Any] | None:
    """Return a pair of bounds; None if all are infinite."""
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    infinite = all(isinstance(b, float) and np.isinf(b) for b in (low, high))
    return None if infinite else (like(low, x0), like(high, x0))


def around(bounds: Any, x0: Any) -> tuple[Any, Any] | None:
    """Return a pair of bounds that hold where the search begins; None if all are infinite."""
    limits = limits_of(bounds, x0)
    if limits is not None:
        inside = (x0 >= limits[0]) & (x0 <= limits[1])
        require(np.all(inside), "Initial guess is outside of provided bounds")
    return limits


@rule(optimize.least_squares, aliases=True)
def least_squares(
    fun: Any, x0: Any, jac: Any = "2-point", bounds: Any = (-np.inf, np.inf), method: str = "trf", ftol: Any = None,
    xtol: Any = None, gtol: Any = None, x_scale: Any = None, loss: Any = "linear", f_scale: Any = 1.0,
    diff_step: Any = None, tr_solver: Any = None, tr_options: Any = None, jac_sparsity: Any = None,
    max_nfev: Any = None, verbose: Any = 0, args: Any = (), kwargs: Any = None, callback: Any = None,
    workers: Any = None,
) -> Any:  # fmt: skip
    what = "scipy.optimize.least_squares"
    refuse(what, callback=callback)
    if method not in ("trf", "dogbox", "lm"):
        raise ValueError("`method` must be 'trf', 'dogbox' or 'lm'.")
    if not isinstance(loss, str):
        raise ParseError(f"{what}: a function as loss= is not recorded: use one of {', '.join(LOSSES)}")
    if loss not in LOSSES:
        raise ValueError(f"`loss` must be one of {list(LOSSES)} or a callable.")
    start = vector(x0, what)
    residual = of_array(fun, args, **(kwargs or {}))
    x, r = fit(what, residual, start, accuracy(start, xtol), around(bounds, start), loss, f_scale)
    z = (r / f_scale) ** 2
    cost = 0.5 * f_scale**2 * np.sum(LOSSES[loss](z))
    return found(x=x, cost=cost, fun=r, success=True, status=1, message="`gtol` termination condition is satisfied.")


@rule(optimize.leastsq, aliases=True)
def leastsq(
    func: Any, x0: Any, args: Any = (), Dfun: Any = None, full_output: Any = False, col_deriv: Any = False,
    ftol: Any = None, xtol: Any = None, gtol: Any = 0.0, maxfev: Any = 0, epsfcn: Any = None, factor: Any = 100,
    diag: Any = None,
) -> Any:  # fmt: skip
    what = "scipy.optimize.leastsq"
    refuse(what, full_output=bool(full_output))
    start = vector(x0, what)
    x, _ = fit(what, of_array(func, args), start, accuracy(start, xtol), None, "linear", 1.0)
    return x, 1


def _weighted(r: Any, sigma: Any) -> Any:
    """Return residuals in units of their standard deviations, or of their covariance."""
    if sigma is None:
        return r
    return r / sigma if np.ndim(sigma) < 2 else np.linalg.solve(np.linalg.cholesky(sigma), r)


def _first(f: Any, p0: Any, bounds: Any) -> Any:
    """Return the first guess: ones, or what SciPy takes between bounds."""
    if p0 is not None:
        return p0
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p for p in inspect.signature(python_function(f)).parameters.values() if p.kind in kinds]
    if len(names) < 2:
        raise ValueError("Unable to determine number of fit parameters.")
    start = np.ones(len(names) - 1)
    limits = limits_of(bounds, start)
    if limits is None:
        return start
    ends: list[Any] = [array(detached(b)) for b in limits]
    low, high = ends
    below, above = np.isfinite(low), np.isfinite(high)
    one = np.where(below, low + 1.0, np.where(above, high - 1.0, start))
    return np.where(below & above, 0.5 * (low + high), one)


@rule(optimize.curve_fit, aliases=True)
def curve_fit(
    f: Any, xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None, absolute_sigma: bool = False,
    check_finite: Any = None, bounds: Any = (-np.inf, np.inf), method: Any = None, jac: Any = None, *,
    full_output: bool = False, nan_policy: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """The covariance is by the derivatives at the solution."""
    what = "scipy.optimize.curve_fit"
    refuse(what, full_output=full_output, nan_policy=nan_policy, loss=kwargs.get("loss"))
    start = vector(_first(f, p0, bounds), what)
    n = int(np.size(start))
    x, y = (array(v) if isinstance(v, (list, tuple)) else v for v in (xdata, ydata))
    weights = array(sigma) if isinstance(sigma, (list, tuple)) else sigma

    def residual(p: Any) -> Any:
        return _weighted(RecordingOperators().call(f, x, *(p[k] for k in range(n))) - y, weights)

    limits = around(bounds, start)
    popt, r = fit(what, residual, start, accuracy(start, kwargs.get("xtol")), limits, "linear", 1.0)
    J = matrix(lambda p: np.reshape(array(residual(p)), -1), popt)
    pcov, m = np.linalg.inv(J.T @ J), int(np.size(r))
    if absolute_sigma:
        return popt, pcov
    return popt, pcov * (np.sum(r * r) / (m - n)) if m > n else np.full((n, n), np.inf)


def _linear(what: str, A: Any, b: Any, limits: Any) -> Any:
    """Return linear least squares between bounds."""
    own, right = (array(wide(array(v))) for v in (A, b))
    if own.ndim != 2 or right.shape != own.shape[:1]:
        raise ValueError("`A` and `b` have no fitting shapes.")
    if own.shape[0] < own.shape[1]:
        raise ParseError(f"{what}: with fewer equations than unknowns the solution is not the only one")
    start = np.zeros(own.shape[1])

    def cost(x: Any) -> Any:
        r = own @ x - right
        return 0.5 * np.sum(r * r)

    return minimum(what, works_inside(cost), start, accuracy(1.0), limits)


@rule(optimize.nnls, aliases=True)
def nnls(A: Any, b: Any, *, maxiter: Any = None) -> Any:
    start = np.zeros(int(np.shape(A)[1]))
    x = _linear("scipy.optimize.nnls", A, b, (start, np.full(start.shape, np.inf)))
    return x, np.linalg.norm(array(A) @ x - array(b))


@rule(optimize.lsq_linear, aliases=True)
def lsq_linear(
    A: Any, b: Any, bounds: Any = (-np.inf, np.inf), method: str = "trf", tol: Any = None, lsq_solver: Any = None,
    lsmr_tol: Any = None, max_iter: Any = None, verbose: Any = 0, *, lsmr_maxiter: Any = None,
) -> Any:  # fmt: skip
    start = np.zeros(int(np.shape(A)[1]))
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    x = _linear("scipy.optimize.lsq_linear", A, b, (like(low, start), like(high, start)))
    r = array(A) @ x - array(b)
    return found(x=x, cost=0.5 * np.sum(r * r), fun=r, success=True, status=1, message="converged")
