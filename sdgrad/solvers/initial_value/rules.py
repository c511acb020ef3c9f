"""The derivatives of an integration: those of its steps, taken as they were."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sdgrad.program.custom_rule import COTANGENT, TANGENT
from sdgrad.record.calls import WorksInside
from sdgrad.solvers.initial_value.backward import Backward
from sdgrad.solvers.initial_value.forward import Forward
from sdgrad.solvers.initial_value.problem import RESULT, SAVED, TABLES, TIMES

if TYPE_CHECKING:
    from sdgrad.solvers.initial_value.integration import Integration


@dataclass(frozen=True, eq=False)
class StepsRule(WorksInside):
    """Base of the rules.

    :param names: what the integration takes; of ``moving`` there are derivatives.
    :param made: what it makes.
    :param kept: the steps are kept; if not, they are searched again.
    """

    integration: Integration
    names: tuple[str, ...]
    moving: tuple[str, ...]
    made: tuple[str, ...]
    kept: bool

    @property
    def __name__(self) -> str:
        return "solve_ivp"

    @property
    def derivatives(self) -> tuple[str, ...]:
        """Return the names of the cotangents, or tangents, that the rule takes."""
        raise NotImplementedError

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        taken = (*self.names, *(TABLES if self.kept else ()), *self.derivatives)
        return inspect.Signature([inspect.Parameter(n, kind) for n in taken])

    def given(self, values: tuple) -> Mapping[str, Any]:
        """Return what the rule takes by name, and the steps."""
        given = dict(zip(self.__signature__.parameters, values, strict=True))
        return given if self.kept else {**given, **self.integration.node({n: given[n] for n in self.names})}


class CotangentsRule(StepsRule):
    """The adjoint: cotangents of what is asked for, to cotangents of what the integration takes."""

    @property
    def derivatives(self) -> tuple[str, ...]:
        return (COTANGENT + RESULT,)

    def __call__(self, *values: Any) -> tuple:
        """Record the way back."""
        integration = self.integration
        return Backward(integration.problem, integration.segment, self.given(values), self.names).record()


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
        return Forward(self.integration.problem, given, self.names).record(self.integration.results(given))
