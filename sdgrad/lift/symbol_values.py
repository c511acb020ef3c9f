"""Give the symbols of DaCe that no annotation gives a size the values that a call names: ``f(x, steps=10)``.

DaCe passes such a value to the graph, where it holds in all programs that are called, but for symbols that these take
from the shapes of their own arguments. Here, the graph is made for the values: programs carry them in an attribute.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import CellType, FunctionType
from typing import Any, cast

import dace
import numpy as np
import sympy
from dace import data as dt
from dace.frontend.python.parser import DaceProgram

from sdgrad.convert.callables import hashable, name_of, python_function
from sdgrad.errors import ArgumentError
from sdgrad.lift.dace_functions import OF_SYMBOLS, known_names, mentioned_names, needs_dace, own_sizes, sizes_of
from sdgrad.symbolic.expr import free_names

Values = tuple[tuple[str, int], ...]


def symbols_given(f: Callable, kwargs: Mapping[str, Any]) -> dict[str, int]:
    """Return the keyword arguments of a call that are no parameters of the function but symbols it knows.

    :raises ArgumentError: one of them is no integer.
    """
    found = symbols_passed(f, kwargs)
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ArgumentError(f"{name_of(f)}: '{name}' is a symbol, and {value!r} no integer")
    return {n: int(v) for n, v in found.items()}


def symbols_passed(f: Callable, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same, whatever the values are."""
    if not kwargs:
        return {}
    parameters = inspect.signature(python_function(f)).parameters
    others = kwargs.keys() - parameters.keys()
    if not others or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return {}
    known = symbols_of(f)
    return {n: v for n, v in kwargs.items() if n in others & known}


def symbols_of(f: Callable) -> set[str]:
    """Return the names of DaCe's symbols that a function, or one that it calls, mentions."""
    found: set[str] = set()
    for function in _reachable(python_function(f), []):
        annotated = [a.shape for a in inspect.get_annotations(function).values() if isinstance(a, dt.Array)]
        values = [v for v in _mentioned(function).values() if isinstance(v, sympy.Basic)]
        found |= free_names(*values, *(n for shape in annotated for n in shape))
    return found


def check_sizes(f: Callable, arguments: Mapping[str, Any], symbols: Mapping[str, int]) -> None:
    """Compare the values of symbols with the sizes that arguments have.

    :raises ArgumentError: an argument has another size.
    """
    sizes = sizes_of(f, arguments)
    for name in sizes.keys() & symbols.keys():
        if sizes[name] != symbols[name]:
            raise ArgumentError(
                f"{name_of(f)}: {name} is {symbols[name]}, but {sizes[name]} in the shapes of arguments"
            )


def with_symbols(f: Any, values: Mapping[str, int]) -> Any:
    """Return a function whose symbols have values: the same object for the same function and values."""
    if hasattr(f, "derive"):
        outer = copy.copy(f)
        outer.f = with_symbols(f.f, values)
        return outer
    key = (hashable(f), tuple(sorted(values.items())))
    if key not in _made:
        while len(_made) >= MOST:
            del _made[next(iter(_made))]
        _made[key] = (f, _Replacing().function(cast(FunctionType, python_function(f)), tuple(sorted(values.items()))))
    return _made[key][1]


MOST = 256  # functions with numbers that are kept
_made: dict[Any, tuple[Any, FunctionType]] = {}  # with the original, whose identity is in the key


def _reachable(function: Any, seen: list[Any]) -> Iterator[FunctionType]:
    """Yield a function and the Python functions and ``@dace.program``s that it calls, once each."""
    if not isinstance(function, FunctionType) or any(function is s for s in seen):
        return
    seen.append(function)
    yield function
    for value in _mentioned(function).values():
        if _is_program(value):
            yield from _reachable(python_function(value), seen)


def _is_program(value: Any) -> bool:
    """True of a ``@dace.program``, other than a method, and of a function of Python's beside one."""
    if isinstance(value, DaceProgram):
        return value.objname is None
    return isinstance(value, FunctionType) and value.__module__.partition(".")[0] not in OF_LIBRARIES


OF_LIBRARIES = {"dace", "numpy", "scipy", "sdgrad", "sympy", "math"}


def _mentioned(function: FunctionType) -> dict[str, Any]:
    """Return what the global and enclosing names that a function mentions are bound to."""
    names = mentioned_names(function.__code__)
    return {n: v for n, v in known_names(function).items() if n in names}


class _Replacing:
    """Give symbols values in a function and in those that it calls."""

    def __init__(self) -> None:
        self.done: dict[tuple[Any, Values], FunctionType] = {}

    def function(self, function: FunctionType, values: Values) -> FunctionType:
        """Return a function that knows the values of symbols, or calls such functions."""
        key = (function, values)
        if key in self.done:
            return self.done[key]
        if needs_dace(function):
            self.done[key] = with_attribute(function, dict(values))
            return self.done[key]
        made = self.done[key] = duplicate(function, dict(function.__globals__), function.__closure__)
        new = {n: self.called(v, dict(values)) for n, v in _mentioned(function).items()}
        made.__globals__.update({n: v for n, v in new.items() if n in made.__globals__})
        if function.__closure__:
            cells = [
                CellType(new[n]) if n in new else cell
                for n, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True)
            ]
            made = self.done[key] = duplicate(function, made.__globals__, tuple(cells))
        return made

    def called(self, value: Any, values: Mapping[str, int]) -> Any:
        """Return what a name is bound to; programs know the values of their symbols."""
        if not _is_program(value):
            return value
        function = cast(FunctionType, python_function(value))
        own = {n: v for n, v in values.items() if n in symbols_of(function) - own_sizes(function)}
        if not own:
            return value
        made = self.function(function, tuple(sorted(own.items())))
        return dace.program(made) if isinstance(value, DaceProgram) else made


def duplicate(function: FunctionType, names: dict[str, Any], cells: tuple[CellType, ...] | None) -> FunctionType:
    """Return a function of the same code with other global and enclosing names."""
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    made.__module__, made.__annotations__ = function.__module__, dict(inspect.get_annotations(function))
    return made


def with_attribute(function: FunctionType, values: Mapping[str, int]) -> FunctionType:
    """Return a function that DaCe's parser reads, whose symbols then get these values."""
    made = duplicate(function, function.__globals__, function.__closure__)
    setattr(made, OF_SYMBOLS, dict(values))
    return made
