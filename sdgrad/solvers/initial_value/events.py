"""Find events of an integration: zeros of functions of the time and the state, which may end it.

A search that carries no derivative finds them. Each is then taken from a solution that does by two steps of Newton's
method along the trajectory: they change no digit that counts, and make its time and state functions of all that the
solution depends on, with their derivatives to the third order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sdgrad.api.jvp import jvp
from sdgrad.errors import ArgumentError
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import active, array, known
from sdgrad.solvers.algorithms.events import follow
from sdgrad.solvers.closed import Closed
from sdgrad.solvers.implicit import recorded, shaped, zeros
from sdgrad.solvers.initial_value.integration import Integration, Result
from sdgrad.solvers.initial_value.problem import (
    AT,
    BEGIN,
    END,
    REACHED,
    RESULT,
    SAVED,
    operands_of,
)
from sdgrad.solvers.initial_value.search import Watch


@dataclass(frozen=True, eq=False)
class Event:
    """A function whose zeros are looked for.

    :param direction: the sign of its slope there; 0 stands for both.
    :param terminal: the integration ends at its first zero.
    """

    function: Callable[[Any, Any], Any]
    direction: float
    terminal: bool

    @staticmethod
    def all_of(events: Any) -> list[tuple[Callable, float, bool]]:
        """Return functions as the caller gives them, with their attributes.

        :raises ArgumentError: one ends the integration after several zeros.
        """
        given = [] if events is None else [events] if callable(events) else list(events)
        found = []
        for f in given:
            terminal = getattr(f, "terminal", False)
            if terminal not in (False, True, 0, 1):
                raise ArgumentError("sdgrad.solve_ivp: an event ends the integration at its first zero or at none")
            found.append((f, float(getattr(f, "direction", 0.0)), bool(terminal)))
        return found

    @staticmethod
    def closed(f: Callable, direction: float, terminal: bool, start: Any, args: Sequence[Any]) -> Event:
        """Return an event whose function is recorded for states of a shape."""
        closed = Closed.of(f, (np.float64(0), start), args)
        if closed.shapes != [()] and closed.shapes != [(1,)]:
            raise ArgumentError(f"sdgrad.solve_ivp: an event is one number, not of shape {closed.shapes[0]}")
        operands, shape = tuple(closed.operands.values()), tuple(start.shape)

        def function(t: Any, y: Any) -> Any:
            return np.reshape(array(closed(t, shaped(y, shape), *operands)), -1)[0]

        return Event(works_inside(function), direction, terminal)


def search(integration: Integration, given: Mapping[str, Any], events: Sequence[Event], most: int) -> Watch:
    """Record a search for events, without derivatives."""
    recorder: Any = active()
    problem = integration.problem
    given = {n: detached(v) for n, v in given.items()}
    few = Result((2, problem.size), np.dtype(problem.dtype))  # of states: there is no way back
    results = {**integration.results(given), SAVED: few}
    made = {n: recorder.declare(n, r.shape, r.dtype) for n, r in results.items()}
    watch = Watch(
        tuple((e.function, e.direction, e.terminal) for e in events),
        known(np.full((len(events), most), np.nan)) * 1.0,
        zeros(len(events), int),
        zeros(2, float),
    )
    integration.search(problem, integration.options, given, watch).record(made)
    return watch


def followed(integration: Integration, given: Mapping[str, Any], event: Event, times: Any, states: Any) -> tuple:
    """Record where zeros of an event are, and the states there, as functions of what the solution depends on.

    :param times: those that the search found; NaN where there is none.
    :param states: the solution at these times, in rows.
    """
    slope = integration.problem.slope(operands_of(given))

    def moved(t: Any, y: Any) -> tuple:
        is_there = ~np.isnan(t)
        t = np.where(is_there, t, given[END])
        for _ in range(2):
            tangent = slope(t, y)
            value, rate = jvp(event.function, (t, y), (t * 0.0 + 1.0, tangent))
            h = np.where(is_there, -value / np.where(is_there, rate, 1.0), 0.0)
            t, y = t + h, along(slope, t, y, tangent, h)
        return np.where(is_there, t, np.nan), np.where(is_there, y, np.nan)

    rooms = zeros(times.shape, float), zeros(states.shape, states.dtype)
    return recorded(follow, moved, times, states, *rooms)


def with_events(
    integration: Integration, given: Mapping[str, Any], events: Sequence[Event], at: Any, most: int
) -> Found:
    """Record an integration up to the first event that ends it."""
    watch = search(integration, given, events, most)
    ends, stop = watch.stop[0] == 1.0, watch.stop[1]
    last = np.where(ends, stop, given[END])
    way = np.where(given[END] < given[BEGIN], -1.0, 1.0)
    places = np.reshape(np.where(np.isnan(watch.table), last, watch.table), -1)
    asked = zeros(0, float) if at is None else np.where((at - last) * way > 0.0, last, at)
    rows, reached = solution_at(integration, {**given, END: last}, np.concatenate([places, asked, np.reshape(last, 1)]))
    found = []
    for i, event in enumerate(events):
        found.append(followed(integration, given, event, watch.table[i], rows[i * most : (i + 1) * most]))
    t, y = last, rows[-1]
    for event, (times, states), row in zip(events, found, watch.table, strict=True):
        if event.terminal:
            is_it = ends & (row[0] == stop)
            t, y = np.where(is_it, times[0], t), np.where(is_it, states[0], y)
    within = None if at is None else np.where(((at - last) * way > 0.0)[:, None], np.nan, rows[places.shape[0] : -1])
    return Found(t, y, within, found, np.all(watch.counts <= most), reached)


class Found(NamedTuple):
    """The end of an integration, the states at times that are asked for, and events with their times and states."""

    t: Any
    y: Any
    within: Any
    events: list
    are_all: Any
    reached: Any


def solution_at(integration: Integration, given: Mapping[str, Any], times: Any) -> tuple[Any, Any]:
    """Record the states at times in any order, in rows, and whether the end is reached."""
    way = np.where(given[END] < given[BEGIN], -1.0, 1.0)
    order = np.argsort(detached(times) * way, kind="stable")
    found = integration.node({**given, AT: times[order]})
    return found[RESULT][np.argsort(order)], found[REACHED] == 1


def along(slope: Callable, t: Any, y: Any, first: Any, h: Any) -> Any:
    """Take a step of the classical method of order 4."""
    second = slope(t + 0.5 * h, y + 0.5 * h * first)
    third = slope(t + 0.5 * h, y + 0.5 * h * second)
    fourth = slope(t + h, y + h * third)
    return y + h / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
