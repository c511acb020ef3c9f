"""Pool the memory of large results: it is used again when their arrays are garbage.

The operating system clears each page that it hands out, and takes it back with the array. For a result that is written
once, as most gradients are, that takes longer than the stores.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.runtime.compile.dlopen import release_memory

LEAST, MOST = 1 << 16, 1 << 27
"""The least size of a pooled array in bytes, and the greatest size of the pool."""
ALIGNMENT = 64
"""Bytes to which the elements of pooled arrays are aligned: a cache line."""
_free: dict[int, deque[np.ndarray]] = {}


class Spare:
    """Memory that one owner uses again, until it is given back with all that is pooled."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        _spare.add(self)

    def take(self) -> Any:
        """Return what waits, or None."""
        try:
            return self.waiting.pop()
        except IndexError:
            return None

    def leave(self, memory: Any) -> None:
        """Keep memory for the next one who asks."""
        self.waiting.append(memory)


_spare: weakref.WeakSet[Spare] = weakref.WeakSet()


class Block:
    """The owner of an array's memory, which returns to the pool when the array is garbage."""

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
    """Return memory to the pool, which is emptied before if it would be too large."""
    if sum(size * len(blocks) for size, blocks in [*_free.items()]) + memory.size > MOST:
        _free.clear()
    _free.setdefault(memory.size, deque()).append(memory)


def free_memory() -> None:
    """Return pooled memory to the operating system.

    The memory of large results, temporaries and tapes is pooled for the next call, for the whole process: at most 128
    MiB of results, and of the others what programs have used at once with 256 MiB beside, up to an eighth of the
    machine's memory. Modules keep the memory of their tapes. All of it is given back; the persistent workspace of
    compiled programs stays.
    """
    _free.clear()
    for spare in _spare:
        spare.waiting.clear()
    release_memory()


def _take(size: int) -> np.ndarray:
    """Take memory from the pool, or allocate it."""
    try:
        return _free[size].pop()
    except (KeyError, IndexError):
        raw = np.empty(size + ALIGNMENT, np.uint8)
        start = -raw.__array_interface__["data"][0] % ALIGNMENT
        return raw[start : start + size]


def fresh(shape: Sequence[int], dtype: Any, zero: bool) -> np.ndarray:
    """Allocate an array of zeros, or of undefined content."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if not LEAST <= size <= MOST:
        return np.zeros(shape, dtype) if zero else np.empty(shape, dtype)
    array = np.asarray(Block(_take(size), tuple(shape), dtype))
    if zero:
        array.fill(0)
    return array


def copy_of(array: np.ndarray) -> np.ndarray:
    """Copy an array to pooled memory."""
    copy = fresh(array.shape, array.dtype, False)
    np.copyto(copy, array)
    return copy
