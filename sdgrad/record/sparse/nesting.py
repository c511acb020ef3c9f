"""Take sparse matrices apart in nests of arguments and results: data, and two arrays of places."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import optree
from scipy.sparse import issparse, sparray

from sdgrad.errors import ArgumentError
from sdgrad.record.sparse import other_formats
from sdgrad.record.sparse.matrix import CLASSES, Kind, Sparse, parts_of
from sdgrad.record.values import Array


class Places(str):
    """The way to a leaf that holds places: it has no derivative, and is the same in a gradient."""


def _entries(kind: Kind) -> tuple[str, ...]:
    return ("data", *map(Places, kind.places))


def _apart(value: Any) -> tuple[tuple, Kind, tuple]:
    """Return the parts of one of SciPy's matrices."""
    if isinstance(value, other_formats.CLASSES):
        parts, more = other_formats.compressed(value)
        return parts, (kind := Kind("csr", isinstance(value, sparray), value.shape, more)), _entries(kind)
    if value.ndim != 2:
        raise ArgumentError(
            f"a {type(value).__name__} of {value.ndim} dimension is no argument: give it two, as in x.reshape(1, -1)"
        )
    kind = Kind.of(value)
    data, first, second = parts_of(value)
    if kind.format != "coo" and isinstance(data, np.ndarray) and len(data) != value.nnz:
        data, first = data[: value.nnz], first[: value.nnz]  # SciPy lets arrays be longer
    return (data, first, second), kind, _entries(kind)


def _apart_again(value: Sparse) -> tuple[tuple, Kind, tuple]:
    return value.parts, value.kind, _entries(value.kind)


def _together(kind: Kind, parts: Iterable[Any]) -> Any:
    """Return a matrix of its parts: recorded, SciPy's, or what stands for one; None of nothing."""
    data, first, second = parts
    if data is None:
        return None
    if not all(isinstance(p, np.ndarray) for p in (data, first, second)):
        kind = kind.of_format(kind.format)
        made = Sparse(data, first, second, kind)
        return ENTERED.of(made) if isinstance(data, Array) else made
    if data.shape != first.shape[:1] and kind.format != "coo" or data.ndim != 1:
        raise ArgumentError(
            "this derivative by a sparse matrix is no matrix: write a function of its data, and make the matrix inside"
        )
    return kind.plain(data, first, second)


class Entered:
    """What is done with a matrix that enters a recording: set where that is known."""

    of: Callable[[Sparse], Sparse]


ENTERED = Entered()
ENTERED.of = lambda made: made


def register(*namespaces: str) -> None:
    """Let nests hold sparse matrices."""
    kinds = {**dict.fromkeys((*CLASSES, *other_formats.CLASSES), _apart), Sparse: _apart_again}
    for namespace in namespaces:
        for cls, apart in kinds.items():
            optree.register_pytree_node(cls, apart, _together, namespace=namespace)  # type: ignore[arg-type]


def same_places(a: Any, b: Any) -> bool:
    """True if two arrays of places are equal; recorded ones if they are one."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a is b or np.array_equal(a, b)
    return a is b or isinstance(a, Array) and isinstance(b, Array) and a.storage is b.storage


def is_place(path: tuple) -> bool:
    """True of the way to a leaf that holds places of a sparse matrix."""
    return bool(path) and isinstance(path[-1], Places)


def probed(value: Any, namespace: str) -> list[Any]:
    """Return the leaves of a nest for comparisons, with products in place of sparse matrices.

    Matrices that are equal may have their elements in another order, and more zeros among these.
    """
    found: list[Any] = []
    for leaf in optree.tree_leaves(value, is_leaf=issparse, namespace=namespace):
        if not issparse(leaf) or leaf.ndim != 2:
            found.append(leaf)
            continue
        rows, columns = (np.cos(1.0 + np.arange(n)).astype(leaf.real.dtype) for n in leaf.shape)
        found += [np.array(leaf.shape), leaf @ columns, leaf.T @ rows]
    return found


def returned(value: Any, namespace: str) -> Any:
    """Return a nest with SciPy's classes for recorded matrices: its form is that of the results."""
    return optree.tree_map(
        lambda v: v.kind.stand_in(*v.parts) if type(v) is Sparse else v,
        value,
        is_leaf=lambda v: type(v) is Sparse,
        namespace=namespace,
    )
