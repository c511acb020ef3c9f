"""Close equations that are solved over what they read, and say where their search begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.convert.callables import name_of
from sdgrad.errors import ArgumentError, ParseError
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import array
from sdgrad.record.recorder import Recorder
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.closed_functions import ClosedFunction, OfFunction

SEARCHED = 1e-3  # relative distance of solutions of SciPy's by its own tolerances


class Closed(ClosedFunction):
    """A function as a program that returns one array: ``f(*variables, *operands)``."""

    @staticmethod
    def of(f: Callable, variables: Sequence[Any], args: Sequence[Any]) -> Closed:
        """Close ``f(*variables, *args)`` in the recording that goes on.

        :raises ArgumentError: it does not return one array.
        """
        call = Call.of(AsArray(f), (*variables, *args), {})
        names = tuple(call.order[: len(variables)])
        if not call.nests.keys().isdisjoint(names):
            raise ArgumentError(f"{name_of(f)} is solved for one array, or one number: concatenate what it takes")
        found = Closed.of_call(call, names)
        if (count := len(found.signature.outputs)) != 1:
            raise ArgumentError(f"{name_of(f)} returns {count} results: one array is solved for")
        return found

    @property
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """Return the shape of the result, in a list."""
        return self.signature.result_shapes()

    def __call__(self, *values: Any) -> Any:
        """Record the function of its variables and its operands, in order."""
        (found,) = super().__call__(*values)
        return found


@dataclass(frozen=True)
class AsArray(OfFunction):
    """A function whose result is an array: SciPy takes lists of numbers as well."""

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return np.asarray(self.f(*args))

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call in a function that is recorded."""
        found = RecordingOperators().call(self.f, *args, **kwargs)
        return array(found) if isinstance(found, (list, tuple)) else found


@dataclass(frozen=True, eq=False)
class Equation:
    """``left(x, *operands) = right``.

    :param operands: their values where the equation is solved.
    :param right: None stands for zero.
    :param linear: the left side is, in ``x``: its derivative is the same everywhere.
    """

    left: Callable
    operands: tuple[Any, ...]
    right: Any = None
    linear: bool = False
    check: Callable[[Any], None] | None = None  # records what has to hold at the solution
    rough: float = 0.0  # how far, relative, SciPy's solution may be, which it searches only until a step is small


def start_of(x0: Any, what: str) -> Any:
    """Return where a search begins as real numbers, of which no derivative is taken.

    :raises ParseError: they are none.
    """
    no_nest(x0, what)
    first: Any = array(x0) if isinstance(x0, (list, tuple)) else x0
    kind = np.dtype(getattr(first, "dtype", type(first)))
    if kind.kind not in "fiu":
        raise ParseError(f"{what} takes real numbers, not {kind}")
    return detached(first if kind.kind == "f" else first * 1.0)


def no_nest(x: Any, what: str) -> None:
    """Refuse what is neither an array nor numbers.

    :raises ParseError: it is not.
    """
    parts = x if isinstance(x, (list, tuple)) else ()
    if x is None or isinstance(x, dict) or any(isinstance(p, (dict, tuple, list)) or np.ndim(p) for p in parts):
        raise ParseError(f"{what} takes an array or a number, not {type(x).__name__}: put all unknowns in one array")


def tolerance(tol: float, x: Any) -> float:
    """Return a relative tolerance that the type of a value can hold."""
    return max(tol, 8 * float(np.finfo(np.dtype(getattr(x, "dtype", float))).eps))
