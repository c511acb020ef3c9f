"""Compute with sparse matrices: products, sums, elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.table import all_known, array, content, full_name, known, operand, own, wrapped
from sdgrad.record.sparse.dense import dense_like
from sdgrad.record.sparse.matrix import OPERATIONS, Sparse, is_sparse
from sdgrad.record.sparse.patterns import coordinates, picked, same_places, summed, without_repeats
from sdgrad.record.sparse.places import each_place
from sdgrad.record.sparse.products import gather, listed, spread
from sdgrad.record.sparse.repeats import single
from sdgrad.record.values import Array, Number

Index = np.dtype(np.int64)
KEEP_ZERO = {
    np.sqrt, np.sin, np.tan, np.arcsin, np.arctan, np.sinh, np.tanh, np.arcsinh, np.arctanh, np.expm1, np.log1p,
    np.deg2rad, np.rad2deg, np.sign, np.floor, np.ceil, np.rint, np.trunc, np.absolute, np.negative, np.conjugate,
}  # fmt: skip
"""Functions that are zero at zero: those of the stored elements."""
LINEAR = {np.deg2rad, np.rad2deg, np.negative, np.conjugate}
"""Those of sums are sums."""


def is_scalar(value: Any) -> bool:
    """True of numbers, and of arrays without axes."""
    return isinstance(value, (Number, bool, int, float, complex, np.generic)) or np.ndim(value) == 0


def of_type(x: Any, dtype: Any) -> Any:
    return astype(array(x), dtype, copy=False)


def result_type(*values: Any) -> np.dtype:
    """Return the type of a product.

    :raises ParseError: it is no number.
    """
    dtype = np.result_type(*(array(v).dtype for v in values))
    if dtype.kind == "b":
        raise ParseError("a product of matrices of booleans is not recorded: convert them, as in A.astype(float)")
    return dtype


# -- products
def matmul(a: Any, b: Any) -> Any:
    """Return ``a @ b``, one of which is sparse."""
    if is_sparse(a) and is_sparse(b):
        return product_of_two(a, b)
    dense = array(b if is_sparse(a) else a)
    if dense.ndim == 0:
        raise ValueError("Scalar operands are not allowed, use '*' instead")
    if dense.ndim > 2:
        raise ParseError("a sparse matrix times an array of three or more dimensions is not recorded: use a loop")
    if is_sparse(a):
        return times_dense(a, dense)
    turned = transposed(b)
    return (
        times_dense(turned, dense) if dense.ndim == 1 else np.transpose(times_dense(turned, array(np.transpose(dense))))
    )


def times_dense(a: Sparse, x: Array) -> Any:
    """Return a sparse matrix times a vector or dense columns."""
    rows, columns = a.shape
    if x.shape[0] != columns:
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={columns}),(k={x.shape[0]},m)->(n,m)")
    dtype = result_type(a.data, x)
    shape = (rows, *x.shape[1:])
    if not a.nnz or 0 in shape:
        return known(np.zeros(shape, dtype))
    data, dense = of_type(a.data, dtype), of_type(x, dtype)
    if a.kind.format == "csr":
        return gather(data, a.second, a.first, dense)
    if a.kind.format == "csc":
        return spread(data, a.second, a.first, dense, rows)
    return listed(data, a.first, a.second, dense, rows)


def product_of_two(a: Sparse, b: Sparse) -> Sparse:
    """Return the product of two sparse matrices: of each element of the first with a row of the second."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul: dimension mismatch with shapes {a.shape}, {b.shape}")
    what = "a product of two sparse matrices"
    (rows, inner), (inner_b, columns) = coordinates(a, what), coordinates(b, what)
    by_row = np.argsort(inner_b, kind="stable")
    start = np.searchsorted(inner_b[by_row], np.arange(a.shape[1] + 1))
    counts = (start[1:] - start[:-1])[inner]
    left = np.repeat(np.arange(a.nnz), counts)
    begin = np.repeat(start[:-1][inner] - np.append(0, np.cumsum(counts)[:-1])[: len(counts)], counts)
    right = by_row[begin + np.arange(len(left))] if len(left) else left
    kind = a.kind.of_format(a.kind.format if a.kind.format != "coo" else "csr", (a.shape[0], b.shape[1]))
    dtype = result_type(a.data, b.data)
    terms = picked(of_type(a.data, dtype), left) * picked(of_type(b.data, dtype), right)
    return summed(terms, rows[left], columns[right], kind)


