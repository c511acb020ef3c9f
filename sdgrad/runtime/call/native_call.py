"""Compare and run prepared calls in C++ (``runtime/native/prepared_call.cpp``): a call takes a few microseconds.

The library is compiled once on a machine. It reads the objects of CPython and NumPy by their layout, which is compared
first with what Python tells; where it is another one (Python without a global lock), no call is prepared.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdgrad.runtime.compile.call_library import CallLibrary

GIVEN, MADE, COPIED, FIXED, NUMBER = range(5)
"""Where an argument of the program comes from."""
EQUAL = (bool, int, float, complex, str)
AS_IT_IS = -1
"""The rank of an object that nothing else is equal to, whatever its class says."""
LEAF, TUPLE, LIST, DICT, NONE = range(5)
"""What a part of a nest is."""


class Kind(ctypes.Structure):
    """What an object has to be: of a type; an array of a dtype and a shape; equal to a value, or that object."""

    _fields_ = [
        ("type", ctypes.c_void_p),
        ("value", ctypes.c_void_p),
        ("dtype", ctypes.c_void_p),
        ("rank", ctypes.c_ssize_t),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
    ]


class Source(ctypes.Structure):
    """Where an argument of the program comes from."""

    _fields_ = [
        ("from", ctypes.c_ssize_t),
        ("given", ctypes.c_ssize_t),
        ("made", ctypes.c_ssize_t),
        ("fixed", ctypes.c_void_p),
        ("size", ctypes.c_ssize_t),
        ("letter", ctypes.c_ssize_t),
    ]


class Node(ctypes.Structure):
    """A part of the nest that the arguments of a call are, parents first."""

    _fields_ = [
        ("container", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("count", ctypes.c_ssize_t),
        ("keys", ctypes.POINTER(ctypes.c_void_p)),
    ]


class Plan(ctypes.Structure):
    """A program, what it is given, and where its arguments come from."""

    _fields_ = [
        ("program", ctypes.c_void_p),
        ("nodes", ctypes.POINTER(Node)),
        ("leaves", ctypes.c_ssize_t),
        ("given", ctypes.c_ssize_t),
        ("kinds", ctypes.POINTER(Kind)),
        ("arguments", ctypes.c_ssize_t),
        ("sources", ctypes.POINTER(Source)),
    ]


def kind(value: Any, is_fixed: bool) -> Kind:
    """Describe an object of a call.

    :param is_fixed: its value matters as well; the caller keeps the object.
    """
    if type(value) is np.ndarray:
        shape = (ctypes.c_ssize_t * max(1, value.ndim))(*value.shape)
        return Kind(id(np.ndarray), None, id(value.dtype), value.ndim, shape)
    rank = 0 if type(value) in EQUAL or isinstance(value, np.generic) else AS_IT_IS
    return Kind(id(type(value)), id(value) if is_fixed else None, None, rank, None)


@dataclass
class Form:
    """The nest of the positional arguments of a call, and the dict of those by name, as parts with parents first.

    :param kept: the types and keys whose addresses the parts have.
    """

    nodes: list[Node] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)

    @staticmethod
    def of(args: tuple, kwargs: Mapping[str, Any], is_leaf: Callable[[Any], bool]) -> Form | None:
        """Describe a call; None if a nest holds something else than tuples, lists and dicts."""
        found = Form()
        return found if found._add(args, is_leaf) and found._add(dict(kwargs), is_leaf) else None

    def _add(self, value: Any, is_leaf: Callable[[Any], bool]) -> bool:
        """Add a nest; False if it holds another container."""
        if is_leaf(value) or value is None:
            self.nodes.append(Node(NONE if value is None else LEAF, id(type(value)), 0, None))
            return True
        parts, keys = value, None
        if type(value) is dict:
            names = list(value)
            parts, keys = list(value.values()), (ctypes.c_void_p * max(1, len(names)))(*map(id, names))
            self.kept += [names, keys]
        elif not isinstance(value, tuple) and type(value) is not list:
            return False
        self.kept.append(type(value))
        container = DICT if keys is not None else TUPLE if isinstance(value, tuple) else LIST
        self.nodes.append(Node(container, id(type(value)), len(parts), keys))
        return all(self._add(part, is_leaf) for part in parts)


def number(given: int, dtype: np.dtype) -> Source:
    """Describe an argument that is a number."""
    return Source(NUMBER, given, 0, None, dtype.itemsize, ord(dtype.kind))


@functools.cache
def library() -> ctypes.PyDLL | None:
    """Return the compiled functions; None if the objects of this Python have another layout.

    :raises CompilationFailed: the compiler fails.
    """
    if sys.implementation.name != "cpython" or object.__basicsize__ != 2 * ctypes.sizeof(ctypes.c_void_p):
        return None
    compiled = CallLibrary.of()
    compiled.make()
    loaded = ctypes.PyDLL(str(compiled.target))
    loaded.sdgrad_fits.argtypes = [ctypes.c_void_p, *[ctypes.py_object] * 3]
    loaded.sdgrad_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, *[ctypes.py_object] * 4]
    loaded.sdgrad_describe.argtypes = [ctypes.py_object, ctypes.POINTER(ctypes.c_ssize_t)]
    loaded.sdgrad_describe.restype = None
    return loaded if _reads_as_told(loaded) else None


def _reads_as_told(loaded: ctypes.PyDLL) -> bool:
    """True if the library reads of arrays what Python tells."""
    samples = (np.empty(3), np.empty((2, 2), np.int8)[1:], np.ones((4, 1), np.complex64).T, np.ones(2, ">f8"))
    for array in samples:
        told = (ctypes.c_ssize_t * 7)()
        loaded.sdgrad_describe(array, told)
        place, dtype = array.__array_interface__["data"][0], array.dtype
        of_dtype = [id(dtype), dtype.num, ord(dtype.byteorder)]
        if [*told] != [place, array.ndim, array.shape[0], *of_dtype, array.flags.num]:
            return False
    return True
