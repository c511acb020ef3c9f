"""Where the elements of a NumPy array are, without what asking the array for it takes: most of a microsecond."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

HEADER = object.__basicsize__
"""What a NumPy array begins with: the fields of a Python object. The address is the next one (NumPy's C API)."""


def _from_header(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p.from_address(id(array) + HEADER)


def _from_interface(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.__array_interface__["data"][0])


def _chosen() -> Callable[[np.ndarray], ctypes.c_void_p]:
    """The first, where arrays look like that in this interpreter."""
    samples = (np.empty(3), np.empty((2, 2), np.int8)[1:], np.ones(1, np.complex64))
    try:
        as_told = all(_from_header(a).value == _from_interface(a).value for a in samples)
    except (ValueError, TypeError):
        as_told = False
    return _from_header if as_told else _from_interface


address = _chosen()
"""The address of an array's elements, good while the array is there and is not resized."""
