"""Close a recorded function over what it reads: a program of its variables and of everything else, as arguments too.

The rule of a node is recorded apart from the function that has the node. What the node's function reads from there, by
closure, reaches the rule as operands, and has its derivative.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sdgrad.convert.callables import name_of, python_function
from sdgrad.errors import ParseError
from sdgrad.program.naming import is_shared
from sdgrad.program.tree import Program
from sdgrad.record.calls import WorksInside, closed, splice
from sdgrad.record.functions.table import active, known, own
from sdgrad.record.index_arrays import checked_operands
from sdgrad.runtime.call.checks import Checks
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.communicating import communicates
from sdgrad.specialize.nested_calls import with_fixed
from sdgrad.specialize.signature import Signature


@dataclass(frozen=True)
class OfFunction:
    """A function made of another one, which has its name and its arguments."""

    f: Callable

    @property
    def __name__(self) -> str:
        return name_of(self.f)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(python_function(self.f))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.f(*args, **kwargs)


C = TypeVar("C", bound="ClosedFunction")


@dataclass(eq=False)
class ClosedFunction(WorksInside):
    """A function as a program: ``f(*variables, *operands)``, which returns its results in a list.

    :param variables: the names of its first arguments.
    :param operands: the values of the others where the function was closed, by name.
    :param shared: what its communications need: the same in all programs.
    """

    signature: Signature
    variables: tuple[str, ...]
    operands: Mapping[str, Any]
    checks: Mapping[str, Checks]
    shared: Mapping[str, np.ndarray]

    @classmethod
    def of_call(cls: type[C], call: Call, variables: Sequence[str] = ()) -> C:
        """Close the function of a call in the recording that goes on.

        :param variables: leaves among the call's arguments that stay variables.
        """
        recorder = active()
        signature, arguments = with_fixed(call.f, call.arguments, lambda examples: Signature.of(call.f, examples))
        arguments = checked_operands(recorder, signature.limits, arguments)
        leaves = {n: v for n, v in arguments.items() if n not in variables}
        alone = {n: v for n, v in signature.closure.items() if isinstance(v, Checks) or is_shared(n)}
        taken = {**leaves, **{n: v for n, v in signature.closure.items() if n not in alone}}
        used = {*signature.program.arguments, *signature.program.symbols}
        operands = {n: closed(recorder, v) for n, v in taken.items() if n in used}
        checks = {n: v for n, v in alone.items() if isinstance(v, Checks)}
        shared = {n: v for n, v in alone.items() if n not in checks}
        return cls(signature, tuple(variables), operands, checks, shared)

    @property
    def program(self) -> Program:
        """Return the function's program."""
        return self.signature.program

    def __call__(self, *values: Any) -> Any:
        """Record the function of its variables and its operands, in order."""
        return self._of(values, {}, {n: known(np.zeros(1, np.int64)) for n in self.checks})

    def check(self, *variables: Any) -> None:
        """Record the function's own checks (``assert``, ``raise``, indices), which a call makes none of."""
        if self.checks and communicates(self.signature):
            told = "communicates, and checks what only a run knows (assert, raise, an index): leave the checks out here"
            raise ParseError(f"'{self.program.name}' {told}")
        if self.checks:
            self.checked(*variables, *self.operands.values())

    def checked(self, *values: Any) -> list[Any]:
        """Record the function with its checks."""
        return self._of(values, self.checks, {})

    def _of(self, values: Sequence[Any], checks: Mapping[str, Checks], unchecked: Mapping[str, Any]) -> list[Any]:
        given = dict(zip((*self.variables, *self.operands), map(own, values), strict=True))
        shapes = self.signature.result_shapes()
        return splice(active(), self.program, {**checks, **self.shared}, {**given, **unchecked}, shapes)