def transposed(a: Sparse) -> Sparse:
    """Return the transpose: rows that are compressed become columns that are."""
    format = {"csr": "csc", "csc": "csr", "coo": "coo"}[a.kind.format]
    kind = a.kind.of_format(format, a.shape[::-1])
    places = (a.second, a.first) if format == "coo" else (a.first, a.second)
    return Sparse(a.data, *places, kind)


# -- by element
def times(a: Any, b: Any) -> Any:
    """Return ``a * b``: of SciPy's matrices the product, of its arrays that of elements."""
    kinds = [x.kind for x in (a, b) if is_sparse(x)]
    if is_scalar(a) or is_scalar(b) or all(k.is_array for k in kinds):
        return multiply(a, b) if is_sparse(a) else multiply(b, a)
    return matmul(a, b)


def multiply(a: Sparse, other: Any) -> Sparse:
    """Return the product of elements."""
    if is_sparse(other):
        return _of_both(a, other)
    if is_scalar(other):
        return a.with_data(a.data * _number(other))
    factor, at = _at_places(a, array(other))
    return Sparse(a.data * factor, *at, a.kind.of_format("coo"))


def _at_places(a: Sparse, dense: Array) -> tuple[Any, tuple[Any, Any]]:
    """Return the elements of an array at the places of a matrix, and these; rows or columns of it are repeated."""
    if dense.ndim > 2:
        raise ValueError("shape mismatch")
    wide = dense.shape if dense.ndim == 2 else (1, *dense.shape)
    if np.broadcast_shapes(wide, a.shape) != a.shape:
        raise ParseError(f"a sparse matrix of shape {a.shape} is repeated to that of an array: write .toarray()")
    rows, columns = each_place(a)
    if dense.ndim == 1:
        return (dense[columns] if dense.shape[0] > 1 else dense), (rows, columns)
    return dense[tuple(0 if n == 1 else at for n, at in zip(wide, (rows, columns), strict=True))], (rows, columns)


def _number(value: Any) -> Any:
    """Return a number of an array without axes."""
    return value[()] if isinstance(value, (Array, np.ndarray)) else value


def _of_both(a: Sparse, b: Sparse) -> Sparse:
    _same_shape(a, b)
    what = "a product of elements of two sparse matrices"
    a, b = without_repeats(a, what), without_repeats(b, what)
    first, second = (r * a.shape[1] + c for r, c in (coordinates(a, what), coordinates(b, what)))
    both, left, right = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    rows, columns = np.divmod(both, max(a.shape[1], 1))
    return summed(picked(a.data, left) * picked(b.data, right), rows, columns, _compressed(a))


def _compressed(a: Sparse) -> Any:
    return a.kind.of_format("csr") if a.kind.format == "coo" else a.kind


def _same_shape(a: Sparse, b: Sparse) -> None:
    if a.shape != b.shape:
        if 1 in (*a.shape, *b.shape) and len(a.shape) == len(b.shape):
            raise ParseError(f"sparse matrices of shapes {a.shape} and {b.shape} are not broadcast: write .toarray()")
        raise ValueError(f"inconsistent shapes {a.shape} and {b.shape}")


def divide(a: Any, b: Any) -> Any:
    if not is_sparse(a):
        raise TypeError(f"unsupported operand type(s) for /: a dense operand and '{b.kind.cls.__name__}'")
    if is_sparse(b):
        raise ParseError("a quotient of two sparse matrices is dense, with NaN: write .toarray()")
    if is_scalar(b):
        return a.with_data(a.data / _number(b))
    factor, at = _at_places(a, array(b))
    return Sparse(a.data / factor, *at, a.kind.of_format("coo"))


def add(a: Any, b: Any, sign: int = 1) -> Any:
    """Return ``a + sign * b``."""
    if is_sparse(a) and is_sparse(b):
        return _sum_of_two(a, b, sign)
    matrix, other = (a, b) if is_sparse(a) else (b, a)
    if is_scalar(other):
        if content(operand(other)) is None or isinstance(other, Number) or _number(content(operand(other))) != 0:
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        return matrix if sign == 1 or matrix is a else matrix.with_data(-matrix.data)
    dense: Any = array(other)
    if dense.shape != matrix.shape:
        raise ParseError(f"a sparse matrix of shape {matrix.shape} and an array of another shape: write .toarray()")
    whole = toarray(matrix)
    return dense_like(matrix.kind.is_array, whole + sign * dense if matrix is a else dense + sign * whole)


