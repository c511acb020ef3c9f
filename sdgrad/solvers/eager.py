"""Let solvers be called outside of recorded functions: compiled for the function that they solve."""

from __future__ import annotations

import copy
import functools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from sdgrad.api.forward import ForwardFunction
from sdgrad.config import config
from sdgrad.convert.callables import hashable
from sdgrad.errors import ArgumentError
from sdgrad.record.calls import WorksInside, works_inside
from sdgrad.record.functions.table import active

F = TypeVar("F", bound=Callable)
INSTEAD = {"linear_solve": ": for a matrix use np.linalg.solve, or scipy.sparse.linalg.spsolve"}
MOST = 64  # functions whose compiled solvers are kept
_compiled: OrderedDict[Hashable, ForwardFunction] = OrderedDict()


@dataclass(frozen=True, eq=False)
class Solved(WorksInside):
    """A solver of a function, with options: a function of where it begins, and of the function's arguments."""

    call: Callable
    function: Callable
    options: Mapping[str, Any]

    @property
    def __name__(self) -> str:
        return self.call.__name__

    def __call__(self, first: Any, *args: Any) -> Any:
        """Solve."""
        return self.call(self.function, first, args, **self.options)


def _key(value: Any) -> Hashable:
    """Return what stands for an option: its content."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return (np.shape(value), np.asarray(value).tobytes())
    return hashable(value)


def solver(f: F) -> F:
    """Decorate a function ``f(function, first, args, **options)`` that records: it works outside of recordings too."""

    @functools.wraps(f)
    def call(function: Callable, first: Any, args: Sequence[Any] = (), **options: Any) -> Any:
        if not callable(function):
            given = "a matrix" if np.ndim(function) == 2 else type(function).__name__
            raise ArgumentError(f"sdgrad.{f.__name__} takes a function, not {given}{INSTEAD.get(f.__name__, '')}")
        args = args if isinstance(args, (tuple, list)) else (args,)  # as SciPy has it
        if active() is not None:
            return f(function, first, args, **options)
        options = {n: copy.copy(v) for n, v in options.items()}
        key = (f, hashable(function), tuple(sorted((n, _key(v)) for n, v in options.items())))
        if key not in _compiled:
            _compiled[key] = ForwardFunction(Solved(call, function, options), False)
            while len(_compiled) > MOST:
                _compiled.popitem(last=False)
        _compiled.move_to_end(key)
        with config.override(verify="never"):  # there is nothing in Python to compare with
            return _compiled[key](first, *args)

    return cast(F, works_inside(call))
