"""Take tangents through the steps of an integration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sdgrad.api.jvp import jvp
from sdgrad.program.custom_rule import TANGENT
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import active, array
from sdgrad.solvers.algorithms.adaptive import push_results, push_times, walk_forward
from sdgrad.solvers.implicit import recorded
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


class Forward:
    """Record the way of tangents through the steps.

    :param given: what the integration takes (``names``) and made, and the tangents of what it takes.
    :param made: the names of what it makes.
    """

    def __init__(self, problem: Problem, given: Mapping[str, Any], names: Sequence[str]) -> None:
        self.problem, self.given = problem, given
        self.operands = operands_of({n: given[n] for n in names})
        self.moved = operands_of({n: given[TANGENT + n] if moves(given[n]) else None for n in names})
        self.begin, self.end = given[TANGENT + BEGIN], given[TANGENT + END]

    def record(self, made: Mapping[str, Any]) -> tuple:
        """Return the tangents of what the integration makes, in order."""
        recorder: Any = active()
        tangents = {n: recorder.declare(n, v.shape, v.dtype) for n, v in made.items()}
        room = {n: recorder.array(t) for n, t in tangents.items() if t.shape}
        g = self.given
        self.out: Any = room.get(RESULT) if AT in g else None
        last = recorded(walk_forward, self.push, self._begun(), g[COUNT], g[EVERY], g[SAVED], room[SAVED])
        recorded(push_times, room[TIMES], g[COUNT], self.begin, self.end)
        if self.out is None:
            last = last[: self.problem.size]
            recorder.copy(tensor_of(array(np.reshape(last, self.problem.shape))), tangents[RESULT])
        return tuple(room[n] if n in room else recorder.read(t, ()) for n, t in tangents.items())

    def _begun(self) -> Any:
        """Return the tangent of what the first step takes."""
        begun = self.problem.begun()
        start, moved = (np.reshape(array(self.given[n]), -1) for n in (START, TANGENT + START))
        if begun is None:
            return moved
        return jvp(begun, (self.given[BEGIN], start, *self.operands), (self.begin, moved, *self.moved))[1]

    def push(self, k: Any, y: Any, before: Any) -> tuple:
        """Take tangents through a step: return the state after it, and its tangent."""
        t, h = step_of(self.given, k)
        dh = np.where(k == self.given[COUNT] - 1, self.end - self.begin, 0.0)  # the others are as long as they were
        values, moved = (t, h, y, *self.operands), (self.begin, dh, before, *self.moved)
        step = self.problem.step(self.out is not None, self.problem.chosen(self.given, k))
        found, tangent = jvp(step, values, moved)
        if self.out is None:
            return found, tangent
        self._push_results(k, (found[1], y, t, h), (tangent[1], before, self.begin, dh))
        return found[0], tangent[0]

    def _push_results(self, k: Any, values: tuple, moved: tuple) -> None:
        """Take tangents to the results within a step."""

        def push_one(q: Any) -> None:
            at, moved_at = self.given[AT][q], self.given[TANGENT + AT][q]
            value = works_inside(partial(self.problem.value))
            self.out[q] = jvp(value, (*values, at), (*moved, moved_at))[1]

        recorded(push_results, push_one, self.given[WRITTEN], k)
