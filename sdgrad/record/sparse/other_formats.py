"""Give matrices by diagonals, by blocks, and in lists or dicts compressed rows, and put such arrays back into them.

All elements that have room keep a place, zeros too: where they are does not depend on their values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from sdgrad.errors import ArgumentError

FORMATS = {
    "dia": (sp.dia_matrix, sp.dia_array),
    "bsr": (sp.bsr_matrix, sp.bsr_array),
    "lil": (sp.lil_matrix, sp.lil_array),
    "dok": (sp.dok_matrix, sp.dok_array),
}
CLASSES = tuple(c for pair in FORMATS.values() for c in pair)
Parts = tuple[np.ndarray, np.ndarray, np.ndarray]


def compressed(value: Any) -> tuple[Parts, tuple]:
    """Return data, columns and beginnings of rows of a matrix, and what its class has besides."""
    return _APART[value.format](value)


def restored(more: tuple, is_array: bool, shape: tuple[int, int], parts: Parts) -> Any:
    """Return the matrix of a class that has these compressed rows."""
    return _BACK[more[0]](FORMATS[more[0]][is_array], shape, parts, *more[1:])


def _by_rows(rows: np.ndarray, columns: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return an order by rows, the columns in this order, and where rows begin."""
    order = np.argsort(rows, kind="stable")
    begins = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    return order, columns[order].astype(np.int32), begins.astype(np.int32)


# -- diagonals
def _diagonal_places(offsets: Any, width: int, shape: tuple[int, int]) -> tuple[np.ndarray, ...]:
    """Return the positions of what lies inside in the data of diagonals, its columns, and where rows begin."""
    at, columns = np.divmod(np.arange(len(offsets) * width), max(width, 1))
    rows = columns - np.asarray(offsets, np.int64)[at]
    inside = np.flatnonzero((rows >= 0) & (rows < shape[0]) & (columns < shape[1]))
    order, *places = _by_rows(rows[inside], columns[inside], shape[0])
    return inside[order], *places


def _of_diagonals(value: Any) -> tuple[Parts, tuple]:
    offsets, width = tuple(map(int, value.offsets)), value.data.shape[1]
    order, columns, begins = _diagonal_places(offsets, width, value.shape)
    return (value.data.reshape(-1)[order], columns, begins), ("dia", offsets, width)


def _to_diagonals(cls: Any, shape: tuple[int, int], parts: Parts, offsets: tuple, width: int) -> Any:
    data = np.zeros(len(offsets) * width, parts[0].dtype)
    data[_diagonal_places(offsets, width, shape)[0]] = parts[0]
    return cls((data.reshape(len(offsets), width), np.array(offsets, np.int32)), shape=shape)


# -- blocks
def _of_blocks(value: Any) -> tuple[Parts, tuple]:
    (high, wide), begins = value.blocksize, value.indptr
    count = int(begins[-1])
    block_row = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    rows = np.broadcast_to((block_row * high)[:, None, None] + np.arange(high)[:, None], (count, high, wide))
    columns = np.broadcast_to(value.indices[:count, None, None] * wide + np.arange(wide), (count, high, wide))
    order, *places = _by_rows(rows.reshape(-1), columns.reshape(-1), value.shape[0])
    return (value.data[:count].reshape(-1)[order], places[0], places[1]), ("bsr", (int(high), int(wide)))


def _to_blocks(cls: Any, shape: tuple[int, int], parts: Parts, size: tuple[int, int]) -> Any:
    data, columns, begins = parts
    high, wide = size
    starts = begins[::high] // (high * wide)
    counts = np.diff(starts)
    block_row = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(block_row)) - starts[block_row]  # the number of a block in its row
    at = begins[block_row[:, None] * high + np.arange(high)] + within[:, None] * wide
    found = data[at[:, :, None] + np.arange(wide)] if len(at) else np.zeros((0, high, wide), data.dtype)
    return cls((found, columns[at[:, 0]] // wide, starts), shape=shape)


# -- lists and dicts
def _of_lists(value: Any) -> tuple[Parts, tuple]:
    if value.ndim != 2:
        raise ArgumentError(
            f"a {type(value).__name__} of {value.ndim} dimension is no argument: give it two, as in x.reshape(1, -1)"
        )
    own = value.tocsr()
    return (own.data, own.indices, own.indptr), (value.format,)


def _to_lists(cls: Any, shape: tuple[int, int], parts: Parts) -> Any:
    return cls(sp.csr_array(parts, shape=shape))


_APART: dict[str, Callable] = {"dia": _of_diagonals, "bsr": _of_blocks, "lil": _of_lists, "dok": _of_lists}
_BACK: dict[str, Callable] = {"dia": _to_diagonals, "bsr": _to_blocks, "lil": _to_lists, "dok": _to_lists}
