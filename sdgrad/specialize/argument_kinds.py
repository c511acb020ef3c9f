"""Tell what the program of a call depends on of an argument: its type and shape, or what it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from sdgrad.config import memory_limit
from sdgrad.convert.callables import Same
from sdgrad.errors import ArgumentError
from sdgrad.record.libraries import is_hashable, is_users
from sdgrad.record.reads import is_numeric, special_kind
from sdgrad.record.values import is_recorded
from sdgrad.runtime.call.marshalling import as_array


def kind_of_argument(name: str, value: Any, is_fixed: bool, shape: Hashable = None) -> Any:
    """Return what is equal for arguments that have one program.

    :param is_fixed: the program is for this value.
    :param shape: of an argument with sizes that are open.
    :raises ArgumentError: it is an array whose operators mean something else, or another library's.
    """
    if told := special_kind(value):
        raise ArgumentError(f"argument '{name}' {told}")
    array = as_array(value)
    is_own = isinstance(array, (np.ndarray, np.generic)) or is_recorded(array)
    if not is_own and (hasattr(type(array), "__array__") or _is_memory(array)):
        kind = type(array)
        raise ArgumentError(f"argument '{name}' is a {kind.__module__}.{kind.__name__}, not an ndarray: use np.asarray")
    if is_fixed:
        if isinstance(array, np.ndarray):
            return (array.dtype.str, array.shape, array.tobytes())
        return (type(value), value)  # 2, 2.0 and True are equal, and functions tell them apart
    if isinstance(array, np.ndarray) and not is_numeric(array):
        return (str(array.dtype), str(array.tolist()))
    if isinstance(array, np.generic) and array.dtype.kind not in "biufc":
        return (type(array), array.tobytes())
    if isinstance(array, (np.ndarray, np.generic)):
        return (str(array.dtype), array.shape if shape is None else shape, isinstance(array, np.generic))
    if type(array) in (bool, int, float, complex):
        return type(array).__name__
    if isinstance(array, Iterator):
        of = type(array).__name__
        raise ArgumentError(f"argument '{name}' is a {of}, which gives its parts once: pass a list of them")
    return array if is_hashable(array) and not is_users(type(array)) else Same(array)


def _is_memory(value: Any) -> bool:
    """True of what gives NumPy its memory, as ``array.array``: nobody would see that its numbers change."""
    try:
        with memoryview(value) as memory:
            return memory.format != "B"
    except (TypeError, BufferError):
        return False


def is_long(value: Any) -> bool:
    """True of an integer of Python's whose products with others may have no place in 64 bits."""
    return type(value) is int and abs(value) >= 2**31


def counts(arguments: Mapping[str, Any]) -> set[str]:
    """Return the integers that are part of what a program is for.

    A plan of memory has to know all, as each may be a size or a number of trips; the others are long ones.
    """
    planned = memory_limit() is not None
    return {n for n, v in arguments.items() if isinstance(v, (int, np.integer)) and (planned or is_long(v))}
