"""Know functions and other things that are called: their names, parameters, and what they are made of."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from dace.frontend.python.parser import DaceProgram

from sdgrad.convert.keywords import foreign
from sdgrad.errors import ArgumentError


def python_function(f: Any) -> Callable:
    """Return what the user wrote: the function behind a ``@dace.program``, or behind a derivative."""
    return python_function(f.f) if isinstance(f, DaceProgram) or hasattr(f, "derive") else f


_signatures: WeakKeyDictionary[FunctionType, tuple[Any, Any, inspect.Signature]] = WeakKeyDictionary()


def signature_of(f: Any) -> inspect.Signature:
    """Return the parameters of a function; those of plain functions are kept."""
    function = python_function(f)
    if type(function) is not FunctionType or function.__kwdefaults__ or vars(function):
        return inspect.signature(function)
    known = _signatures.get(function)
    if known is None or known[0] is not function.__code__ or known[1] is not function.__defaults__:
        known = (function.__code__, function.__defaults__, inspect.signature(function))
        _signatures[function] = known
    return known[2]


def name_of(f: Any) -> str:
    """Return the name of a function, of a method, or of the class of an object that is called."""
    function = python_function(f)
    if isinstance(function, functools.partial):
        return name_of(function.func)
    name = getattr(function, "__name__", type(function).__name__)
    return "function" if name == "<lambda>" else name


def parameters(f: Any) -> list[str]:
    """Return the names of a function's parameters, in order."""
    return list(signature_of(f).parameters)


def bind_arguments(f: Callable, args: tuple, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by name, in the function's order, defaults filled in.

    :raises ArgumentError: the call does not fit the function.
    """
    try:
        bound = signature_of(f).bind(*args, **kwargs)
    except TypeError as error:
        unknown = [n for n in kwargs if n not in signature_of(f).parameters]
        raise ArgumentError(f"{name_of(f)}: {error}{foreign(unknown)}") from None
    if not _is_of_numpy(f):  # which knows its defaults itself: a rule may lack some of the parameters
        bound.apply_defaults()
    return dict(bound.arguments)


def _is_of_numpy(f: Any) -> bool:
    """True of functions of NumPy and SciPy, which a user differentiates as they are."""
    owner = getattr(f, "__module__", None) or type(f).__module__
    return owner.partition(".")[0] in ("numpy", "scipy")


def places_read(function: FunctionType, is_own: Callable[[str], bool]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield where a function finds global names, and attributes of modules and classes, with the names.

    :param is_own: of the names of modules whose attributes, and those of whose classes, are looked at.
    """
    names = names_in(function.__code__)
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, (ModuleType, type)):
            own = is_own(value.__name__ if isinstance(value, ModuleType) else value.__module__)
            for attribute in names & vars(value).keys() if own else ():
                yield vars(value), attribute
        else:
            yield function.__globals__, name


def names_in(code: CodeType) -> set[str]:
    """Return the global names and attributes that a function mentions, and those inside of it."""
    inner = (names_in(c) for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names}.union(*inner)


def is_filled(cell: CellType) -> bool:
    """True if the cell of a function has a content by now."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Same:
    """Stand for an object, whatever its class calls equal: equal if it is the same one."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def hashable(f: Any) -> Any:
    """Return what stands for a function among the keys of a dictionary: equal for equal functions."""
    function = python_function(f)
    if isinstance(function, MethodType):  # a new object each time, equal only if its owner is
        return ("method", function.__func__, id(function.__self__))
    return function if type(function).__eq__ is object.__eq__ else Same(function)
