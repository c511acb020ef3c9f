"""Write to elements of sparse matrices that hold their places, as SciPy's do: the data are written."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.parts import assign_part
from sdgrad.record.functions.table import array, operand
from sdgrad.record.sparse.filling import filling_of, numbers_of
from sdgrad.record.sparse.matrix import OPERATIONS, Sparse, is_sparse
from sdgrad.record.sparse.methods import METHODS, own_index
from sdgrad.record.sparse.patterns import numbered
from sdgrad.record.values import RULES, Array, is_recorded

LACKING = (
    "an element of a sparse matrix is written that it does not hold, or that it holds twice: collect values and "
    "places, and make it of them: coo_matrix((values, (rows, columns)), shape=..)"
)


def store(a: Sparse, index: Any, value: Any) -> None:
    """Do ``a[index] = value``; the program is for the places of the matrix."""
    if is_sparse(value):
        raise ParseError("a sparse matrix is written into another one: write .toarray() of it, or its .data")
    if (filling := filling_of(a)) is not None:
        if (numbers := numbers_of(filling, own_index(index))) is not None:
            _write(a, numbers, value)
        return
    held = numbered(a, "a write")
    if len(set(zip(*held.nonzero(), strict=True))) != a.nnz:
        raise ParseError(LACKING)
    found = held[own_index(index)]
    _write(a, found.toarray() if hasattr(found, "toarray") else np.asarray(found), value)


def _write(a: Sparse, numbers: np.ndarray, value: Any) -> None:
    """Write the elements that have these numbers, the first one being 1; zero is that of none."""
    places = numbers.astype(np.int64) - 1
    if (places < 0).any():
        raise ParseError(LACKING)
    given = operand(value)
    if np.ndim(given) == 1 and places.ndim == 2 and places.shape[1] == 1:
        given = np.reshape(array(given), (-1, 1))  # SciPy takes a row for a column
    if np.ndim(given) < places.ndim and np.ndim(given) or np.size(given) == 1 and np.ndim(given):
        given = np.broadcast_to(array(given), places.shape)
    RULES.store(a.data, array(places) if places.ndim else int(places), given)


def get(a: Sparse, key: Any, default: Any = 0.0) -> Any:
    """Return an element of a matrix that is filled, or something else where it holds none."""
    filling: Any = filling_of(a)
    place = tuple(map(int, own_index(key)))
    if len(place) != 2 or not all(0 <= p < n for p, n in zip(place, a.shape, strict=False)):
        raise IndexError("Index out of bounds.")
    if place not in filling.room:
        return default
    if is_recorded(default) or default != 0:
        raise ParseError(
            f".get({place}, {default!r}): whether the matrix holds an element by then is not recorded: write 0.0, or "
            "A[i, j]"
        )
    return a.data[filling.room[place]]


def setdiag(a: Sparse, values: Any, k: Any = 0) -> None:
    """Write a diagonal, or as much of it as there are values."""
    rows, columns = a.shape
    begin, count = max(0, -int(k)), min(rows + min(int(k), 0), columns - max(int(k), 0))
    if count <= 0:
        raise ValueError("k exceeds matrix dimensions")
    given = operand(values)
    if np.ndim(given):
        count = min(count, np.shape(given)[0])
        given = given[:count]
    at = begin + np.arange(count)
    store(a, (at, at + int(k)), given)


def store_attribute(a: Any, name: str, value: Any) -> None:
    """Do ``a.name = value``, where ``value`` is what it is already: Python does so after ``a.data *= 2``."""
    if isinstance(a, Array) and name in ("real", "imag"):
        assign_part(a, name, value)
        return
    if not is_sparse(a):
        raise ParseError(f"assigning .{name} of an array is not recorded: write a new array instead")
    if getattr(a, name, None) is value:
        return
    told = "write A.data[:] = values, after A = A.copy()" if name == "data" else "make another one"
    raise ParseError(f"assigning .{name} of {a!r} is not recorded: {told}")


OPERATIONS.of_filled = lambda a: () if filling_of(a) is None else ("get",)
OPERATIONS.store, METHODS["setdiag"], METHODS["get"] = store, setdiag, get
