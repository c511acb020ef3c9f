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
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.solvers.algorithms.events import follow, if_there
from sdgrad.solvers.closed import Closed
from sdgrad.solvers.implicit import recorded, shaped, sums, zeros
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

LITTLE = 1e-200  # where there is no zero: a step that changes nothing, and depends on what others do


@dataclass(frozen=True, eq=False)
class Event:
    """A function whose zeros are looked for.

    :param direction: the sign of its slope there; 0 stands for both.
    :param terminal: which of its zeros ends the integration; 0: none does.
    """

    function: Callable[[Any, Any], Any]
    direction: float
    terminal: int

    @staticmethod
    def all_of(events: Any, most: int) -> list[tuple[Callable, float, int]]:
        """Return functions as the caller gives them, with their attributes.

        :param most: how many zeros of each may be counted.

        :raises TypeError: one is no function.
        :raises ValueError: one is to end the integration at a zero of no number.
        :raises ArgumentError: that zero is beyond those that are counted.
        """
        given = [] if events is None else [events] if callable(events) else list(events)
        found = []
        for f in given:
            if not callable(f):
                raise TypeError(f"sdgrad.solve_ivp: events are functions of a time and a state, not {f!r}")
            terminal = getattr(f, "terminal", None) or 0
            if int(terminal) != terminal or terminal < 0:
                raise ValueError("The `terminal` attribute of each event must be a boolean or positive integer.")
            if terminal > most:
                told = f"max_events={most} are too few for one that ends the integration at zero number {terminal}"
                raise ArgumentError(f"sdgrad.solve_ivp: {told}")
            found.append((f, float(getattr(f, "direction", 0.0)), int(terminal)))
        return found

    @staticmethod
    def closed(f: Callable, direction: float, terminal: int, start: Any, args: Sequence[Any]) -> Event:
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
    few = Result((2, problem.width), np.dtype(problem.dtype))  # of states: there is no way back
    results = {**integration.results(given), SAVED: few}
    made = {n: recorder.declare(n, r.shape, r.dtype) for n, r in results.items()}
    watch = Watch(
        tuple((e.function, e.direction, e.terminal) for e in events),
        known(np.full((len(events), most), np.nan)) * 1.0,
        sums((len(events),), int),
        sums((2,), float),
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
            h = -value * np.where(is_there, 1.0 / np.where(is_there, rate, 1.0), LITTLE)
            t, y = t + h, along(slope, t, y, tangent, h)
        return t, y

    rooms = zeros(times.shape, float), zeros(states.shape, states.dtype)
    found = recorded(follow, moved, times, states, *rooms)
    is_there, call = ~np.isnan(times), RecordingOperators().call
    return call(if_there, found[0], is_there), call(if_there, found[1], is_there[:, None])


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
            k = event.terminal - 1
            is_it = ends & (row[k] == stop)
            t, y = np.where(is_it, times[k], t), np.where(is_it, states[k], y)
    within = None if at is None else np.where(((at - last) * way > 0.0)[:, None], np.nan, rows[places.shape[0] : -1])
    return Found(t, y, within, found, np.all(watch.counts <= most), reached, ends)


class Found(NamedTuple):
    """The end of an integration, the states at times that are asked for, and events with their times and states."""

    t: Any
    y: Any
    within: Any
    events: list
    are_all: Any
    reached: Any
    ends: Any


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
