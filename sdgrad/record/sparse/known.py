"""Make recorded sparse matrices of SciPy's: of known ones, and of those that a function reads outside of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse as sp

from sdgrad.errors import ParseError
from sdgrad.record.sparse.matrix import CLASSES, Kind, Sparse, parts_of
from sdgrad.record.values import holds_recorded

REPLACED = ("dia", "bsr")
"""Formats for which functions have compressed rows while they are recorded."""


def wrapped_sparse(value: Any, known: Callable[[Any], Any]) -> Any:
    """Return a matrix that SciPy computed as one of known content, which can be filled if it is built for that."""
    if (filled := FILLED.of(value)) is not None:
        return filled
    if value.format in REPLACED:
        value = value.tocsr()
    if type(value) not in CLASSES:
        return value
    if value.ndim != 2:
        raise ParseError(
            f"a {type(value).__name__} of {value.ndim} dimension is not recorded: use slices, as in A[i : i + 1]"
        )
    data, first, second = parts_of(value)
    if value.format != "coo":
        data, first = data[: value.nnz], first[: value.nnz]
    return Sparse(known(data.copy()), known(first.copy()), known(second.copy()), Kind.of(value))


class Filled:
    """What stands for a matrix that is built to be filled, None for others: set where that is known."""

    of: Callable[[Any], Sparse | None]


FILLED = Filled()
FILLED.of = lambda value: None


def special_format(value: Any) -> str:
    """Say what is wrong with a sparse matrix from outside; empty if nothing is."""
    name = type(value).__name__
    if type(value) not in CLASSES:
        return f"is a {name}: use .tocsr(), which gives a matrix that is taken"
    if value.ndim != 2:
        return f"is a {name} of {value.ndim} dimension: give it two, as in x.reshape(1, -1)"
    if value.format != "coo" and len(value.data) != value.nnz:
        return f"is a {name} with room for more elements than it has: call its method prune()"
    return ""


def refuse_filling(owner: Any, value: Any) -> None:
    """Raise an error where recorded numbers are put into one of SciPy's matrices, element by element."""
    if type(owner) is not Sparse and sp.issparse(owner) and holds_recorded(value):
        raise ParseError(
            f"a {type(owner).__name__} from outside is filled with recorded numbers: make it in the function, or "
            "collect values and places, and write coo_matrix((values, (rows, columns)), shape=..)"
        )


def met_sparse(recorder: Any, value: Any, wrapped: Callable[[Any], Any]) -> Any:
    """Return what stands for one of SciPy's matrices, which a function reads or has made; all else as it is."""
    if not isinstance(value, sp.spmatrix | sp.sparray) or type(value) is Sparse:
        return value
    return wrapped(value) if id(value) in recorder.reads.own else outside_sparse(recorder, value)


def outside_sparse(recorder: Any, value: Any) -> Sparse:
    """Return a matrix that the function did not make: its arrays are read again at each call."""
    if id(value) in recorder.outer:
        return recorder.outer[id(value)][1]
    if told := special_format(value):
        raise ParseError(f"a sparse matrix outside of the function {told}")
    kind = Kind.of(value)
    recorder.reads.add(value, "shape", "attribute", value.shape)
    parts = []
    for name, part in zip(("data", *kind.places), parts_of(value), strict=True):
        recorder.reads.add(value, name, "attribute", part)
        parts.append(recorder.outside(part))
    found = Sparse(parts[0], parts[1], parts[2], kind)
    recorder.outer[id(value)] = (value, found)
    return found
