"""The derivatives of an integration: those of its steps, taken as they were."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sdgrad.program.custom_rule import COTANGENT, TANGENT
from sdgrad.record.named_rule import NamedRule
from sdgrad.solvers.initial_value.backward import Backward
from sdgrad.solvers.initial_value.forward import Forward
from sdgrad.solvers.initial_value.problem import RESULT, SAVED, TIMES, Problem


@dataclass(frozen=True, eq=False)
class StepsRule(NamedRule):
    """Base of the rules.

    :param segment: the most steps from one state that was saved to the next.
    :param node: records the integration; ``results`` are the shapes and types of what it makes.
    :param names: what the integration takes; of ``moving`` there are derivatives.
    :param kept: the steps are kept; if not, they are searched again.
    """

    problem: Problem
    segment: int
    node: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    results: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    names: tuple[str, ...]
    moving: tuple[str, ...]
    kept: bool

    label = "solve_ivp"

    @property
    def derivatives(self) -> tuple[str, ...]:
        """Return the names of the cotangents, or tangents, that the rule takes."""
        raise NotImplementedError

    @property
    def taken(self) -> tuple[str, ...]:
        return (*self.names, *(self.problem.tables if self.kept else ()), *self.derivatives)

    def given(self, values: tuple) -> Mapping[str, Any]:
        """Return what the rule takes by name, and the steps."""
        given = self.named(values)
        return given if self.kept else {**given, **self.node({n: given[n] for n in self.names})}


class CotangentsRule(StepsRule):
    """The adjoint: cotangents of what is asked for, to cotangents of what the integration takes."""

    @property
    def derivatives(self) -> tuple[str, ...]:
        return (COTANGENT + RESULT,)

    def __call__(self, *values: Any) -> tuple:
        """Record the way back."""
        return Backward(self.problem, self.segment, self.given(values), self.names).record()


class AllCotangentsRule(CotangentsRule):
    """The adjoint where derivatives of rules read the steps: these and the states have cotangents, too."""

    @property
    def derivatives(self) -> tuple[str, ...]:
        return tuple(COTANGENT + n for n in (RESULT, SAVED, TIMES))


class TangentsRule(StepsRule):
    """The tangents of all that an integration makes."""

    @property
    def derivatives(self) -> tuple[str, ...]:
        return tuple(TANGENT + n for n in self.moving)

    def __call__(self, *values: Any) -> tuple:
        """Record the way forward."""
        given = self.given(values)
        return Forward(self.problem, given, self.names).record(self.results(given))
