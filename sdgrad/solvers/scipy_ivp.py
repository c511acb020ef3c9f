"""Apply the initial value problems of ``scipy.integrate``: solutions are those of ours, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as integrate

from sdgrad.errors import ParseError
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.arguments import constant
from sdgrad.record.functions.table import array, own, rule
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.solvers import ivp
from sdgrad.solvers.ends import Ends
from sdgrad.solvers.scipy_calls import found, own_array, refuse

STIFF = {"LSODA": "Radau"}  # of another method for stiff equations, that of ours
TOL = 1.49012e-8
KNOWN = ("rtol", "atol", "first_step", "max_step")
UNUSED = ("jac", "jac_sparsity", "lband", "uband")  # the matrix of derivatives is that of the function


def _method(method: Any) -> str:
    """Return the method of ours that stands for one of SciPy's."""
    name = method if isinstance(method, str) else getattr(method, "__name__", "")
    name = STIFF.get(name, name)
    if name not in ivp.METHODS:
        raise ValueError(f"`method` must be one of {', '.join((*ivp.METHODS, *STIFF))}, not {method!r}")
    return name


def _start(y0: Any) -> Any:
    """Return a state in double precision, as SciPy computes it."""
    start = array(own_array(y0))
    return start.astype(np.complex128 if start.dtype.kind == "c" else np.float64)


@rule(integrate.solve_ivp, aliases=True)
def solve_ivp(
    fun: Any, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None, dense_output: Any = False,
    events: Any = None, vectorized: bool = False, args: Any = None, **options: Any,
) -> Any:  # fmt: skip
    what = "scipy.integrate.solve_ivp"
    if events is not None:
        raise ParseError(f"{what}: events= are not recorded, whose number only a run knows: use sdgrad.solve_ivp")
    if unknown := sorted(n for n, v in options.items() if n not in (*KNOWN, *UNUSED) and v is not None):
        raise ParseError(f"{what}: {unknown[0]}= is not recorded: leave it out; {', '.join(KNOWN)} are recorded")
    start = _start(y0)
    if start.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    told = f"{what}: first_step=, max_step=, rtol= and atol= are known numbers"
    known = {n: constant(v, told) for n, v in options.items() if n in KNOWN and v is not None}
    known |= {"args": () if args is None else args, "dense_output": dense_output}
    times = None if t_eval is None else own_array(t_eval)
    solution = ivp.solve_ivp(fun, t_span, start, _method(method), times, **known)
    t, y = (solution.t, solution.y) if times is not None else (Ends(what, solution.t, 0), Ends(what, solution.y, 1))
    told = "The solver successfully reached the end of the integration interval."
    nothing = {"t_events": None, "y_events": None}
    return found(t=t, y=y, status=0, message=told, success=True, sol=solution.sol, **nothing)


@rule(integrate.odeint, aliases=True)
def odeint(
    func: Any, y0: Any, t: Any, args: Any = (), Dfun: Any = None, col_deriv: Any = 0, full_output: Any = 0,  # noqa: N803
    ml: Any = None, mu: Any = None, rtol: Any = None, atol: Any = None, tcrit: Any = None, h0: Any = 0.0,
    hmax: Any = 0.0, hmin: Any = 0.0, ixpr: Any = 0, mxstep: Any = 0, mxhnil: Any = 0, mxordn: Any = 12,
    mxords: Any = 5, printmessg: Any = 0, tfirst: Any = False,
) -> Any:  # fmt: skip
    """``Dfun=`` and bounds of orders, bands and messages change how the solution is found, not which it is."""
    what = "scipy.integrate.odeint"
    refuse(what, full_output=full_output or None, tcrit=tcrit)
    start = np.reshape(_start(y0), -1)
    if start.dtype.kind == "c":
        raise TypeError(
            "Cannot cast array data from dtype('complex128') to dtype('float64') according to the rule 'safe'"
        )
    if np.ndim(own_array(y0)) > 1:
        raise ValueError("Initial condition y0 must be one-dimensional.")
    times = array(own_array(t)).astype(np.float64)
    if times.ndim != 1:
        raise ValueError("Output times t must be one-dimensional.")
    rest = args if isinstance(args, tuple) else (args,)
    told = f"{what}: rtol=, atol=, h0= and hmax= are known numbers"
    options: dict[str, Any] = {"first_step": constant(h0, told) or None, "max_step": constant(hmax, told) or np.inf}
    options |= {
        n: TOL if v is None else np.minimum(constant(v, told), TOL) for n, v in (("rtol", rtol), ("atol", atol))
    }
    options["max_steps"] = max(ivp.STEPS, int(constant(mxstep, told)))
    slope, span = _slope(func, rest, tfirst, start.shape), (times[0], times[-1])
    y = ivp.solve_ivp(slope, span, start, "DOP853", times, **options).y
    return np.transpose(y)


def _slope(func: Any, args: tuple, tfirst: bool, shape: tuple[int, ...]) -> Callable:
    """Return a function of the time and the state, from one of SciPy's user."""

    def slope(t: Any, y: Any) -> Any:
        first = (t, y) if tfirst else (y, t)
        found = array(own_array(RecordingOperators().call(func, *first, *map(own, args))))
        if found.size != np.prod(shape):
            sizes = f"func ({found.size}) does not match the size of y0 ({int(np.prod(shape))})"
            raise RuntimeError(f"The size of the array returned by {sizes}.")
        return np.reshape(found, shape)

    return works_inside(slope)
