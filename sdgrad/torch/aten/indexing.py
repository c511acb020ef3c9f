"""Translate reads and writes at computed subscripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sdgrad.onnx_ops.families.extra import DOMAIN as OWN
from sdgrad.record.elements import Dim, product
from sdgrad.record.tensors import broadcast_shape
from sdgrad.torch.aten.registry import RULES, aten
from sdgrad.torch.aten.shapes import filled
from sdgrad.torch.graph import Graph, Type, Unsupported, Value


def as_places(g: Graph, index: Value) -> Value:
    if index.dtype == torch.bool:
        raise Unsupported("a boolean mask as an index: the size of the result depends on its content; use where")
    return g.cast(index, torch.int64)


def in_range(g: Graph, index: Value, extent: Any) -> Value:
    """Return indices that the call has to find in an axis; PyTorch counts none of these from the end."""
    whole = as_places(g, index)
    return g.op("InRange", whole, domain=OWN, extent=extent, like=whole) if isinstance(extent, int) else whole


SPARSE = "sparse gradients: sparse=False has the same numbers in dense ones"


def _by_frequency(g: Graph, rows: Value, at: Value, extent: Dim) -> Value:
    """Return rows of a table, whose derivative is divided by how often they are there."""
    flat = g.reshape(at, [product(at.shape)])
    zeros, ones = (filled(g, Type(shape, rows.dtype), k) for k, shape in enumerate([(extent,), flat.shape]))
    counts = g.op("ScatterND", zeros, g.unsqueeze(flat, 1), ones, reduction="add")
    share = g.op("Reciprocal", g.unsqueeze(g.op("Gather", counts, at, axis=0), at.rank))
    fixed = g.op("StopGradient", rows, domain=OWN)
    return g.op("Add", fixed, g.op("Mul", g.op("Sub", rows, fixed), share), like=rows)


@aten("embedding.default")
def _embedding(
    g: Graph,
    out: Type,
    weight: Value,
    indices: Value,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:
    """Read rows of a table."""
    if sparse:
        raise Unsupported(SPARSE)
    at = in_range(g, indices, weight.shape[0])
    rows = Value(g.op("Gather", weight, at, axis=0).name, out.shape, out.dtype)
    if scale_grad_by_freq:
        rows = _by_frequency(g, rows, at, weight.shape[0])
    if padding_idx < 0:
        return rows
    there = g.op("Equal", g.unsqueeze(as_places(g, indices), len(out.shape) - 1), g.constant(padding_idx, torch.int64))
    return g.op("Where", there, g.op("StopGradient", rows, domain=OWN), rows)


@aten("index_select.default")
def _index_select(g: Graph, out: Type, self: Value, dim: int, index: Value) -> Value:
    if not self.shape:
        return self
    axis = self.axis(dim)
    at = in_range(g, g.reshape(as_places(g, index), [out.shape[axis]]), self.shape[axis])
    return g.op("Gather", self, at, axis=axis)


@aten("gather.default")
def _gather(g: Graph, out: Type, self: Value, dim: int, index: Value, sparse_grad: bool = False) -> Value:
    if not self.shape:
        return g.reshape(self, out.shape)
    axis = self.axis(dim)
    return g.op("GatherElements", self, in_range(g, index, self.shape[axis]), axis=axis)


def _front(
    g: Graph, indices: Sequence[Value | None], shape: Sequence[int]
) -> tuple[list[int], list[int], Value, list[int], int]:
    """Of an index tuple: indexed axes, the others, coordinates (.., axes), their extents, and where these go."""
    given = [None if i is None else as_places(g, i) for i in indices]
    axes = [k for k, i in enumerate(given) if i is not None]
    others = [k for k in range(len(shape)) if k not in axes]
    extents = list(broadcast_shape(*(i.shape for i in given if i is not None)))
    wide = [g.op("Expand", i, g.integers(extents)) if list(i.shape) != extents else i for i in given if i is not None]
    places = g.op("Concat", *(g.unsqueeze(w, len(extents)) for w in wide), axis=len(extents))
    adjacent = axes == list(range(axes[0], axes[-1] + 1))
    return axes, others, places, extents, axes[0] if adjacent else 0


@aten("index.Tensor")
def _index(g: Graph, out: Type, self: Value, indices: Sequence[Value | None]) -> Value:
    """Read at subscripts of one axis or of several."""
    some = [(k, i) for k, i in enumerate(indices) if i is not None]
    if len(some) == 1:
        axis, index = some[0]
        return g.op("Gather", self, as_places(g, index), axis=axis)
    axes, others, places, extents, at = _front(g, indices, self.shape)
    found = g.op("GatherND", g.transpose(self, [*axes, *others]), places)
    count = len(extents)
    order = list(range(count, count + at)) + list(range(count)) + list(range(count + at, count + len(others)))
    return g.transpose(found, order)


@aten("index_put.default", "_unsafe_index_put.default")
def _index_put(
    g: Graph, out: Type, self: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False
) -> Value:
    """Write or add at subscripts of one axis or of several."""
    mask = indices[0] if len(indices) == 1 else None
    if mask is not None and mask.dtype == torch.bool and values.size == 1 and not accumulate:
        wide = g.reshape(mask, [*mask.shape, *[1] * (len(out.shape) - mask.rank)])
        return g.op("Where", wide, g.reshape(g.cast(values, out.dtype), []), self)
    axes, others, places, extents, at = _front(g, indices, out.shape)
    order = [*axes, *others]
    rest = [out.shape[k] for k in others]
    shown = rest[:at] + extents + rest[at:]  # the shape of what the index reads
    values = g.cast(values, out.dtype)
    if list(values.shape) != shown:
        values = g.op("Expand", values, g.integers(shown))
    count = len(extents)
    back = [*range(at, at + count), *range(at), *range(at + count, at + count + len(rest) - at)]
    written = g.op(
        "ScatterND",
        g.transpose(self, order),
        places,
        g.transpose(values, back),
        reduction="add" if accumulate else None,
    )
    return g.transpose(written, list(np.argsort(order)))


@aten("topk.default")
def _topk(
    g: Graph, out: Sequence[Type], self: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Value, Value]:
    """Return the largest elements and their positions; the derivative goes where the elements came from."""
    if not self.shape:
        return self, g.constant(0, torch.int64)
    axis = self.axis(dim)
    _, at = g.ops("TopK", self, g.integers([k]), outputs=2, axis=axis, largest=int(largest), sorted=1)
    return g.op("GatherElements", self, at, axis=axis), at


@aten("sort.default", "sort.stable")
def _sort(
    g: Graph, out: Sequence[Type], self: Value, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> tuple[Value, Value]:
    return _topk(g, out, self, self.shape[self.axis(dim)] if self.shape else 1, dim, descending)


@aten("argsort.default", "argsort.stable")
def _argsort(g: Graph, out: Type, self: Value, dim: int = -1, descending: bool = False, stable: bool = True) -> Value:
    return _sort(g, (out, out), self, dim, descending)[1]


@aten("one_hot.default")
def _one_hot(g: Graph, out: Type, self: Value, num_classes: int = -1) -> Value:
    classes = g.positions(out.shape[-1])
    at = in_range(g, self, out.shape[-1])
    return g.cast(g.op("Equal", g.unsqueeze(at, self.rank), classes), out.dtype)


@aten("_embedding_bag.default", "_embedding_bag_forward_only.default")
def _embedding_bag(
    g: Graph,
    out: Sequence[Type],
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Value, ...]:
    """Rows are added to their bags, which the offsets tell: as many as begin at a place or before it."""
    if sparse or scale_grad_by_freq:
        raise Unsupported(SPARSE if sparse else "scale_grad_by_freq, which divides derivatives; nn.Embedding has it")
    count = indices.shape[0]
    at = in_range(g, indices, weight.shape[0])
    begins = g.op("LessOrEqual", g.unsqueeze(as_places(g, offsets), 0), g.unsqueeze(g.positions(count), 1))
    begun = g.reduce("ReduceSum", Value(g.cast(begins, torch.int64).name, (count, 0)), [1], False)
    bag = g.unsqueeze(g.op("Sub", begun, g.constant(1, torch.int64)), 1)
    rows = Value(g.op("Gather", weight, at, axis=0).name, (count, out[0].shape[1]), out[0].dtype)
    there = None if padding_idx < 0 else g.op("Not", g.op("Equal", at, g.constant(padding_idx, torch.int64)))
    if mode == 2:
        found = _largest_of_bags(g, out[0], rows, bag, there)
    else:
        share = None if there is None else g.cast(there, out[0].dtype)
        if per_sample_weights is not None:
            share = per_sample_weights if share is None else g.op("Mul", share, per_sample_weights)
        found = _sums_of_bags(g, out[0], rows, bag, share, mode == 1)
    return (found, *(filled(g, t, 0) for t in out[1:]))


def _sums_of_bags(g: Graph, out: Type, rows: Value, bag: Value, share: Value | None, mean: bool) -> Value:
    """Return sums or means of rows, each times its share if there are shares."""
    bags, dtype = out.shape[0], out.dtype
    if share is not None:
        rows = g.op("Mul", rows, g.unsqueeze(share, 1), like=rows)
    found = g.op("ScatterND", filled(g, out, 0), bag, rows, reduction="add")
    if not mean:
        return found
    ones = share if share is not None else filled(g, Type((rows.shape[0],), dtype), 1)
    sizes = g.op("ScatterND", filled(g, Type((bags,), dtype), 0), bag, ones, reduction="add")
    return g.op("Div", found, g.unsqueeze(g.op("Max", sizes, g.constant(1, dtype)), 1))


def _largest_of_bags(g: Graph, out: Type, rows: Value, bag: Value, there: Value | None) -> Value:
    """Return the largest elements of bags, of equal ones the first; zeros of bags without rows."""
    count, width = rows.shape
    low, none = g.constant(-np.inf, out.dtype), g.constant(count, torch.int64)
    fixed = g.op("StopGradient", rows, domain=OWN)
    if there is not None:
        fixed = g.op("Where", g.unsqueeze(there, 1), fixed, low)
    largest = g.op("ScatterND", filled(g, out, -np.inf), bag, fixed, reduction="max")
    met = g.op("Equal", fixed, g.op("GatherND", largest, bag))
    met = met if there is None else g.op("And", met, g.unsqueeze(there, 1))
    places = g.op("Where", met, g.unsqueeze(g.positions(count), 1), none)
    first = g.op("ScatterND", filled(g, Type(out.shape, torch.int64), count), bag, places, reduction="min")
    empty = g.op("Equal", first, none)
    found = g.op("GatherElements", rows, g.op("Where", empty, g.constant(0, torch.int64), first), axis=0)
    return g.op("Where", empty, g.constant(0, out.dtype), found)


def _refused(reason: str):
    def rule(g: Graph, out: Any, *operands: Any, **more: Any) -> Any:
        raise Unsupported(reason)

    return rule


for _name in ("nonzero.default", "masked_select.default", "unique_consecutive.default", "_unique2.default"):
    RULES[_name] = _refused("the size of its result depends on numbers")
