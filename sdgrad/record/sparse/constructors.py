"""Make sparse matrices in recorded functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.table import active, all_known, array, content, fixed, known, rule
from sdgrad.record.index_limits import note_limit
from sdgrad.record.recorder import ONLY_DATA
from sdgrad.record.settling import settle
from sdgrad.record.sparse.arithmetic import of_type
from sdgrad.record.sparse.filling import FORMATS as FILLED_FORMATS
from sdgrad.record.sparse.filling import with_room
from sdgrad.record.sparse.matrix import FORMATS, Kind, Sparse, is_sparse
from sdgrad.record.sparse.methods import converted
from sdgrad.record.sparse.other_formats import FORMATS as OTHERS
from sdgrad.record.sparse.patterns import coordinates, from_numbers, joined, picked, rearranged, summed
from sdgrad.record.sparse.places import limits_of, note_places
from sdgrad.record.sparse.taking import KINDS
from sdgrad.record.values import Array, holds_recorded

DENSE = (
    "a sparse matrix of an array has places that its content decides: write {0}((values, (rows, columns)), shape=..)"
)


# -- of data and places
def _maker(format: str, is_array: bool) -> Callable:
    name = FORMATS[format][is_array].__name__

    def make(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: Any = None) -> Sparse:
        found = _made(arg1, format, is_array, shape, name)
        return found if dtype is None else found.with_data(of_type(found.data, dtype))

    return make


def _made(given: Any, format: str, is_array: bool, shape: Any, name: str) -> Sparse:
    if is_sparse(given):
        return converted(given, format, is_array)
    is_pair = isinstance(given, tuple) and len(given) == 2 and _are_places(given[1])
    is_triple = isinstance(given, tuple) and len(given) == 3 and format != "coo"
    if not (is_pair or is_triple):
        settle(active(), ONLY_DATA)
        raise ParseError(DENSE.format(name))
    places = given[1] if is_pair else given[1:]
    data, (first, second) = array(given[0]), (_whole(p) for p in places)
    kind = Kind("coo" if is_pair else format, is_array, _shape(shape, first, second, "coo" if is_pair else format))
    found = _checked(Sparse(data, first, second, kind), name)
    return found if format == found.kind.format else _compressed(found, format)


def _are_places(given: Any) -> bool:
    """True of two rows of places, also in one array; a pair of whole numbers is a shape."""
    return isinstance(given, (tuple, list)) or np.ndim(given) == 2 and np.shape(given)[0] == 2


def _whole(places: Any) -> Array:
    found = array(places)
    if found.dtype.kind not in "iu":
        found = array(found.astype(np.int64))
    return found


def _shape(shape: Any, first: Array, second: Array, format: str) -> tuple[int, int]:
    """Return the shape that is given, or that of the largest places."""
    if shape is not None:
        return tuple(int(n) for n in shape)  # type: ignore[return-value]
    if content(first) is None or content(second) is None and format == "coo":
        settle(active(), ONLY_DATA)
        raise ParseError("a sparse matrix without shape= needs places that are known when recording: give its shape")
    if format == "coo":
        return tuple(int(content(p).max(initial=-1)) + 1 for p in (first, second))  # type: ignore[return-value]
    sizes = (second.shape[0] - 1, int(content(first).max(initial=-1)) + 1)
    return sizes if format == "csr" else sizes[::-1]


def _checked(a: Sparse, name: str) -> Sparse:
    """Return the matrix with places that lie inside for certain."""
    (count,) = a.data.shape
    is_list = a.kind.format == "coo"
    if a.first.shape != (count,) or is_list and a.second.shape != (count,):
        raise ValueError("row, column, and data arrays must have the same length")
    if not is_list and a.second.shape != (a.shape[a.kind.format == "csc"] + 1,):
        raise ValueError(f"index pointer size {a.second.shape[0]} should be {a.shape[a.kind.format == 'csc'] + 1}")
    if all(content(p) is not None for p in (a.first, a.second)):
        made = a.kind.plain(np.zeros(count), content(a.first), content(a.second))  # which looks at lists
        if not is_list:
            made.check_format(full_check=True)
        return a
    limits = zip((a.first, a.second), limits_of(a), (False, a.kind.format != "coo"), strict=True)
    first, second = (_inside(p, n, ascending, name) for p, n, ascending in limits)
    return Sparse(a.data, first, second, a.kind)


def _inside(part: Array, extent: int, ascending: bool, name: str) -> Any:
    """Return places that are checked: before a call where they are its arguments, else by the program."""
    places: Any = part
    recorder: Any = places.recorder
    if content(places) is not None:
        return places
    if note_limit(recorder, places, extent, 0) and places.tensor.place is None:
        note_places(recorder, places, extent, ascending)
        return places
    fixed(places)  # a part of an array from outside: the program is for its content
    if ascending:
        raise ParseError(
            f"{name}((data, indices, indptr)) with an indptr that a run computes is not recorded: use "
            f"{name}((data, (rows, columns)), shape=..)"
        )
    if 0 < places.storage.indexes <= extent and not places.storage.version:
        return places
    is_inside = (places >= 0) & (places < extent)
    require(np.all(is_inside), "axis index exceeds matrix dimension, or is negative")
    return np.where(is_inside, places, 0)


def _compressed(a: Sparse, format: str) -> Sparse:
    """Return a list of places with compressed rows or columns: elements of the same place are added."""
    return rearranged(lambda m: m.asformat(format), f"{format}_matrix((data, (rows, columns)))", a)


for _format in FORMATS:
    for _is_array, _class in enumerate(FORMATS[_format]):
        rule(_class)(_maker(_format, bool(_is_array)))


# -- of blocks
def _maker_of_blocks(is_array: bool) -> Callable:
    """Return the rule of a class of matrices of blocks: they are matrices with compressed rows here."""
    name = OTHERS["bsr"][is_array].__name__

    def make(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, blocksize: Any = None) -> Sparse:
        if is_sparse(arg1):
            found = converted(arg1, "csr", is_array)
        elif isinstance(arg1, tuple) and len(arg1) == 3:
            found = _from_blocks(*arg1, shape, is_array, name)
        else:
            found = _made(arg1, "csr", is_array, shape, name)
        return found if dtype is None else found.with_data(of_type(found.data, dtype))

    return make


def _from_blocks(blocks: Any, indices: Any, indptr: Any, shape: Any, is_array: bool, name: str) -> Sparse:
    data, places = array(blocks), [fixed(_whole(p)) for p in (indices, indptr)]
    if any(p is None for p in places):
        raise ParseError(f"{name}((data, indices, indptr)) with places that a run computes: use coo_array")
    numbers = np.arange(1.0, data.size + 1).reshape(data.shape)
    given = OTHERS["bsr"][is_array]((numbers, *places), shape=shape).tocsr()
    if given.nnz != data.size:
        raise ParseError(f"{name} with a block twice at one place is not recorded: add the blocks first")
    return from_numbers(given, np.reshape(data, (-1,)))


for _is_array, _class in enumerate(OTHERS["bsr"]):
    rule(_class)(_maker_of_blocks(bool(_is_array)))


# -- of diagonals
def _filled(values: Sequence[Any], build: Callable[[list], Any]) -> Any:
    """Return the matrix that a function makes of arrays of values: it is called with the numbers of their elements."""
    arrays = [array(v) for v in values]
    dtype = np.result_type(np.float64 if all(v.dtype.kind in "biu" for v in arrays) else arrays[0].dtype,
                           *(v.dtype for v in arrays))  # fmt: skip
    flat = [np.reshape(of_type(v, dtype), (-1,)) for v in arrays]
    begins = np.cumsum([1, *(v.shape[0] for v in flat)])
    counted = zip(begins, flat, arrays, strict=False)
    numbers = [np.arange(n, n + f.shape[0], dtype=float).reshape(v.shape) for n, f, v in counted]
    return from_numbers(build(numbers), joined(flat))


def _format_of(format: Any) -> str:
    if format in (None, "dia", "bsr"):
        return "csr"
    if format not in FORMATS:
        raise ParseError(f"a sparse matrix of format {format!r} is not recorded: use csr, csc or coo")
    return format


def _diagonals(make: Callable, diagonals: Any, offsets: Any, shape: Any, format: Any, dtype: Any) -> Any:
    one = np.ndim(diagonals) == 1 if isinstance(diagonals, Array) else not any(np.ndim(d) for d in diagonals)
    is_vector = np.ndim(content(offsets)) == 0 and (isinstance(diagonals, Array) and one or one and len(diagonals) != 1)
    values = [diagonals] if is_vector else list(diagonals)
    own = content(offsets)

    def build(numbers: list) -> Any:
        rows = [n[()] if n.ndim == 0 else n for n in numbers]
        return make(rows[0] if is_vector else rows, offsets=own, shape=shape, format=_format_of(format))

    found = _filled(values, build)
    return found if dtype is None else found.with_data(of_type(found.data, dtype))


@rule(sp.diags)
def diags(diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None) -> Any:
    return _diagonals(sp.diags, diagonals, offsets, shape, format, dtype)


@rule(sp.diags_array)
def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> Any:
    return _diagonals(sp.diags_array, diagonals, offsets, shape, format, dtype)


@rule(sp.spdiags)
def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: Any = None) -> Any:
    own = content(diags)
    return _filled([array(data)], lambda numbers: sp.spdiags(numbers[0], own, m, n, _format_of(format)))


def _of_diagonals(is_array: bool, cls: Any) -> None:
    def made(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: Any = None) -> Sparse:
        if is_sparse(arg1):
            found = converted(arg1, "csr", is_array)
        elif isinstance(arg1, tuple) and len(arg1) == 2 and not all_known(arg1[0]):
            offsets = content(arg1[1])
            found = _filled([array(arg1[0])], lambda numbers: cls((numbers[0], offsets), shape=shape))
        else:
            raise ParseError(DENSE.format("coo_matrix"))
        return found if dtype is None else found.with_data(of_type(found.data, dtype))

    rule(cls)(made)


for _is_array, _class in enumerate((sp.dia_matrix, sp.dia_array)):
    _of_diagonals(bool(_is_array), _class)


# -- to be filled
def _to_be_filled(is_array: bool, cls: Any) -> None:
    def made(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: Any = None) -> Sparse:
        if not is_sparse(arg1):
            raise ParseError(DENSE.format("coo_matrix"))
        found = with_room(converted(arg1, "csr", is_array))
        return found if dtype is None else found.with_data(of_type(found.data, dtype))

    rule(cls)(made)


for _format in FILLED_FORMATS:
    for _is_array, _class in enumerate(OTHERS[_format]):
        _to_be_filled(bool(_is_array), _class)


# -- of blocks
def _blocks(function: Callable, blocks: Any, *args: Any, format: Any = None, dtype: Any = None) -> Any:
    """Return what a function makes of a nest of blocks, which are sparse, or arrays without a recorded content."""
    matrices: list[Sparse] = []

    def place(block: Any) -> Any:
        if isinstance(block, (list, tuple)):
            return [place(b) for b in block]
        if block is None:
            return None
        if not is_sparse(block):
            if holds_recorded(block) and not all_known(block):
                raise ParseError(DENSE.format("coo_matrix"))
            block = _of_known(content(block))
        matrices.append(block)
        return len(matrices) - 1

    nest = place(blocks)

    def build(*own: Any) -> Any:
        def filled(part: Any) -> Any:
            return [filled(p) for p in part] if isinstance(part, list) else None if part is None else own[part]

        return function(filled(nest), *args, **({} if format is None else {"format": _format_of(format)}))

    found = rearranged(build, f"{function.__name__}()", *matrices)
    return found if dtype is None else found.with_data(of_type(found.data, dtype))


def _of_known(block: Any) -> Any:
    own = sp.coo_matrix(block)
    return Sparse(known(own.data), known(own.row), known(own.col), Kind.of(own))


def _of_blocks(function: Callable) -> None:
    def made(blocks: Any, format: Any = None, dtype: Any = None) -> Any:
        return _blocks(function, blocks, format=format, dtype=dtype)

    rule(function)(made)


for _function in (sp.hstack, sp.vstack, sp.bmat, sp.block_diag):
    _of_blocks(_function)


@rule(sp.block_array)
def block_array(blocks: Any, *, format: Any = None, dtype: Any = None) -> Any:
    return _blocks(sp.block_array, blocks, format=format, dtype=dtype)


@rule(sp.kron)
def kron(A: Any, B: Any, format: Any = None) -> Any:  # noqa: N803 (SciPy's names)
    a, b = (m if is_sparse(m) else _of_known(content(m)) for m in (A, B))
    (rows, columns), (inner_rows, inner_columns) = coordinates(a, "kron()"), coordinates(b, "kron()")
    left, right = np.repeat(np.arange(a.nnz), b.nnz), np.tile(np.arange(b.nnz), a.nnz)
    is_array = any(m.kind.is_array for m in (A, B) if is_sparse(m))
    kind = Kind(_format_of(format), is_array, (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]))
    at = rows[left] * b.shape[0] + inner_rows[right], columns[left] * b.shape[1] + inner_columns[right]
    return summed(picked(a.data, left) * picked(b.data, right), *at, kind)


@rule(sp.kronsum)
def kronsum(A: Any, B: Any, format: Any = None) -> Any:  # noqa: N803 (SciPy's names)
    for name, shape in (("A", A.shape), ("B", B.shape)):
        if shape[0] != shape[1]:
            raise ValueError(f"{name} is not square")
    unit = sp.eye_array if any(isinstance(m, sp.sparray) for m in (A, B)) else sp.identity
    found = kron(unit(B.shape[0]), A) + kron(B, unit(A.shape[0]))
    return found if format is None else found.asformat(format)


def _part(function: Callable) -> None:
    def part(A: Any, k: Any = 0, format: Any = None) -> Any:  # noqa: N803 (SciPy's name)
        own = {} if format is None else {"format": _format_of(format)}
        return rearranged(lambda m: function(m, k, **own), f"{function.__name__}()", A)

    rule(function)(part)


for _function in (sp.triu, sp.tril):
    _part(_function)


rule(*KINDS)(lambda x: False)  # of what is not sparse


@rule(sp.find)
def find(A: Any) -> Any:  # noqa: N803 (SciPy's name)
    raise ParseError("scipy.sparse.find leaves zeros out, which only a run knows: use A.tocoo(), its row, col and data")
