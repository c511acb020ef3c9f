"""Take cotangents back through the steps of an integration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sdgrad.api.vjp import vjp
from sdgrad.program.custom_rule import COTANGENT
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.table import active, array
from sdgrad.solvers.algorithms.adaptive import pull_results, pull_times, walk_back
from sdgrad.solvers.implicit import recorded, shaped, sums, zeros
from sdgrad.solvers.initial_value.problem import (
    AT,
    BEGIN,
    COUNT,
    END,
    EVERY,
    RESULT,
    SAVED,
    START,
    TIMES,
    WRITTEN,
    Problem,
    moves,
    operands_of,
    step_of,
)


class Backward:
    """Record the way back through the steps.

    :param segment: the most steps from one state that was saved to the next.
    :param given: what the integration takes (``names``) and made, and the cotangents of that.
    """

    def __init__(self, problem: Problem, segment: int, given: Mapping[str, Any], names: Sequence[str]) -> None:
        self.problem, self.segment, self.given, self.names = problem, segment, given, names
        self.operands = operands_of({n: given[n] for n in names})
        self.seed = given[COTANGENT + RESULT]
        self.dense = AT in given
        self.sums = [sums(np.shape(p) or (1,), p.dtype) for p in self.operands if moves(p)]
        self.ends = sums((2,), float)  # cotangents of the begin and the end
        self.at: Any = zeros(np.shape(given[AT]), float) if self.dense else None

    def record(self) -> tuple:
        """Return the cotangents of what the integration takes, in order."""
        g = self.given
        recorder: Any = active()
        room = recorder.array(recorder.declare("states", (self.segment, self.problem.width), self.problem.dtype))
        state = recorded(walk_back, self.again, self.pull, self._last(), g[COUNT], g[EVERY], g[SAVED], room)
        state = self._pull_begun(state)
        begin, end = self.ends[0], self.ends[1]
        if COTANGENT + TIMES in g:
            begin, end = recorded(pull_times, g[COTANGENT + TIMES], g[COUNT], begin, end)
        shapes = [np.shape(p) for p in self.operands if moves(p)]
        sums = iter([np.reshape(s, n) if n else s[0] for s, n in zip(self.sums, shapes, strict=True)])
        found = {START: shaped(state, self.problem.shape), BEGIN: begin, END: end, AT: self.at}
        return tuple(found[n] if n in found else next(sums) for n in self.names if moves(g[n]))

    def _last(self) -> Any:
        """Return the cotangent of the state after the last step."""
        problem = self.problem
        if self.dense:
            return zeros((problem.width,), problem.dtype)
        own, rest = np.reshape(array(self.seed), -1), problem.width - problem.size
        return np.concatenate([own, zeros(rest, problem.dtype)]) if rest else own

    def _pull_begun(self, state: Any) -> Any:
        """Take the cotangent of what the first step takes to that of the state at the begin."""
        begun = self.problem.begun()
        if begun is None:
            return state
        start = np.reshape(array(self.given[START]), -1)
        of_t, of_y, *rest = vjp(begun, self.given[BEGIN], start, *self.operands)[1](state)
        self.ends[0] += of_t
        self._add(rest)
        return of_y

    def _add(self, rest: Sequence[Any]) -> None:
        """Add to the cotangents of the operands."""
        for total, c in zip(self.sums, [c for c in rest if c is not None], strict=True):
            total += np.reshape(array(c), total.shape)

    def again(self, k: Any, y: Any) -> Any:
        """Take a step again."""
        t, h = step_of(self.given, k)
        return self.problem.step(False, self.problem.chosen(self.given, k))(t, h, y, *self.operands)

    def pull(self, k: Any, y: Any, after: Any) -> Any:
        """Take cotangents through a step."""
        t, h = step_of(self.given, k)
        step = self.problem.step(self.dense, self.problem.chosen(self.given, k))
        found, pull = vjp(step, t, h, y, *self.operands)
        if self.dense:
            of_c, *own = self._pull_results(k, (found[1], y, t, h))
            of_t, of_h, of_y, *rest = pull(after, of_c)
            of_y, of_t, of_h = (a + b for a, b in zip((of_y, of_t, of_h), own, strict=True))
        else:
            of_t, of_h, of_y, *rest = pull(after)
        last = np.where(k == self.given[COUNT] - 1, of_h, 0.0)  # the other steps are as long as they were
        self.ends[0] += of_t - last
        self.ends[1] += last
        self._add(rest)
        if COTANGENT + SAVED in self.given:
            every = self.given[EVERY]
            of_y = of_y + np.where(k % every == 0, self.given[COTANGENT + SAVED][k // every], 0.0)
        return of_y

    def _pull_results(self, k: Any, values: tuple) -> tuple:
        """Take the cotangents of the results within a step to its polynomial, its state, its time and its length."""

        def pull_one(q: Any, sums: tuple) -> tuple:
            *own, self.at[q] = vjp(works_inside(partial(self.problem.value)), *values, self.given[AT][q])[1](
                self.seed[q]
            )
            return tuple(a + b for a, b in zip(sums, own, strict=True))

        first = tuple(v * 0.0 for v in values)
        return recorded(pull_results, pull_one, self.given[WRITTEN], k, first)
