"""Answer for the methods and properties of sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.table import all_known, array, content, known, wrapped
from sdgrad.record.methods import BoundRule
from sdgrad.record.sparse import arithmetic
from sdgrad.record.sparse.arithmetic import (
    KEEP_ZERO,
    multiply,
    of_elements,
    of_type,
    power_of_elements,
    toarray,
    total,
    transposed,
)
from sdgrad.record.sparse.dense import dense_like
from sdgrad.record.sparse.filling import FORMATS as FILLED_FORMATS
from sdgrad.record.sparse.filling import copied, filling_of, with_room
from sdgrad.record.sparse.known import REPLACED
from sdgrad.record.sparse.matrix import FORMATS, OPERATIONS, Sparse
from sdgrad.record.sparse.patterns import rearranged, without_repeats
from sdgrad.record.sparse.places import each_place
from sdgrad.record.values import RULES

METHODS, PROPERTIES = OPERATIONS.methods, OPERATIONS.properties
INSTEAD = {
    "resize": "it writes the matrix: make another one of values and places",
    **dict.fromkeys(
        ("sum_duplicates", "eliminate_zeros", "prune", "sort_indices"), "it writes the matrix: do so before"
    ),
    **dict.fromkeys(
        ("argmax", "argmin", "nanmax", "nanmin"), "write .toarray() first, or use .data, without the zeros"
    ),
    **dict.fromkeys(("maximum", "minimum"), "write .toarray() first, as in np.maximum(A.toarray(), B.toarray())"),
    **dict.fromkeys(("count_nonzero", "nonzero"), "which elements are zero only a run knows: use .nnz, or .tocoo()"),
}


def method(*names: str) -> Callable[[Callable], Callable]:
    """Register a method."""

    def register(f: Callable) -> Callable:
        METHODS.update(dict.fromkeys(names, f))
        return f

    return register


# -- forms
def converted(a: Sparse, format: str, is_array: bool | None = None) -> Sparse:
    """Return the matrix in another format, and perhaps of the other class."""
    if format != a.kind.format:
        a = _listed(a) if format == "coo" else rearranged(lambda m: m.asformat(format), f".to{format}()", a)
    if is_array is None or is_array == a.kind.is_array:
        return a
    return Sparse(a.data, a.first, a.second, type(a.kind)(format, is_array, a.shape))


def _listed(a: Sparse) -> Sparse:
    return Sparse(a.data, *each_place(a), a.kind.of_format("coo"))


def _conversion(format: str) -> Callable:
    own = format if format in FORMATS else "csr"
    return lambda a, copy=format == "coo": _fresh(converted(a, own), a, copy)


METHODS |= {f"to{_format}": _conversion(_format) for _format in (*FORMATS, *REPLACED)}


def _fresh(found: Sparse, a: Sparse, copy: bool) -> Sparse:
    """Return a matrix whose data are no other one's, if that is asked for."""
    shared = found.data is a.data and (copy or filling_of(a) is not None)
    return found.with_data(np.copy(found.data)) if shared else found


@method("asformat")
def asformat(a: Sparse, format: Any, copy: bool = False) -> Sparse:
    if format in FILLED_FORMATS:
        return with_room(a)
    if format is not None and format not in (*FORMATS, *REPLACED):
        raise ParseError(f"a sparse matrix of format {format!r} is not recorded: use csr, csc or coo")
    own = a.kind.format if format is None else format if format in FORMATS else "csr"
    return _fresh(converted(a, own), a, copy)


@method("copy")
def copy(a: Sparse) -> Sparse:
    return copied(a)


@method("tolil", "todok")
def to_be_filled(a: Sparse, copy: bool = False) -> Sparse:
    return with_room(a)


