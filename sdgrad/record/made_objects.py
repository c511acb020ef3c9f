"""Make what recordings have in place of users' functions, and objects of users' classes."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

from sdgrad.convert.functions import converted
from sdgrad.record.libraries import is_users_module
from sdgrad.record.reads import Reads


def converted_here(operators: Any, recorder: Any, function: FunctionType) -> FunctionType:
    """Return the converted form of a function, and note what it finds outside; without a source, the function."""
    recorder.reads.cells_of(function)
    names = function.__code__.co_freevars
    recorder.outside_places.cells(names, function.__closure__ or (), recorder.where())
    found = converted(function, operators)
    if found is None:
        recorder.reads.of_function(function, is_users_module)
        return function
    if any(type(d) in (list, dict) for d in found.__defaults__ or ()):
        found.__defaults__ = tuple(operators.met(d) if type(d) in (list, dict) else d for d in found.__defaults__ or ())
    return found


def made(call: Callable[..., Any], reads: Reads, kind: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
    """Return an object of a class of the user's, made and initialised by converted code.

    :param call: calls a function, and converts it.
    """
    reads.of_class(kind, is_users_module)
    make, initialize = kind.__new__, kind.__init__
    if type(kind).__call__ is not type.__call__:
        return kind(*args, **kwargs)
    if make is object.__new__:
        found = make(kind)
    else:
        found = (call if isinstance(make, FunctionType) else _as_it_is)(make, kind, *args, **kwargs)
    if not isinstance(found, kind):
        return found
    reads.made(found)
    reads.add(kind, "__init__", "attribute", initialize)
    own = {n: call(factory) for n, factory in _factories(kind, initialize, (found, *args), kwargs)}
    (call if isinstance(initialize, FunctionType) else _as_it_is)(initialize, found, *args, **kwargs, **own)
    return found


def _factories(kind: Any, initialize: Any, args: tuple, kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what makes the fields of a dataclass that are not given: its own code would call them as they stand."""
    if not isinstance(initialize, FunctionType) or not dataclasses.is_dataclass(kind):
        return
    parameters = list(inspect.signature(initialize).parameters.values())
    for parameter in parameters[len(args) :]:
        name = parameter.name
        factory = getattr(kind.__dataclass_fields__.get(name), "default_factory", dataclasses.MISSING)
        if factory is not dataclasses.MISSING and name not in kwargs and repr(parameter.default) == "<factory>":
            yield name, factory


def _as_it_is(function: Callable, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)
