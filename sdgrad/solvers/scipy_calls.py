"""Read the arguments that solvers of SciPy share, and make what they return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import OptimizeResult

from sdgrad.errors import ParseError
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.table import active, array, own
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.solvers.closed import start_of, tolerance

TOL = 1e-12  # where SciPy asks for less
STEPS = 500


class Found(OptimizeResult):
    """What a solver of SciPy's returns: some of its entries."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __missing__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ParseError(
            f"the result of this function has no recorded '{name}': it has {', '.join(sorted(self)) or 'no entries'}"
        )


def found(**entries: Any) -> Any:
    """Return a result that the recording made."""
    return active().reads.made(Found(entries))


def of_array(f: Any, args: Any = (), first: bool = False, **kwargs: Any) -> Callable:
    """Return a function of SciPy's user as one of an array alone, whose result is an array or a number.

    :param first: the function returns its value and its derivative.
    """
    rest = args if isinstance(args, tuple) else (args,)

    def call(x: Any) -> Any:
        value = RecordingOperators().call(f, x, *map(own, rest), **kwargs)
        return own_array(value[0] if first else value)

    return works_inside(call)


def own_array(value: Any) -> Any:
    """Return a result as an array or a number of the recording."""
    return array(value) if isinstance(value, (list, tuple)) else value


def of_number(f: Any, args: Any = (), first: bool = False) -> Callable:
    """Return a function whose result may be an array of one element as one that returns a number."""
    inner = of_array(f, args, first)
    return works_inside(lambda x: as_number(inner(x)))


def as_number(value: Any) -> Any:
    """Return the only element of an array as a number."""
    return np.reshape(value, -1)[0] if np.ndim(value) and np.size(value) == 1 else value


def vector(x0: Any, what: str, keep: bool = False) -> Any:
    """Return where a search begins as a vector, in double precision unless the type is to be kept."""
    first = start_of(x0, what)
    if np.ndim(first) > 1:
        raise ValueError(f"{what}: 'x0' must only have one dimension.")
    return np.reshape(array(first if keep else wide(first)), -1)


def wide(x: Any) -> Any:
    """Return a value in double precision."""
    return x.astype(np.float64) if np.ndim(x) else as_number(np.reshape(x, 1).astype(np.float64))


def accuracy(x: Any, *asked: Any) -> float:
    """Return the tolerance of a search: what is asked for, and no more than :data:`TOL`."""
    return tolerance(min([TOL, *(float(t) for t in asked if isinstance(t, (int, float)) and t > 0)]), x)


def refuse(what: str, **given: Any) -> None:
    """Refuse arguments that are given, and not recorded."""
    for name, value in given.items():
        if value is not None and value is not False and not (isinstance(value, (tuple, list, dict)) and not value):
            raise ParseError(f"{what}: {name}= is not recorded")
