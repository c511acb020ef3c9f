"""Solve initial value problems inside of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sdgrad.errors import ArgumentError, ConvergenceError, ParseError
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.arguments import constant
from sdgrad.record.functions.table import active, array, known
from sdgrad.record.outside import shown_line
from sdgrad.record.values import RULES, is_recorded
from sdgrad.solvers.algorithms.runge_kutta import EXPLICIT
from sdgrad.solvers.closed import Closed
from sdgrad.solvers.initial_value.collocation import Collocation, CollocationSearch, Radau
from sdgrad.solvers.initial_value.eager import MESSAGES, Solution, by_scipy
from sdgrad.solvers.initial_value.events import Event, solution_at, with_events
from sdgrad.solvers.initial_value.integration import Integration
from sdgrad.solvers.initial_value.multistep import BDF, Multistep, MultistepSearch
from sdgrad.solvers.initial_value.problem import (
    AT,
    BEGIN,
    END,
    REACHED,
    RESULT,
    START,
    Options,
    Problem,
    along_last,
)
from sdgrad.solvers.initial_value.search import Search

METHODS = {**EXPLICIT, "Radau": Radau(), "BDF": BDF()}
STIFF: dict[type, tuple] = {Radau: (Collocation, CollocationSearch), BDF: (Multistep, MultistepSearch)}
STEPS = 16384


def solve_ivp(
    f: Callable,
    t_span: Sequence[Any],
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    args: Sequence[Any] = (),
    *,
    rtol: float = 1e-3,
    atol: Any = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
    max_steps: int = STEPS,
    events: Any = None,
    max_events: int = 16,
    dense_output: bool = False,
    adjoint: str = "discrete",
) -> Solution:
    """Solve ``dy/dt = f(t, y, *args)`` from ``y(t_span[0]) = y0``.

    Steps, errors and results between steps are those of ``scipy.integrate.solve_ivp``. The derivative is that of the
    steps, as long as they were found: by ``y0``, ``args``, both ends, ``t_eval`` and all that ``f`` reads outside, in
    both modes and to any order. States before steps are kept, at most 32 MB or the square root of ``max_steps``
    of them; the way back takes single steps again.

    :param f: a function that can be recorded, from a time and an array to an array (or a list) of the same shape.
    :param t_span: where the integration begins and ends.
    :param y0: float64, float32 or complex, of any shape.
    :param method: ``"RK45"``, ``"RK23"``, ``"DOP853"``; for stiff problems of real numbers ``"Radau"``, ``"BDF"``.
    :param t_eval: times in order for which states are returned; if nothing is said, these are the two ends.
    :param args: more arguments of ``f``.
    :param rtol: errors of a step are at most ``atol + rtol * abs(y)``; ``atol`` may be an array.
    :param first_step: the length of the first step; found if nothing is said.
    :param max_step: the length of the longest step.
    :param max_steps: the most steps.
    :param events: functions ``g(t, y, *args)``, whose zeros are found, with their derivatives. They may have, as
        SciPy's, attributes ``direction``, the sign of their slope that counts, and ``terminal``: the first zero is the
        end, or that of this number.
    :param max_events: the most zeros of an event.
    :param dense_output: the result has ``sol``, a function of times, each of whose calls integrates again.
    :param adjoint: ``"continuous"`` solves the adjoint equation backwards, in place of the adjoint of the steps: keeps
        no states, and is as exact as the tolerances say if trajectories do not move apart backwards in time.
    :returns: ``t`` and ``y`` (times along the last axis), ``t_events`` and ``y_events`` (events along the first axis),
        as many as ``max_events``, NaN where there is none, with derivatives that are NaN; ``sol``, ``status``.
    :raises ConvergenceError: the end is not reached in as many steps, or steps become too short.
    :raises ArgumentError: an argument is none of these.
    """
    _check(method, t_span)
    args = args if isinstance(args, (tuple, list)) else (args,)
    watched = Event.all_of(events, max_events)
    if active() is None:
        own = {"first_step": first_step, "max_step": max_step, "rtol": rtol, "atol": atol}
        return by_scipy(f, t_span, y0, method, t_eval, args, watched, max_events, dense_output, own)
    start = array(y0)
    start = start if start.dtype.kind in "fc" else start.astype(float)
    _check_adjoint(adjoint, start)
    options = Options(*_tolerances(start, rtol, atol), first_step, max_step, max_steps, adjoint == "continuous")
    integration, given, closed = _integration(f, t_span, start, METHODS[method], args, options)
    at = None if t_eval is None else _times(t_eval, t_span)
    if watched:
        zeros = [Event.closed(*e, start, args) for e in watched]
        found, end, last = _with_events(integration, given, zeros, at, max_events)
        given = {**given, END: end}
    else:
        found = _recorded(integration, given, at)
        end, last = found.t[-1], found.y[..., -1]
    closed.check(end, last)
    return replace(found, sol=works_inside(partial(_solution, integration, given))) if dense_output else found


works_inside(solve_ivp)


def _integration(
    f: Callable, t_span: Any, start: Any, method: Any, args: Any, options: Options
) -> tuple[Integration, dict[str, Any], Closed]:
    """Return an integration, what it takes, and its closed function."""
    closed = Closed.of(f, (np.float64(0), start), args)
    if closed.shapes != [tuple(start.shape)]:
        raise ArgumentError(f"sdgrad.solve_ivp: f returns shape {closed.shapes[0]}, and y has {tuple(start.shape)}")
    t0, t1 = (_time(t) for t in t_span)
    given = {START: start, BEGIN: t0, END: t1}
    given |= {f"operand_{k}": v for k, v in enumerate(closed.operands.values())}
    if type(method) in STIFF and start.dtype.kind == "c":
        told = f"sdgrad.solve_ivp: {type(method).__name__} takes real numbers"
        raise ParseError(f"{told}: solve for the real and the imaginary part")
    kind, search = STIFF.get(type(method), (Problem, Search))
    return Integration(kind(closed, method, tuple(start.shape), start.dtype), options, search), given, closed


def _recorded(integration: Integration, given: dict[str, Any], at: Any) -> Solution:
    """Record an integration to its end."""
    found = integration.node(given if at is None else {**given, AT: at})
    _require_end(found[REACHED] == 1)
    if at is None:
        return Solution(np.stack([given[BEGIN], given[END]]), np.stack([array(given[START]), array(found[RESULT])], -1))
    return Solution(at, along_last(found[RESULT], integration.problem.shape))


def _with_events(
    integration: Integration, given: dict[str, Any], events: list[Event], at: Any, most: int
) -> tuple[Solution, Any, Any]:
    """Record an integration with events; return its end and the state there as well."""
    found = with_events(integration, given, events, at, most)
    shape = integration.problem.shape
    _require_end(found.reached)
    recorder: Any = active()
    told = f"{shown_line(recorder.where())}sdgrad.solve_ivp: an event has more zeros than max_events={most}"
    RULES.require(recorder, found.are_all, ConvergenceError(told))
    if at is None:
        start = np.reshape(array(given[START]), -1)
        t, y = np.stack([given[BEGIN], found.t]), along_last(np.stack([start, found.y]), shape)
    else:
        t, y = at, along_last(found.within, shape)
    zeros, states = tuple(t for t, _ in found.events), tuple(np.reshape(y, (-1, *shape)) for _, y in found.events)
    status, message = (found.ends * 1, None) if any(e.terminal for e in events) else (0, MESSAGES[0])
    return (
        Solution(t, y, zeros, states, None, status, message),
        found.t,
        np.reshape(found.y, shape) if shape else found.y[0],
    )


def _solution(integration: Integration, given: dict[str, Any], t: Any) -> Any:
    """Record the solution at times."""
    times = np.reshape(array(t).astype(float), -1)
    rows, reached = solution_at(integration, given, times)
    _require_end(reached)
    recorder: Any = active()
    inside = (np.min(times) >= np.minimum(given[BEGIN], given[END])) & (
        np.max(times) <= np.maximum(given[BEGIN], given[END])
    )
    told = f"{shown_line(recorder.where())}sdgrad.solve_ivp: the solution is asked for outside of t_span"
    RULES.require(recorder, inside, ArgumentError(told))
    found = along_last(rows, integration.problem.shape)
    return found if np.ndim(t) else found[..., 0]


def _check(method: Any, t_span: Any) -> None:
    """Refuse methods that are unknown, and spans that have no two ends."""
    if method not in METHODS:
        stiff = "; 'BDF' and 'Radau' are those for stiff equations" if method == "LSODA" else ""
        raise ArgumentError(f"sdgrad.solve_ivp: method is one of {', '.join(METHODS)}, not {method!r}{stiff}")
    if not hasattr(t_span, "__len__") or len(t_span) != 2:
        raise ArgumentError(f"sdgrad.solve_ivp: t_span has two ends, (t0, t1), not {t_span!r}")


def _check_adjoint(adjoint: str, start: Any) -> None:
    """Refuse adjoints that are unknown, or not known of such states."""
    if adjoint not in ("discrete", "continuous"):
        raise ArgumentError(f"sdgrad.solve_ivp: adjoint is 'discrete' or 'continuous', not {adjoint!r}")
    if adjoint == "continuous" and start.dtype.kind == "c":
        raise ParseError("sdgrad.solve_ivp: the continuous adjoint takes real numbers: leave adjoint= out")


def _time(t: Any) -> Any:
    """Return a time as a number of the recording."""
    return known(np.full(1, t, float))[0] if isinstance(t, (int, float, np.number)) else t * 1.0


def _times(t_eval: Any, t_span: Sequence[Any]) -> Any:
    """Return the times that are asked for.

    :raises ValueError: they are known, and not in order within the span.
    """
    at = array(t_eval)
    if at.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    t0, t1 = t_span
    way = np.where(t1 < t0, -1.0, 1.0)
    _require(np.all((at - t0) * way >= 0.0) & np.all((at - t1) * way <= 0.0), "are not within `t_span`.")
    _require(np.all(np.diff(at) * way >= 0.0), "are not properly sorted.")
    return at.astype(float)


def _require(condition: Any, told: str) -> None:
    """Raise SciPy's error where times are not as they have to be: now, or when the program runs."""
    recorder: Any = active()
    if is_recorded(condition):
        where = shown_line(recorder.where())
        RULES.require(recorder, condition, ValueError(f"{where}Values in `t_eval` {told}"))
    elif not condition:
        raise ValueError(f"Values in `t_eval` {told}")


def _tolerances(start: Any, rtol: Any, atol: Any) -> tuple[Any, Any]:
    """Return the tolerances; that of arrays by element."""
    least = 100 * np.finfo(start.dtype).eps
    told = "sdgrad.solve_ivp: rtol and atol are known numbers, not ones that are computed"
    relative, absolute = (np.asarray(constant(tolerance, told), float) for tolerance in (rtol, atol))
    relative = np.maximum(relative, least)
    if np.any(absolute < 0) or absolute.ndim and absolute.shape != tuple(start.shape):
        raise ArgumentError("sdgrad.solve_ivp: atol is positive: a number, or an array of the shape of y0")
    return _by_element(relative), _by_element(absolute)


def _by_element(tolerance: np.ndarray) -> Any:
    return float(tolerance) if tolerance.ndim == 0 else known(tolerance.reshape(-1))


def _require_end(reached: Any) -> None:
    """Record that the integration reaches its end."""
    recorder: Any = active()
    told = (
        f"{shown_line(recorder.where())}sdgrad.solve_ivp did not reach the end of t_span: a step became too short, or "
    )
    more = "max_steps are too few"
    RULES.require(recorder, reached, ConvergenceError(told + more))
