"""Tell functions with constructs of DaCe, which only its parser reads, and give DaCe's symbols the sizes of a call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import sympy
from dace import data as dt
from dace import dtypes, symbolic

from sdgrad.convert.callables import is_filled
from sdgrad.runtime.call.marshalling import as_array, check, solve_symbols
from sdgrad.symbolic.expr import free_names

OF_SYMBOLS = "__of_symbols__"
"""The attribute of functions that hold values of their symbols."""


def needs_dace(f: Any) -> bool:
    """True of functions with constructs of DaCe: maps, tasklets, symbols that no annotation gives a size."""
    function = getattr(f, "f", f)
    if not isinstance(function, FunctionType):
        return False
    if hasattr(function, OF_SYMBOLS):
        return True
    mentioned = {n: v for n, v in known_names(function).items() if n in mentioned_names(function.__code__)}
    sized = own_sizes(function)
    return any(
        v.__name__.partition(".")[0] == "dace" if isinstance(v, ModuleType) else v.name not in sized
        for v in mentioned.values()
        if isinstance(v, (ModuleType, symbolic.symbol))
    )


def own_sizes(function: FunctionType) -> set[str]:
    """Return the symbols that a function takes from the shapes of its arguments, whatever its callers give."""
    shapes = [a.shape for a in inspect.get_annotations(function).values() if isinstance(a, dt.Array)]
    extents = [sympy.sympify(n) for shape in shapes for n in shape]
    found = {str(e) for e in extents if e.is_Symbol}
    for extent in extents:  # those like N + 1
        unknown = [s for s in extent.free_symbols if s.name not in found]
        if len(unknown) == 1 and extent.is_polynomial(unknown[0]) and sympy.degree(extent, unknown[0]) == 1:
            found.add(unknown[0].name)
    return found


def known_names(function: FunctionType) -> dict[str, Any]:
    """Return what the global and the enclosing names of a function are bound to."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return {**function.__globals__, **{n: c.cell_contents for n, c in cells.items() if is_filled(c)}}


def check_arguments(f: Any, arguments: Mapping[str, Any]) -> None:
    """Compare arguments with the types that annotations of DaCe's give them.

    :raises ArgumentError: one has another type, or another shape.
    """
    function = getattr(f, "f", f)
    annotations = inspect.get_annotations(function) if isinstance(function, FunctionType) else {}
    for name, annotation in annotations.items():
        desc = dt.Scalar(annotation) if isinstance(annotation, dtypes.typeclass) else annotation
        if isinstance(desc, dt.Data) and name in arguments:
            check(name, arguments[name], desc)


def sizes_of(f: Any, arguments: Mapping[str, Any]) -> dict[str, int]:
    """Return what the symbols are that the annotations of a function have in shapes, for arguments like these.

    :raises ArgumentError: two arguments disagree.
    """
    function = getattr(f, "f", f)
    annotated = _annotated(function) if isinstance(function, FunctionType) else {}
    given: dict[str, Any] = {}
    for name in annotated.keys() & arguments.keys():
        shape = getattr(as_array(arguments[name]), "shape", ())
        if all(isinstance(n, (int, np.integer)) for n in shape):
            given[name] = np.broadcast_to(np.zeros(()), shape)
    return solve_symbols(annotated, given) if given else {}


def sized(function: FunctionType, sizes: Mapping[str, int]) -> FunctionType:
    """Return a function in which DaCe's symbols are numbers, also in annotations of its arguments."""
    if not sizes:
        return function
    numbers = {n: sizes[v.name] for n, v in known_names(function).items() if _has_size(v, sizes)}
    cells = [
        CellType(numbers[n]) if n in numbers else cell
        for n, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    ]
    names = {**function.__globals__, **numbers}
    found = FunctionType(function.__code__, names, function.__name__, function.__defaults__, tuple(cells) or None)
    found.__kwdefaults__, found.__qualname__ = function.__kwdefaults__, function.__qualname__
    found.__module__ = function.__module__
    found.__annotations__ = {n: a for n, a in inspect.get_annotations(function).items() if not _is_open(a)}
    if hasattr(function, OF_SYMBOLS):
        setattr(found, OF_SYMBOLS, getattr(function, OF_SYMBOLS))
    return found


def _has_size(value: Any, sizes: Mapping[str, int]) -> bool:
    return isinstance(value, symbolic.symbol) and value.name in sizes


def _annotated(function: FunctionType) -> dict[str, dt.Data]:
    """Return the types of arguments that annotations give, if they have symbols in their shapes."""
    return {n: a for n, a in inspect.get_annotations(function).items() if _is_open(a)}


def _is_open(annotation: Any) -> bool:
    """True of a type of arrays with symbols in its shape."""
    return isinstance(annotation, dt.Array) and bool(free_names(*annotation.shape))


def mentioned_names(code: CodeType) -> set[str]:
    """Return the global and the enclosing names that code and the code in it mention."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(code.co_freevars, *map(mentioned_names, inner))