def _sum_of_two(a: Sparse, b: Sparse, sign: int) -> Sparse:
    other = b.data if sign == 1 else -b.data
    if same_places(a, b) and a.kind.format != "coo":
        return a.with_data(a.data + other)
    _same_shape(a, b)
    what = "a sum of two sparse matrices with different places"
    rows, columns = map(np.concatenate, zip(coordinates(a, what), coordinates(b, what), strict=True))
    return summed(np.concatenate([array(a.data), array(other)]), rows, columns, _compressed(a))


def power(a: Any, n: Any) -> Any:
    """Return ``a ** n``: of SciPy's matrices products, of its arrays those of elements."""
    if not is_sparse(a):
        raise TypeError("unsupported operand type(s) for **: a dense operand and a sparse one")
    if a.kind.is_array:
        return power_of_elements(a, n)
    count = content(operand(n))
    if isinstance(n, Number) or count is None or int(count) != count or count < 0:
        raise ParseError("a power of a sparse matrix needs a whole exponent that is known when recording")
    if count == 0:
        raise ParseError("A ** 0 is not recorded: use scipy.sparse.eye")
    found = a
    for _ in range(int(count) - 1):
        found = product_of_two(found, a)
    return found


def power_of_elements(a: Sparse, n: Any, dtype: Any = None) -> Sparse:
    """Return the powers of the stored elements."""
    if not is_scalar(n):
        raise NotImplementedError("input is not scalar")
    if not isinstance(n, Number) and not _number(n):
        raise NotImplementedError("zero power is not supported as it would densify the matrix.")
    a = single(a, "a power")
    data = a.data if dtype is None else of_type(a.data, dtype)
    return a.with_data(data ** _number(n))


def of_elements(function: np.ufunc, a: Sparse) -> Sparse:
    """Return a function of the elements that is zero at zero."""
    own = a if function in LINEAR else single(a, full_name(function))
    return own.with_data(function(own.data))


# -- dense results
def toarray(a: Sparse) -> Any:
    """Return the matrix as an array."""
    made = np.zeros(a.shape, a.data.dtype)
    target = array(known(made))
    if a.nnz:
        rows, columns = each_place(a)
        np.add.at(target, (rows, columns), a.data)
    return target


def total(a: Sparse, axis: Any = None) -> Any:
    """Return sums over an axis, or of all, as arrays."""
    dtype = np.dtype(np.int64) if a.data.dtype.kind in "bi" else a.data.dtype
    data = of_type(a.data, dtype)
    if axis is None:
        return np.sum(data)
    turned = a.with_data(data) if axis == 1 else transposed(a.with_data(data))
    return times_dense(turned, array(known(np.ones(turned.shape[1], dtype))))


# -- operators
def _known_by_scipy(function: Callable, inputs: tuple) -> Any:
    if not all_known(inputs):
        raise ParseError(f"{full_name(function)} of a sparse matrix is not recorded")
    return wrapped(function(*(content(x) for x in inputs)))


BINARY: dict[Any, Callable] = {
    np.matmul: matmul, np.multiply: times, np.true_divide: divide, np.add: add, np.power: power,
    np.subtract: lambda a, b: add(a, b, -1),
}  # fmt: skip


def ufunc(function: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """Return a universal function, or an operator, of operands with sparse matrices among them."""
    inputs = tuple(map(own, inputs))
    if method not in ("operator", "__call__") or kwargs:
        raise ParseError(f"{full_name(function)} of a sparse matrix, with arguments or as a method, is not recorded")
    strange = next((x for x in inputs if not (is_sparse(x) or _is_operand(x))), None)
    if strange is not None:
        if method == "operator":
            return NotImplemented
        raise ParseError(f"{full_name(function)} of a sparse matrix and a {type(strange).__name__} is not recorded")
    if len(inputs) == 1 and function in KEEP_ZERO:
        return of_elements(function, *inputs)
    if function in BINARY:
        return BINARY[function](*inputs)
    return _known_by_scipy(function, inputs)


def _is_operand(value: Any) -> bool:
    numbers = isinstance(value, (Number, Array, bool, int, float, complex, np.generic, np.ndarray))
    return numbers or isinstance(value, (list, tuple))


OPERATIONS.ufunc = ufunc
