"""Lower operators that read and write at computed subscripts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy

from sdgrad.onnx_ops.registry import ML, constant_of, lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Dim, Element, element, product, where
from sdgrad.record.tensors import Tensor

MODES = {"none": "set", "add": "sum", "mul": "prod", "max": "max", "min": "min"}


def wrapped(index: Element, extent: Dim) -> Element:
    """Count negative subscripts from the end."""
    return where(index < 0, index + element(extent, np.int64), index)


@lowering("Gather")
def gather(b: Builder, x: Tensor, indices: Tensor, *, axis: int) -> Tensor:
    """Read whole slices along an axis."""
    axis %= x.rank
    extent, r = x.shape[axis], indices.rank
    if indices.known is not None and indices.known.ndim == 0 and isinstance(extent, int):
        return x.select(axis, int(indices.known) % extent)
    shape = [*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]]

    def value(*i: sympy.Expr) -> Element:
        return x[(*i[:axis], wrapped(indices[i[axis : axis + r]], extent), *i[axis + r :])]

    return b.compute(shape, x.dtype, value)


@lowering("GatherElements")
def gather_elements(b: Builder, x: Tensor, indices: Tensor, *, axis: int) -> Tensor:
    """Read one element along an axis for each subscript."""
    axis %= x.rank

    def value(*i: sympy.Expr) -> Element:
        return x[(*i[:axis], wrapped(indices[i], x.shape[axis]), *i[axis + 1 :])]

    return b.compute(indices.shape, x.dtype, value)


def deep_index(indices: Tensor, extents: Sequence[Dim], at: tuple) -> list[Element]:
    """The last axis of ``indices``: one index for each of the extents."""
    return [wrapped(indices[(*at, sympy.Integer(k))], n) for k, n in enumerate(extents)]


@lowering("ArrayFeatureExtractor", domain=ML)
def extracted(b: Builder, x: Tensor, indices: Tensor) -> Tensor:
    """Read elements along the last axis, of numbers: one for each subscript, whatever the shape of these."""
    if x.dtype.kind not in "biuf":
        raise Declined(f"elements of type {x.dtype}")
    flat = indices.reshape([product(indices.shape)])
    rows = x if x.rank > 1 else x.reshape([1, *x.shape])
    return b.compute([*rows.shape[:-1], *flat.shape], x.dtype, lambda *i: rows[(*i[:-1], flat[i[-1]])])


@lowering("GatherND")
def gather_nd(b: Builder, x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    """Read slices whose leading subscripts are the rows of ``indices``."""
    depth, lead = indices.shape[-1], indices.rank - 1
    if not isinstance(depth, int):
        raise Declined("an open number of indices")
    shape = [*indices.shape[:-1], *x.shape[batch_dims + depth :]]

    def value(*i: sympy.Expr) -> Element:
        taken = deep_index(indices, x.shape[batch_dims : batch_dims + depth], i[:lead])
        return x[(*i[:batch_dims], *taken, *i[lead:])]

    return b.compute(shape, x.dtype, value)


@lowering("ScatterElements", "Scatter")
def scatter_elements(
    b: Builder, x: Tensor, indices: Tensor, updates: Tensor, *, axis: int, reduction: str = "none"
) -> Tensor:
    """Write or add one element along an axis for each subscript."""
    axis %= x.rank
    out = b.copy(x)

    def put(*i: sympy.Expr) -> tuple:
        return (*i[:axis], wrapped(indices[i], x.shape[axis]), *i[axis + 1 :]), updates[i], None

    b.scatter(out, updates.shape, put, MODES[reduction])
    return out


@lowering("ScatterND")
def scatter_nd(b: Builder, x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
    """Write or add slices whose leading subscripts are the rows of ``indices``."""
    depth, lead = indices.shape[-1], indices.rank - 1
    if not isinstance(depth, int):
        raise Declined("an open number of indices")
    out = b.copy(x)

    def put(*i: sympy.Expr) -> tuple:
        return (*deep_index(indices, x.shape[:depth], i[:lead]), *i[lead:]), updates[i], None

    b.scatter(out, updates.shape, put, MODES[reduction])
    return out


@lowering("TensorScatter")
def tensor_scatter(
    b: Builder, past: Tensor, update: Tensor, start: Tensor | None, *, axis: int, mode: str = "linear"
) -> Tensor:
    """Write a stretch of a cache; ``circular`` starts again at the end."""
    axis %= past.rank
    out = b.copy(past)

    def put(*i: sympy.Expr) -> tuple:
        at = element(i[axis], np.int64)
        if start is not None:
            at = start[i[0]] + at
        if mode == "circular":
            extent = element(past.shape[axis], np.int64)
            at = where(at >= extent, at - extent, at)
        return (*i[:axis], at, *i[axis + 1 :]), update[i], None

    b.scatter(out, update.shape, put)
    return out


@lowering("OneHot", since=9)
def one_hot(b: Builder, indices: Tensor, depth: Tensor, values: Tensor, *, axis: int) -> Tensor:
    """Return ``on`` at each subscript along a new axis, and ``off`` elsewhere."""
    count = int(constant_of(depth, "depth").item())
    axis %= indices.rank + 1
    shape = [*indices.shape[:axis], count, *indices.shape[axis:]]

    def value(*i: sympy.Expr) -> Element:
        wanted = indices[(*i[:axis], *i[axis + 1 :])].astype(np.int64)
        hit = element(i[axis], np.int64).equals(where(wanted < 0, wanted + count, wanted))
        return where(hit, values[1], values[0])

    return b.compute(shape, values.dtype, value)


@lowering("Compress")
def compress(b: Builder, x: Tensor, condition: Tensor, *, axis: int | None = None) -> Tensor:
    taken = np.flatnonzero(constant_of(condition, "condition"))
    if axis is None:
        x, axis = x.reshape([x.size]), 0
    return gather_at(b, x, taken, axis % x.rank)


def gather_at(b: Builder, x: Tensor, taken: np.ndarray, axis: int) -> Tensor:
    """Gather known positions along an axis."""
    out = b.declare("t", [len(taken) if d == axis else n for d, n in enumerate(x.shape)], x.dtype)
    for k, at in enumerate(taken):
        b.copy(x.slice(axis, int(at), 1), out.slice(axis, k, 1))
    return out
