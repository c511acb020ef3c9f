"""Solve initial value problems outside of programs: with SciPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.integrate

from sdgrad.errors import ConvergenceError
from sdgrad.solvers.initial_value.problem import along_last

MESSAGES = (
    "The solver successfully reached the end of the integration interval.",
    "A termination event occurred.",
)


@dataclass(frozen=True)
class Solution:
    """Hold the solution of an initial value problem.

    :param t: ``t_eval``, or else the two ends.
    :param y: the states at these times, along the last axis; NaN behind the end of the integration.
    :param t_events: the times of zeros of each event, then NaN.
    :param y_events: the states there, along the first axis as in SciPy.
    :param sol: the solution as a function of times within the span; None if it is not asked for.
    :param status: 1 if an event ended the integration, else 0.
    :param message: what that says in words; None if only a run of a program knows.
    :param success: True: what does not reach the end raises an error.
    """

    t: Any
    y: Any
    t_events: tuple[Any, ...] = ()
    y_events: tuple[Any, ...] = ()
    sol: Callable[[Any], Any] | None = None
    status: Any = 0
    message: str | None = MESSAGES[0]
    success: bool = True


def by_scipy(
    f: Callable,
    t_span: Any,
    y0: Any,
    method: str,
    t_eval: Any,
    args: Any,
    events: list,
    most: int,
    dense: bool,
    own: dict[str, Any],
) -> Solution:
    """Solve outside of programs."""
    start = np.asarray(y0)
    start = start if start.dtype.kind in "fc" else start.astype(float)

    def flat(function: Callable) -> Callable:
        return lambda t, y: np.reshape(
            np.asarray(function(t, y.reshape(start.shape) if start.shape else y[0], *args)), -1
        )

    watched = [_attributed(flat(g), direction, terminal) for g, direction, terminal in events]
    at = [t_span[0], t_span[1]] if t_eval is None and not events else t_eval
    own["atol"] = np.reshape(own["atol"], -1) if np.ndim(own["atol"]) else own["atol"]
    found = scipy.integrate.solve_ivp(flat(f), t_span, start.reshape(-1), method, at, dense, watched or None, **own)
    if not found.success:
        raise ConvergenceError(f"sdgrad.solve_ivp did not reach the end of t_span: {found.message}")
    if any(len(t) > most for t in found.t_events or ()):
        raise ConvergenceError(f"sdgrad.solve_ivp: an event has more zeros than max_events={most}")
    y, t = found.y.T, found.t
    if t_eval is None:
        t, y = t[[0, -1]], y[[0, -1]]
    elif len(t) < len(t_eval):
        t, y = np.asarray(t_eval, float), _padded(y, len(t_eval))
    zeros = [_padded(t, most) for t in found.t_events or ()]
    flat_states = (_padded(np.reshape(y, (-1, start.size)), most) for y in found.y_events or ())
    states = [y.reshape(most, *start.shape) for y in flat_states]
    solution = (lambda t: found.sol(t).reshape(*start.shape, *np.shape(t))) if dense else None
    y = along_last(y, start.shape).astype(start.dtype)
    return Solution(t, y, tuple(zeros), tuple(states), solution, found.status, found.message)


def _attributed(f: Callable, direction: float, terminal: int) -> Callable:
    def event(t: float, y: np.ndarray) -> float:
        return f(t, y)[0]

    event.direction, event.terminal = direction, terminal  # type: ignore[attr-defined]
    return event


def _padded(rows: np.ndarray, n: int) -> np.ndarray:
    """Return rows, and rows of NaN up to some number."""
    return np.concatenate([rows, np.full((n - len(rows), *rows.shape[1:]), np.nan, rows.dtype)])
