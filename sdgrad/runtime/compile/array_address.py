"""Read the address of a NumPy array's elements from its object header.

The public ways (``array.ctypes``, ``__array_interface__``) take most of a microsecond; they are the fallback.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

HEADER = object.__basicsize__
"""Bytes of a Python object's own fields. In a NumPy array the address of the elements follows them (NumPy's C API)."""


def _from_header(array: np.ndarray) -> ctypes.c_void_p:
    """Read the address from the object header."""
    return ctypes.c_void_p.from_address(id(array) + HEADER)


def _from_interface(array: np.ndarray) -> ctypes.c_void_p:
    """Ask the array for the address."""
    return ctypes.c_void_p(array.__array_interface__["data"][0])


def _chosen() -> Callable[[np.ndarray], ctypes.c_void_p]:
    """Choose the header if it gives the right addresses in this interpreter, else the interface."""
    samples = (np.empty(3), np.empty((2, 2), np.int8)[1:], np.ones(1, np.complex64))
    try:
        as_told = all(_from_header(a).value == _from_interface(a).value for a in samples)
    except (ValueError, TypeError):
        as_told = False
    return _from_header if as_told else _from_interface


address = _chosen()
"""Return the address of an array's elements; valid while the array exists and is not resized."""
