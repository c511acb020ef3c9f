"""Norms and powers of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.record.elementwise import apply
from sdgrad.record.functions.arguments import axes_of, several, static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.linalg import inv
from sdgrad.record.functions.parts import choose_where
from sdgrad.record.functions.products import matmul
from sdgrad.record.functions.reductions import count_nonzero, largest, root, smallest, total
from sdgrad.record.functions.singular_values import svdvals
from sdgrad.record.functions.table import array, known, rule
from sdgrad.record.values import Array


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
