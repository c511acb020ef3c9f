"""Record the search for the steps of an integration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import active, array
from sdgrad.solvers.algorithms.adaptive import emit_within, first_step, integrate
from sdgrad.solvers.algorithms.events import look
from sdgrad.solvers.algorithms.runge_kutta import norm
from sdgrad.solvers.implicit import recorded
from sdgrad.solvers.initial_value.problem import (
    AT,
    BEGIN,
    COUNT,
    END,
    EVERY,
    REACHED,
    RESULT,
    START,
    Options,
    Problem,
    operands_of,
)


class Search:
    """Record the steps, with what the way back needs of them."""

    def __init__(
        self, problem: Problem, options: Options, given: Mapping[str, Any], watch: Watch | None = None
    ) -> None:
        self.problem, self.options, self.given, self.watch = problem, options, given, watch
        self.slope = self.problem.slope(operands_of(given))

    def record(self, made: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Record the search, and return the numbers among its results.

        :param made: memory for them, by name.
        """
        recorder: Any = active()
        method, options = self.problem.method, self.options
        t0, t1, y0 = self.given[BEGIN], self.given[END], np.reshape(array(self.given[START]), -1)
        direction = np.where(t1 < t0, -1.0, 1.0)
        f = self.slope(t0, y0)
        size = options.first_step
        if size is None:
            limits = (options.max_step, method.order, options.rtol, options.atol)
            size = first_step(self.slope, norm, t0, y0, f, t1, direction, *limits)
        out = recorder.array(made[RESULT]) if AT in self.given else None
        emit = (lambda *step: step[-1] * 1) if out is None else (lambda *step: self.emit(out, direction, *step))
        if self.watch is not None:
            emit = lambda *step: self.watched(*step)  # noqa: E731
        tables = tuple(recorder.array(made[n]) for n in self.problem.tables if made[n].shape)
        last, *numbers = self.steps(emit, (t0, y0, f, t1, direction, size, options.max_step), tables)
        if AT not in self.given:
            recorder.copy(tensor_of(array(np.reshape(last, self.problem.shape))), made[RESULT])
        return [(n, v * 1) for n, v in zip((COUNT, EVERY, REACHED), numbers, strict=True)]

    def steps(self, emit: Callable, state: tuple, tables: tuple) -> tuple:
        """Take the steps; ``emit`` returns a new number, as the loop has memory for it."""
        return recorded(integrate, self.take, emit, self.goes_on, *state, self.problem.method.order, *tables)

    def goes_on(self) -> Any:
        """Return False where an event ends the integration."""
        return True if self.watch is None else self.watch.stop[0] == 0.0

    def take(self, t: Any, y: Any, f: Any, h: Any) -> tuple:
        """Take a step: where it ends, the slopes on the way, and its error."""
        end, k = self.problem.method.step(self.slope, t, y, f, h)
        scale = self.options.atol + np.maximum(np.abs(y), np.abs(end)) * self.options.rtol
        return end, tuple(k), self.problem.method.error(k, h, scale)

    def emit(self, out: Any, direction: Any, t: Any, y: Any, h: Any, new: Any, end: Any, k: Any, done: Any) -> Any:
        """Write what is asked for within a step, and return how much is written."""
        interpolant, value = self.polynomial(t, y, h, end, k)
        return recorded(emit_within, interpolant, value, self.given[AT], out, direction, new, done)

    def watched(self, t: Any, y: Any, h: Any, new: Any, end: Any, k: Any, done: Any) -> Any:
        """Look for events within a step."""
        assert self.watch is not None
        tables = (self.watch.table, self.watch.counts, self.watch.stop)
        recorded(look, self.watch.events, *self.polynomial(t, y, h, end, k), t, y, h, new, end, *tables)
        return done * 1

    def polynomial(self, t: Any, y: Any, h: Any, end: Any, k: Any) -> tuple[Callable, Callable]:
        """Return a function that makes the polynomial of a step, and one that evaluates it."""
        problem = self.problem

        def interpolant() -> Any:
            return problem.method.interpolant(self.slope, t, y, h, end, k)

        def value(coefficients: Any, at: Any) -> Any:
            return problem.value(coefficients, y, t, h, at)

        return interpolant, value


class Watch(NamedTuple):
    """Events to look for, and memory for what is found; see :func:`sdgrad.solvers.algorithms.events.look`."""

    events: tuple
    table: Any
    counts: Any
    stop: Any
