"""Record integrations of initial value problems, each as one node: discretise, then differentiate.

The derivative is that of the steps, taken as they were found. The states before each step, or before some of them, are
kept, and the way back takes one step at a time again: no tape is as long as the integration (Griewank and Walther
2008, chapter 12).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sdgrad.program.custom_rule import CustomRule
from sdgrad.program.tree import Node
from sdgrad.record.custom import Variables
from sdgrad.record.functions.table import active
from sdgrad.solvers.initial_value.continuous import ContinuousRule
from sdgrad.solvers.initial_value.problem import (
    AT,
    COUNT,
    EVERY,
    ORDERS,
    REACHED,
    RESULT,
    SAVED,
    TIMES,
    WRITTEN,
    Options,
    Problem,
    moves,
)
from sdgrad.solvers.initial_value.rules import AllCotangentsRule, CotangentsRule, TangentsRule
from sdgrad.solvers.initial_value.search import Search

BYTES = 32 << 20  # of states that are kept before any is computed again


class Result(NamedTuple):
    """The shape and the type of something that an integration makes."""

    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True, eq=False)
class Integration:
    """The integration of a problem as a node."""

    problem: Problem
    options: Options
    search: type[Search] = Search

    def node(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Record the node.

        :param given: the state at the begin, the begin and the end, maybe the times that are asked for, and what the
            slope takes besides.
        :returns: the states at these times, in rows, or else that at the end; and the steps.
        """
        recorder: Any = active()
        variables = Variables(recorder)
        given = {name: variables.add(name, value) for name, value in given.items()}
        results = self.results(given)
        made = {n: recorder.declare(n, r.shape, r.dtype) for n, r in results.items()}
        block: list[Node] = []
        with recorder.inside(block):
            for name, value in self.search(self.problem, self.options, given).record(made):
                recorder.write(made[name], (), value)
        for name, tensor in made.items():
            variables.operands[name] = variables.operand(tensor, not tensor.shape)
        recorder.append(variables.call(self._rules(given, tuple(made)), block))
        return {n: recorder.array(t) if t.shape else recorder.read(t, ()) for n, t in made.items()}

    def _rules(self, given: Mapping[str, Any], made: tuple[str, ...]) -> CustomRule:
        """Return the derivatives. In a loop the steps are searched again: else each trip would keep its own."""
        recorder: Any = active()
        names, moving = tuple(given), tuple(n for n, v in given.items() if moves(v))
        kept = not recorder.outside_places.is_in_loop
        rough = self.problem.rough * self.options.rtol if self.problem.rough else 0.0
        if self.options.continuous:
            rule = ContinuousRule(self.problem, self._of_another, names, moving)
            jvp = TangentsRule(self.problem, self.segment, self.node, self.results, names, moving, kept)
            return CustomRule("solve_ivp", names, vjp=rule, jvp=jvp, results=made, rough=rough)
        common = (self.problem, self.segment, self.node, self.results, names, moving, kept)
        of_result = CotangentsRule(*common)
        some = {frozenset({RESULT, *more}): of_result for more in ((), (REACHED,))}
        vjp, jvp = AllCotangentsRule(*common), TangentsRule(*common)
        return CustomRule("solve_ivp", names, vjp=vjp, jvp=jvp, results=made, of_some=some, rough=rough)

    def _of_another(self, problem: Problem, given: Mapping[str, Any]) -> dict[str, Any]:
        """Record the integration of another problem, as exactly."""
        atol = self.options.atol
        options = replace(self.options, atol=atol if isinstance(atol, float) else np.min(atol), first_step=None)
        return replace(self, problem=problem, options=options).node(given)

    def results(self, given: Mapping[str, Any]) -> dict[str, Result]:
        """Return shapes and types of what the node makes."""
        n, most, dtype = self.problem.width, self.options.max_steps, self.problem.dtype
        shape = (given[AT].shape[0], self.problem.size) if AT in given else self.problem.shape
        states = min(most, max(self.segment, BYTES // (8 * max(n, 1))))
        found = {RESULT: (shape, dtype), TIMES: ((most + 1,), float), SAVED: ((2 * ((states + 1) // 2), n), dtype)}
        found |= {name: ((most + 1,), int) for name in (WRITTEN, ORDERS) if name in self.problem.tables}
        found |= {name: ((), int) for name in (COUNT, EVERY, REACHED)}
        return {name: Result(s, np.dtype(d)) for name, (s, d) in found.items()}

    @property
    def segment(self) -> int:
        """Return how many steps there are at most from one state that is kept to the next."""
        return int(np.ceil(np.sqrt(self.options.max_steps)))
