"""Ways to the value and the gradient of a random program: as a function, within a limit of memory, in half precision,
and as a graph.
"""

from __future__ import annotations

import copy
import inspect
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import dace
import numpy as np
from doors import Door, Unparsed, call, parsed
from fresh_cache import without_programs

import sdgrad
from sdgrad.lift.dace_functions import sizes_of
from sdgrad.runtime.compile.cache import compile_graphs

Engine = Callable[[Callable, tuple[str, ...], dict], tuple]


class Unusable(Exception):
    """A program that says nothing: NumPy's value or derivative is not finite, huge, lost in rounding, or has a kink."""


@dataclass(frozen=True)
class Way:
    """How a program is differentiated, and how precise that is.

    :param engine: takes the function, the names of its floats, and arguments; returns the value and the gradients.
    :param dtype: what its arrays are made of.
    :param value: error of the value that is allowed.
    :param plain: error of NumPy's own value in this precision, above which nothing is compared.
    :param relative: error of an element that is allowed, with ``floor`` of the largest one.
    """

    engine: Engine
    dtype: type = np.float64
    value: float = 1e-9
    plain: float = 1e-10
    relative: float = 1e-6
    floor: float = 1e-3


def by_function(function: Callable, names: tuple[str, ...], arguments: dict) -> tuple:
    """Value and gradients, from the second of two calls; both must be the same and leave the arguments alone."""
    return _called_twice(sdgrad.value_and_grad(function, wrt=names), arguments)


def within_limits(function: Callable, names: tuple[str, ...], arguments: dict) -> tuple:
    """Value and gradients without a limit of memory; those within a random one, half of them with a disk, are the same.

    If the limit is refused, the least that the error names is enough.
    """
    value, gradients = by_function(function, names, arguments)
    numbers = random.Random(inspect.getsource(function))
    limit, disk = f"{numbers.randint(0, 100)}%", numbers.choice([None, "1MiB"])
    try:
        found = _within(limit, disk, function, names, arguments)
    except sdgrad.errors.MemoryLimitError as error:
        limit = error.least
        found = _within(limit, disk, function, names, arguments)
    except sdgrad.errors.ArgumentError as error:
        if "known when the program runs" not in str(error):
            raise
        return value, gradients
    for one, other in zip((value, *gradients), (found[0], *found[1]), strict=True):
        if not np.allclose(one, other, 1e-9, 1e-12 * (1 + np.max(np.abs(one), initial=0)), equal_nan=True):
            raise RuntimeError(f"a call within {limit} differs: {found} and {(value, gradients)}")
    return value, gradients


def _within(limit: str | int, disk: str | None, function: Callable, names: tuple[str, ...], arguments: dict) -> tuple:
    return _called_twice(sdgrad.value_and_grad(function, names, memory_limit=limit, disk_limit=disk), arguments)


def _called_twice(both: Callable, arguments: dict) -> tuple:
    before = {k: np.copy(v) for k, v in arguments.items()}
    first, second = both(**arguments), both(**arguments)
    if not all(np.array_equal(before[k], v) for k, v in arguments.items()):
        raise RuntimeError("the caller's arguments have changed")
    if not np.array_equal(first[0], second[0], equal_nan=True) or not all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(first[1], second[1], strict=True)
    ):
        raise RuntimeError(f"two calls differ: {first} and {second}")
    return second


def by_graph(door: Door) -> Engine:
    """Value and gradients from DaCe's graph of a program.

    The engine raises :class:`Unusable` where DaCe makes no graph of it, or one with another value.
    """

    def engine(function: Callable, names: tuple[str, ...], arguments: dict) -> tuple:
        run = SimpleNamespace(program=SimpleNamespace(function=function), arguments=arguments)
        try:
            sdfg, closure = parsed(run, door)
        except Unparsed as error:
            raise Unusable(str(error)) from error
        plain = copy.deepcopy(sdfg)
        values = {**arguments, **closure, **sizes_of(function, arguments)}
        wanted = float(np.asarray(function(**{k: np.copy(v)[()] for k, v in arguments.items()})))
        found = copy.deepcopy(values)
        try:
            call(_compiled(plain), found)
        except Exception as error:  # noqa: BLE001 (whatever DaCe raises at a graph of its own)
            raise Unusable(f"DaCe does not run its own graph: {error}") from error
        if not np.isclose(found["__return"].item(), wanted, rtol=1e-8, atol=1e-8):
            raise Unusable(f"DaCe's own value is {found['__return'].item()}, not {wanted}")
        present = [n for n in names if n in sdfg.arrays]
        sdgrad.add_backward_pass(sdfg, present, ["__return"])
        values = copy.deepcopy(values)
        values["gradient___return"] = np.ones(1)
        call(_compiled(sdfg), values)
        zeros = {n: np.zeros(np.shape(arguments[n])) for n in names}
        gradients = [np.reshape(values.get(f"gradient_{n}", zeros[n]), np.shape(arguments[n])) for n in names]
        return values["__return"].item(), gradients

    return engine


def _compiled(sdfg: dace.SDFG):
    """The library of one graph, in a folder that nobody else writes."""
    with sdgrad.config.override(cache_dir=without_programs(Path(tempfile.mkdtemp(dir=sdgrad.config.cache_dir)))):
        return compile_graphs([sdfg])[0]


WAYS = {
    "function": Way(by_function),
    "limited": Way(within_limits),
    "half": Way(by_function, np.float16, 3e-2, 1e-2, 5e-2, 0.1),
    "graph": Way(by_graph(Door("simplified", True))),
    "plain_graph": Way(by_graph(Door("plain", False))),
}
