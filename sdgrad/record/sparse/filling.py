"""Fill sparse matrices element by element: ``lil_matrix`` and ``dok_matrix`` with recorded numbers.

They are matrices with compressed rows here. A first recording finds out which places are written, the next one makes
the matrix with room for all of them: a place that no write reaches, as in a branch not taken, holds a zero.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sdgrad.record.functions.table import active, array, known
from sdgrad.record.sparse.known import FILLED
from sdgrad.record.sparse.matrix import Kind, Sparse
from sdgrad.record.sparse.patterns import coordinates, joined, picked, without_repeats
from sdgrad.record.values import Storage

FORMATS = ("lil", "dok")
Place = tuple[int, int]


@dataclass(frozen=True)
class Filling:
    """Where a matrix has room, for the first array of its places.

    :param key: stands for where the program makes it.
    """

    key: Any
    room: Mapping[Place, int]
    first: Any
    shape: tuple[int, int]


FILLINGS: weakref.WeakKeyDictionary[Storage, Filling] = weakref.WeakKeyDictionary()
"""By the memory of their data."""


def filling_of(a: Sparse) -> Filling | None:
    """Return where a matrix has room; None if it has its places for good."""
    found = FILLINGS.get(a.data.storage)
    return found if found is not None and found.first is a.first else None


def with_room(a: Sparse) -> Sparse:
    """Return a matrix with compressed rows that can be filled."""
    own = without_repeats(a, "a write")
    rows, columns = coordinates(own, "a write")
    hints, held = active().hints, set(zip(rows.tolist(), columns.tolist(), strict=True))
    key = (active().site(), a.shape)
    more = np.array(sorted(hints.filled.setdefault(key, set()) - held), np.int64).reshape(-1, 2)
    rows, columns = np.concatenate([rows, more[:, 0]]), np.concatenate([columns, more[:, 1]])
    order = np.lexsort((columns, rows))
    data = picked(joined([array(own.data), known(np.zeros(len(more), own.data.dtype))]), order)
    begins = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=a.shape[0]))])
    first, second = known(columns[order].astype(np.int32)), known(begins.astype(np.int32))
    found = Sparse(np.copy(data), first, second, Kind("csr", a.kind.is_array, a.shape))
    places = zip(rows[order].tolist(), columns[order].tolist(), strict=True)
    FILLINGS[found.data.storage] = Filling(key, {place: k for k, place in enumerate(places)}, first, a.shape)
    return found


def copied(a: Sparse) -> Sparse:
    """Return a copy, which can be filled if the matrix can."""
    found = a.with_data(np.copy(a.data))
    if (filling := filling_of(a)) is not None:
        FILLINGS[found.data.storage] = filling
    return found


def numbers_of(filling: Filling, index: tuple) -> np.ndarray | None:
    """Return the numbers of elements, the first one being 1; None if the next recording has room for them."""
    places = _grid(index, filling.shape)
    flat = list(zip(*(p.reshape(-1).tolist() for p in places), strict=True))
    if lacking := set(flat) - filling.room.keys():
        hints = active().hints
        hints.filled.setdefault(filling.key, set()).update(lacking)
        hints.lacking = True
        return None
    return np.array([filling.room[p] + 1 for p in flat], np.int64).reshape(places[0].shape)


def _grid(index: tuple, shape: tuple[int, int]) -> list[np.ndarray]:
    """Return rows and columns of the elements that an index names."""
    row, column = index if len(index) == 2 else (index[0], slice(None))
    rows, columns = np.arange(shape[0])[row], np.arange(shape[1])[column]
    if isinstance(row, slice) or isinstance(column, slice):
        rows, columns = np.atleast_1d(rows)[:, None], np.atleast_1d(columns)[None, :]
    return [np.asarray(p) for p in np.broadcast_arrays(rows, columns)]


def of_scipy(value: Any) -> Sparse | None:
    """Return what can be filled for one of SciPy's matrices in lists or dicts; None for others."""
    if value.format not in FORMATS or value.ndim != 2 or value.dtype.kind not in "biufc":
        return None
    own, kind = sp.csr_array(value), Kind("csr", isinstance(value, sp.sparray), value.shape)
    return with_room(Sparse(known(own.data), known(own.indices), known(own.indptr), kind))


FILLED.of = of_scipy