@method("astype")
def astype(a: Sparse, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Sparse:
    return a.with_data(a.data.astype(dtype))


@method("transpose")
def transpose(a: Sparse, axes: Any = None, copy: bool = False) -> Sparse:
    if axes not in (None, (1, 0)):
        raise ValueError("Sparse matrices do not support an 'axes' parameter: swapping dimensions is all there is")
    return _fresh(transposed(a), a, copy)


@method("toarray")
def to_array(a: Sparse, order: Any = None, out: Any = None) -> Any:
    if out is not None:
        raise ParseError(".toarray(out=) is not recorded")
    return toarray(a)


@method("todense")
def todense(a: Sparse, order: Any = None, out: Any = None) -> Any:
    return dense_like(a.kind.is_array, to_array(a, order, out))


@method("reshape")
def reshape(a: Sparse, *shape: Any, order: str = "C", copy: bool = False) -> Any:
    return rearranged(lambda m: m.reshape(*shape, order=order), ".reshape()", a)


# -- products
@method("dot")
def dot(a: Sparse, other: Any) -> Any:
    return multiply(a, other) if arithmetic.is_scalar(other) else arithmetic.matmul(a, other)


METHODS |= {"multiply": multiply, "power": power_of_elements}


# -- sums
def _axis(axis: Any) -> int | None:
    if axis is None or axis in ((0, 1), (1, 0)):
        return None
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    if not isinstance(axis, (int, np.integer)) or not -2 <= axis < 2:
        raise ValueError("axis out of range")
    return int(axis) % 2


def _reduced(a: Sparse, axis: Any, found: Any) -> Any:
    """Return sums in the shape that SciPy's class gives them."""
    own = _axis(axis)
    if own is None or a.kind.is_array:
        return found
    return dense_like(False, np.reshape(found, (1, -1) if own == 0 else (-1, 1)))


@method("sum")
def sum_(a: Sparse, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    if out is not None:
        raise ParseError(".sum(out=) of a sparse matrix is not recorded")
    own = a if dtype is None else a.with_data(of_type(a.data, dtype))
    return _reduced(a, axis, total(own, _axis(axis)))


@method("mean")
def mean(a: Sparse, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    if out is not None:
        raise ParseError(".mean(out=) of a sparse matrix is not recorded")
    kind = np.dtype(dtype) if dtype is not None else np.result_type(a.data.dtype, np.float64) if _is_whole(a) else None
    own = a if kind is None else a.with_data(of_type(a.data, kind))
    count = a.shape[0] * a.shape[1] if _axis(axis) is None else a.shape[_axis(axis) or 0]
    return _reduced(a, axis, total(own, _axis(axis)) / count)


def _is_whole(a: Sparse) -> bool:
    return a.data.dtype.kind in "biu"


@method("diagonal")
def diagonal(a: Sparse, k: Any = 0) -> Any:
    """Return the diagonal: sums over rows of what lies on it."""
    rows, columns = a.shape
    if k <= -rows or k >= columns:
        return known(np.zeros(0, a.data.dtype))
    if all(content(array(p)) is not None for p in (a.first, a.second)):
        return rearranged(lambda m: m.diagonal(k), ".diagonal()", a)
    at = each_place(a)
    on_it = np.where(at[0] + k == at[1], a.data, 0)
    found = total(Sparse(on_it, a.first, a.second, a.kind), 1)
    begin = max(0, -k)
    return found[begin : begin + min(rows - begin, columns - max(0, k))]


@method("trace")
def trace(a: Sparse, offset: Any = 0) -> Any:
    return np.sum(diagonal(a, offset))


# -- elements
for _function in KEEP_ZERO - {np.negative, np.absolute}:
    METHODS[_function.__name__] = lambda a, function=_function: of_elements(function, a)
METHODS["conj"] = METHODS["conjugate"] = lambda a, copy=True: a.with_data(np.conj(a.data))
METHODS["__abs__"] = lambda a: abs(a)


# -- parts
def item(a: Sparse, index: Any) -> Any:
    """Return a part: its places decide which elements that has, so that the program is for these."""
    own = own_index(index)
    return rearranged(lambda m: m[own], "a part", a)


def own_index(index: Any) -> tuple:
    """Return an index with known positions: numbers may be made known."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(map(content, parts if all_known(parts) else map(_position, parts)))


# -- extremes
def _extreme(name: str, of_all: Callable, of_two: np.ufunc) -> None:
    def extreme(a: Sparse, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        if axis is not None or out is not None:
            raise ParseError(f".{name}(axis=) of a sparse matrix is not recorded: write .toarray().{name}(axis)")
        if not a.shape[0] * a.shape[1]:
            raise ValueError("zero-size array to reduction operation")
        own = without_repeats(a, f".{name}()")
        is_full = explicit or own.nnz == a.shape[0] * a.shape[1]
        if not own.nnz:
            return known(np.zeros((), a.data.dtype))[()]
        return of_all(own.data) if is_full else of_two(of_all(own.data), 0)

    METHODS[name] = extreme


_extreme("max", np.max, np.maximum)
_extreme("min", np.min, np.minimum)


def _position(part: Any) -> Any:
    """Return a position that is known when recording: a number may be made known."""
    if isinstance(part, slice):
        return slice(*(None if v is None else v.__index__() for v in (part.start, part.stop, part.step)))
    return part.__index__() if getattr(part, "ndim", 0) == 0 else RULES.content(part, "an index of a sparse matrix")


OPERATIONS.item = item


@method("getrow")
def getrow(a: Sparse, i: Any) -> Any:
    return rearranged(lambda m: m.getrow(int(i)), ".getrow()", a)


@method("getcol")
def getcol(a: Sparse, j: Any) -> Any:
    return rearranged(lambda m: m.getcol(int(j)), ".getcol()", a)


@method("getnnz")
def getnnz(a: Sparse, axis: Any = None) -> Any:
    if axis is not None:
        raise ParseError(".getnnz(axis=) is not recorded: use np.diff(A.indptr)")
    return a.nnz


PROPERTIES |= {
    "T": transposed, "dtype": lambda a: a.data.dtype, "ndim": lambda a: 2, "format": lambda a: a.kind.format,
    "size": lambda a: a.nnz, "coords": lambda a: a.parts[1:], "real": lambda a: a.with_data(np.real(a.data)),
    "imag": lambda a: a.with_data(np.imag(a.data)),
}  # fmt: skip


def other(a: Sparse, name: str) -> Any:
    """Return an attribute without a rule: SciPy's, of a matrix that is known."""
    told = INSTEAD.get(name, "use products, sums, its data, or .toarray()")
    if name in INSTEAD and "writes" in told or not all_known(a):
        raise ParseError(f"{a.kind.cls.__name__}.{name} is not recorded: {told}")
    found = getattr(content(a), name)
    if not callable(found):
        return wrapped(found)
    return BoundRule(lambda own, *args, **kwargs: wrapped(found(*content(args), **content(kwargs))), a)


OPERATIONS.other, OPERATIONS.bound = other, BoundRule
