"""Places of the elements of sparse matrices: their content, their checks, rows and columns one by one."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elements import element
from sdgrad.record.functions.table import active, array, content, fixed, known
from sdgrad.record.index_limits import note_places
from sdgrad.record.recorder import ONLY_DATA
from sdgrad.record.restart import Restart
from sdgrad.record.settling import settle
from sdgrad.record.sparse.matrix import Sparse
from sdgrad.record.sparse.nesting import ENTERED
from sdgrad.record.values import Array, Storage

MADE_OF: weakref.WeakKeyDictionary[Storage, Array] = weakref.WeakKeyDictionary()
"""The beginnings of rows that rows of elements were computed of, by the memory of these."""
WRITTEN = "places of a sparse matrix are written: make another matrix of the parts of this one"


def limits_of(a: Sparse) -> tuple[int, int]:
    """Return what the elements of the two arrays of places lie below."""
    rows, columns = a.kind.shape
    if a.kind.format == "coo":
        return rows, columns
    return (columns if a.kind.format == "csr" else rows), a.nnz + 1


def entered(a: Sparse) -> Sparse:
    """Return a matrix that comes from a call, whose places are looked at before each call."""
    if isinstance(a.first, Array) and isinstance(a.second, Array):
        for part, extent, ascending in zip(
            (a.first, a.second), limits_of(a), (False, a.kind.format != "coo"), strict=True
        ):
            note_places(part.recorder, part, extent, ascending)
            if not part.storage.readonly and part.recorder is active():
                part.storage.readonly = WRITTEN
    return a


ENTERED.of = entered


def known_places(a: Sparse, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the two arrays of places: the program is for these, where they come from outside.

    :param what: needs them.
    :raises ParseError: only a run knows them.
    """
    return _known(a.first, what), _known(a.second, what)


def _known(part: Any, what: str) -> np.ndarray:
    if (found := deciding_content(array(part))) is not None:
        return found
    settle(active(), ONLY_DATA)
    raise ParseError(
        f"{what} of a sparse matrix needs its places when recording, and a run computes them: make index arrays "
        "outside of the function, or use products with dense arrays, which take any places"
    )


def deciding_content(part: Array) -> np.ndarray | None:
    """Return the content of an array of integers, for which the program is; None if only a run knows it.

    :raises Restart: it is an argument, or lies outside, and is known when the recording starts again.
    """
    if (found := content(part)) is not None:
        return np.asarray(found)
    fixed(part)  # of an array from outside: starts again
    if (source := MADE_OF.get(part.storage)) is not None:
        deciding_content(source)
    recorder: Any = part.recorder
    name = part.storage.name
    if name in recorder.hints.countable and not part.storage.version:
        recorder.hints.fixed.add(name)
        raise Restart(recorder.hints)
    return None


def each_place(a: Sparse) -> tuple[Any, Any]:
    """Return the row and the column of each element."""
    if a.kind.format == "coo":
        return a.first, a.second
    major = _spread_out(a)
    return (major, a.first) if a.kind.format == "csr" else (a.first, major)


def _spread_out(a: Sparse) -> Any:
    """Return for each element the compressed row that it is in."""
    start = array(a.second)
    if (found := content(start)) is not None:
        return known(np.repeat(np.arange(len(found) - 1, dtype=a.first.dtype), np.diff(found)))
    recorder: Any = start.recorder  # a constant would be an argument of the rules that ask for this
    each = recorder.compute((a.nnz,), start.dtype, lambda i: element(i, np.int64).astype(start.dtype))
    places = np.searchsorted(start, recorder.array(each), side="right") - 1
    made = array(places.astype(a.first.dtype))
    made.storage.indexes = start.shape[0] - 1
    MADE_OF[made.storage] = start
    return made
