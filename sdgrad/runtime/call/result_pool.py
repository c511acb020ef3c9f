"""Memory of large results, used again when their arrays are gone.

The system hands out pages that it has to clear first and takes them back with the array: for a result that a program
writes once, as it does for most gradients, that takes longer than to write it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.runtime.compile.dlopen import release_memory

LEAST, MOST = 1 << 16, 1 << 27
"""Bytes of an array that is worth it, and of all memory that waits to be used again."""
ALIGNMENT = 64
_free: dict[int, deque[np.ndarray]] = {}


class Block:
    """The owner of an array's memory: when nothing refers to the array any more, the memory is free again."""

    def __init__(self, memory: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.memory = memory
        self.__array_interface__ = {
            "data": (memory.__array_interface__["data"][0], False),
            "shape": shape,
            "typestr": dtype.str,
            "version": 3,
        }

    def __del__(self) -> None:
        _give_back(self.memory)


def _give_back(memory: np.ndarray) -> None:
    if sum(size * len(blocks) for size, blocks in [*_free.items()]) + memory.size > MOST:
        _free.clear()
    _free.setdefault(memory.size, deque()).append(memory)


def free_memory() -> None:
    """Give the memory that waits to be used again back to the system.

    Results, temporaries and tapes of large arrays leave their memory to the next call: at most 128 MB of results and
    256 MB of the others, in the whole process. What a compiled program keeps for itself stays.
    """
    _free.clear()
    release_memory()


def _take(size: int) -> np.ndarray:
    try:
        return _free[size].pop()
    except (KeyError, IndexError):
        raw = np.empty(size + ALIGNMENT, np.uint8)
        start = -raw.__array_interface__["data"][0] % ALIGNMENT
        return raw[start : start + size]


def fresh(shape: Sequence[int], dtype: Any, zero: bool) -> np.ndarray:
    """A new array, full of zeros if asked; otherwise its content is undefined."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if not LEAST <= size <= MOST:
        return np.zeros(shape, dtype) if zero else np.empty(shape, dtype)
    array = np.asarray(Block(_take(size), tuple(shape), dtype))
    if zero:
        array.fill(0)
    return array


def copy_of(array: np.ndarray) -> np.ndarray:
    """A copy, in memory that is used again."""
    copy = fresh(array.shape, array.dtype, False)
    np.copyto(copy, array)
    return copy
