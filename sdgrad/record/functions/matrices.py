"""Norms, powers and determinants of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import apply
from sdgrad.record.functions.arguments import axes_of, several, static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.decompositions import svdvals
from sdgrad.record.functions.linalg import inv, square
from sdgrad.record.functions.parts import choose_where, tensor_of
from sdgrad.record.functions.products import matmul
from sdgrad.record.functions.reductions import count_nonzero, largest, root, smallest, total
from sdgrad.record.functions.shapes import reshape
from sdgrad.record.functions.table import array, known, rule
from sdgrad.record.values import Array, Number

LARGEST_EXPANSION = 4  # rows of determinants that are sums of products; larger ones are eliminated


# -- norms
def _sizes(x: Any) -> Array:
    """Return the magnitudes of elements, as real numbers."""
    a = array(x)
    a = a if a.dtype.kind in "fc" else astype(a, float)
    return apply(np.absolute, [a])


def _euclidean(x: Any, axes: Any, keepdims: bool) -> Any:
    a = array(x)
    a = a if a.dtype.kind == "f" else _sizes(a)
    return root(total(apply(np.square, [a]), axes, keepdims=keepdims))


def _vector_norm(x: Any, order: Any, axes: Any, keepdims: bool) -> Any:
    if order is None or order == 2:
        return _euclidean(x, axes, keepdims)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order {order!r} for vectors")
    sizes = _sizes(x)
    if order in (np.inf, -np.inf):
        return (largest if order > 0 else smallest)(sizes, axes, keepdims=keepdims)
    if order == 0:
        return astype(count_nonzero(sizes, axes, keepdims=keepdims), sizes.dtype)
    if order == 1:
        return total(sizes, axes, keepdims=keepdims)
    found = total(sizes**order, axes, keepdims=keepdims)
    is_zero = found == 0  # where the derivative of the root is infinite, and the norm's is zero
    return choose_where(is_zero, 0.0 * found, choose_where(is_zero, 1.0, found) ** (1 / order))


def _matrix_norm(x: Any, order: Any, axes: list[int], keepdims: bool) -> Any:
    if order in (None, "fro", "f"):
        return _euclidean(x, axes, keepdims)
    if order in (2, -2, "nuc"):
        return _spectral_norm(array(x), order, axes, keepdims)
    if order not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    rows, columns = axes
    summed, compared = (rows, columns) if abs(order) == 1 else (columns, rows)
    sums = total(_sizes(x), summed, keepdims=True)
    found = (largest if order > 0 else smallest)(sums, compared, keepdims=True)
    return found if keepdims else found[tuple(0 if d in axes else slice(None) for d in range(found.ndim))]


def _spectral_norm(x: Any, order: Any, axes: list[int], keepdims: bool) -> Any:
    """Return the largest or smallest singular value, or their sum, of each matrix along two axes."""
    values = svdvals(np.moveaxis(x, axes, (-2, -1)))
    found = total(values, -1) if order == "nuc" else values[..., 0 if order == 2 else -1]
    return np.expand_dims(found, tuple(sorted(axes))) if keepdims else found


@rule(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    a = array(x)
    if axis is None and ord is None:
        return _euclidean(a, None, keepdims)
    axes = [static_axis(d, a.ndim) for d in several(axis)] if axis is not None else list(range(a.ndim))
    if len(axes) == 1:
        return _vector_norm(a, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    return _matrix_norm(a, ord, axes, keepdims)


@rule(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    return _vector_norm(x, ord, axes_of(axis, np.ndim(x)), keepdims)


@rule(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _matrix_norm(x, ord, [np.ndim(x) - 2, np.ndim(x) - 1], keepdims)


@rule(scipy.linalg.norm)
def scipy_norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    return norm(a, ord, axis, keepdims)


# -- powers
@rule(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    matrix, times = array(a), static(n)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if times == 0:
        return np.broadcast_to(known(np.eye(matrix.shape[-1], dtype=matrix.dtype)), matrix.shape).copy()
    base, found, rest = inv(matrix) if times < 0 else matrix, None, abs(times)
    while rest:
        if rest % 2:
            found = base if found is None else matmul(found, base)
        rest //= 2
        base = matmul(base, base) if rest else base
    return found


# -- determinants
@rule(np.linalg.det)
def det(a: Any) -> Any:
    matrix = square(a)
    n = matrix.shape[-1]
    if not isinstance(n, Number) and n <= LARGEST_EXPANSION:
        return _expanded(matrix, list(range(n)))
    sign, pivots = _eliminated(matrix)
    return sign * np.prod(pivots, axis=-1)


def _expanded(matrix: Array, columns: list[int]) -> Any:
    """Return the determinant of the last rows, by the elements of the first of them."""
    if not columns:
        return np.ones(matrix.shape[:-2], matrix.dtype)[()]
    row = matrix[..., matrix.shape[-1] - len(columns), :]
    found: Any = 0
    for k, c in enumerate(columns):
        rest = columns[:k] + columns[k + 1 :]
        term = row[..., c] * _expanded(matrix, rest) if rest else row[..., c]
        found = term if k == 0 else found - term if k % 2 else found + term
    return found


@rule(scipy.linalg.det)
def scipy_det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return det(a)


@rule(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    matrix = square(a)
    if matrix.dtype.kind == "c":
        raise ParseError("numpy.linalg.slogdet of complex matrices is not recorded; use numpy.linalg.det")
    if matrix.shape[-1] == 1:
        only = matrix[..., 0, 0]
        return SIGN_AND_LOGARITHM(np.sign(only), np.log(np.abs(only)))
    sign, pivots = _eliminated(matrix)
    return SIGN_AND_LOGARITHM(sign * np.prod(np.sign(pivots), axis=-1), np.sum(np.log(np.abs(pivots)), axis=-1))


SIGN_AND_LOGARITHM = type(np.linalg.slogdet(np.eye(1)))


def _eliminated(matrix: Array) -> tuple[Any, Array]:
    """Return the signs of the orders in which rows were eliminated, and the pivots.

    Rows stay where they are; a row is free until it was a pivot's. A matrix without inverse gives no number, because
    its determinant has a derivative that elimination does not find.
    """
    recorder, n, batch = matrix.recorder, matrix.shape[-1], matrix.shape[:-2]
    count = math.prod(batch)
    rows = recorder.array(recorder.copy(tensor_of(reshape(matrix, (count, n, n)))))
    free = recorder.array(recorder.full((count, n), True, bool))
    pivots = recorder.array(recorder.full((count, n), 0, matrix.dtype))
    order = recorder.array(recorder.full((count, n), 0, np.int64))
    each = known(np.arange(count))
    with recorder.loop(n) as step:
        recorder.ranges.add(str(step), 0)
        k = Number(recorder, np.int64, True, frozenset(), expr=step)
        column = rows[:, :, k].copy()
        place = np.argmax(choose_where(free, np.abs(column), -1.0), axis=1)
        row = rows[each, place]
        pivot = row[:, k]
        pivots[:, k], order[:, k] = pivot, place
        free[each, place] = False
        factors = choose_where(free, column / pivot[:, None], 0.0)
        rows[...] = rows - factors[:, :, None] * row[:, None, :]
    before = known(np.tri(n, k=-1, dtype=bool))
    turns = np.sum(np.logical_and(order[:, None, :] > order[:, :, None], before), axis=(1, 2))
    sign = choose_where(turns % 2 == 0, 1.0, -1.0)
    return (astype(reshape(sign, batch), matrix.dtype) if batch else sign[0]), reshape(pivots, (*batch, n))
