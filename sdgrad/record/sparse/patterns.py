"""Rearrange sparse matrices: SciPy does so with the numbers of elements in their place, and says which goes where.

This needs the places when recording: those of a matrix that is an argument become part of what the program is for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sdgrad.errors import ParseError
from sdgrad.record.functions.table import array, known
from sdgrad.record.sparse.known import REPLACED
from sdgrad.record.sparse.matrix import CLASSES, Kind, Sparse, parts_of
from sdgrad.record.sparse.places import known_places
from sdgrad.record.sparse.products import gather


def numbered(a: Sparse, what: str, first: int = 1) -> Any:
    """Return SciPy's matrix with the places of a recorded one, and the numbers of its elements as data."""
    return a.kind.plain(np.arange(first, first + a.nnz, dtype=float), *known_places(a, what))


def coordinates(a: Sparse, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the known row and column of each element."""
    places = numbered(a, what).tocoo()
    order = np.argsort(places.data, kind="stable")
    return places.row[order].astype(np.int64), places.col[order].astype(np.int64)


def from_numbers(numbers: Any, data: Any) -> Any:
    """Return the matrix that has, in place of each number, the element with this number, the first one being 1."""
    if numbers.format in REPLACED:
        numbers = numbers.tocsr()
    if type(numbers) not in CLASSES or numbers.ndim != 2:
        raise ParseError(
            f"a {type(numbers).__name__} of {numbers.ndim} dimensions is made: it is recorded for csr, csc and coo of "
            "two, as A[i : i + 1] gives, or use .toarray()"
        )
    own, first, second = parts_of(numbers)
    moved = picked(data, own.astype(np.int64) - 1)
    return Sparse(np.copy(moved) if moved is data else moved, known(first), known(second), Kind.of(numbers))


def picked(data: Any, order: np.ndarray) -> Any:
    """Return elements in another order."""
    if np.array_equal(order, np.arange(np.shape(data)[0])):
        return data
    return data[known(order)] if order.size else known(np.zeros(0, data.dtype))


def rearranged(function: Callable[..., Any], what: str, *matrices: Sparse) -> Any:
    """Return what a function makes of matrices that puts each of their elements into one place, or into none.

    An array that it makes has zeros elsewhere.
    """
    own = [without_repeats(a, what) for a in matrices]
    begins = np.cumsum([1, *(a.nnz for a in own)])
    found = function(*(numbered(a, what, n) for a, n in zip(own, begins, strict=False)))
    data = joined([a.data for a in own])
    if sp.issparse(found):
        return from_numbers(found, data)
    zero = known(np.zeros(1, data.dtype))
    return np.concatenate([zero, data])[known(np.asarray(found).astype(np.int64))[()]]


def joined(parts: Sequence[Any]) -> Any:
    """Return data one after the other, in one type."""
    return parts[0] if len(parts) == 1 else np.concatenate([array(p) for p in parts])


def without_repeats(a: Sparse, what: str) -> Sparse:
    """Return the matrix with the elements of the same place added up, as itself if there are none."""
    rows, columns = coordinates(a, what)
    keys = rows * a.shape[1] + columns
    if len(np.unique(keys)) == len(keys):
        return a
    return summed(a.data, rows, columns, a.kind)


def summed(data: Any, rows: np.ndarray, columns: np.ndarray, kind: Kind) -> Sparse:
    """Return the matrix of elements at places, in order, those of the same place added up."""
    along = rows * kind.shape[1] + columns if kind.format != "csc" else columns * kind.shape[0] + rows
    order = np.argsort(along, kind="stable")
    ends = np.flatnonzero(np.diff(along[order], prepend=-1)) if len(order) else order
    at = rows[order[ends]], columns[order[ends]]
    places = sp.coo_matrix((np.ones(len(ends)), at), shape=kind.shape)
    whole = places if kind.format == "coo" else places.asformat(kind.format)
    _, first, second = parts_of(whole)
    return Sparse(segments(data, order, np.append(ends, len(order))), known(first), known(second), kind)


def segments(data: Any, order: np.ndarray, start: np.ndarray) -> Any:
    """Return the sum of each of some groups of elements: those that ``order`` has from one start to the next."""
    if len(start) - 1 == len(order):
        return picked(data, order)
    ones = known(np.ones(len(order), data.dtype))
    return gather(ones, known(start.astype(np.int64)), known(order.astype(np.int64)), data)


def same_places(a: Sparse, b: Sparse) -> bool:
    """True if two matrices certainly have the same places in the same order."""
    return a.kind.own.format == b.kind.own.format and a.shape == b.shape and a.first is b.first and a.second is b.second
