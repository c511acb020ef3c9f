"""Record the search for the steps of an integration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import active, array
from sdgrad.solvers.algorithms.adaptive import emit_within, first_step, integrate
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
    SAVED,
    START,
    TIMES,
    WRITTEN,
    Options,
    Problem,
    operands_of,
)


class Search:
    """Record the steps, with what the way back needs of them."""

    def __init__(self, problem: Problem, options: Options, given: Mapping[str, Any]) -> None:
        self.problem, self.options, self.given = problem, options, given
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
        emit = lambda *step: step[-1]  # noqa: E731
        if AT in self.given:
            out = recorder.array(made[RESULT])
            emit = lambda *step: self.emit(out, direction, *step)  # noqa: E731
        tables = tuple(recorder.array(made[n]) for n in (TIMES, SAVED, WRITTEN))
        last, *numbers = self.steps(emit, (t0, y0, f, t1, direction, size, options.max_step), tables)
        if AT not in self.given:
            recorder.copy(tensor_of(array(np.reshape(last, self.problem.shape))), made[RESULT])
        return [(n, v * 1) for n, v in zip((COUNT, EVERY, REACHED), numbers, strict=True)]

    def steps(self, emit: Callable, state: tuple, tables: tuple) -> tuple:
        """Take the steps."""
        return recorded(integrate, self.take, emit, *state, self.problem.method.order, *tables)

    def take(self, t: Any, y: Any, f: Any, h: Any) -> tuple:
        """Take a step: where it ends, the slopes on the way, and its error."""
        end, k = self.problem.method.step(self.slope, t, y, f, h)
        scale = self.options.atol + np.maximum(np.abs(y), np.abs(end)) * self.options.rtol
        return end, tuple(k), self.problem.method.error(k, h, scale)

    def emit(self, out: Any, direction: Any, t: Any, y: Any, h: Any, new: Any, end: Any, k: Any, done: Any) -> Any:
        """Write what is asked for within a step, and return how much is written."""
        problem = self.problem

        def interpolant() -> Any:
            return problem.method.interpolant(self.slope, t, y, h, end, k)

        def value(coefficients: Any, y: Any, at: Any) -> Any:
            return problem.value(coefficients, y, t, h, at)

        return recorded(emit_within, interpolant, value, self.given[AT], out, direction, y, new, done)
