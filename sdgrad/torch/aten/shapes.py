"""Shapes and what moves elements without changing them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sdgrad.record.elements import Dim
from sdgrad.torch.aten.registry import RULES, aten
from sdgrad.torch.graph import Graph, Type, Value, numbers


@aten("view.default", "reshape.default", "_unsafe_view.default", "unsqueeze.default", "squeeze.default", "squeeze.dim")
@aten("squeeze.dims", "flatten.using_ints", "unflatten.int", "view_copy.default", "_reshape_copy.default")
def _reshape(g: Graph, out: Type, self: Value, *rest: Any, **more: Any) -> Value:
    return g.reshape(self, out.shape)


@aten("permute.default")
def _permute(g: Graph, out: Type, self: Value, dims: Sequence[int]) -> Value:
    return g.transpose(self, [self.axis(d) for d in dims])


@aten("transpose.int")
def _transpose(g: Graph, out: Type, self: Value, dim0: int, dim1: int) -> Value:
    order = list(range(self.rank))
    a, b = self.axis(dim0), self.axis(dim1)
    if order:
        order[a], order[b] = order[b], order[a]
    return g.transpose(self, order)


@aten("t.default")
def _t(g: Graph, out: Type, self: Value) -> Value:
    return g.transpose(self, range(self.rank)[::-1])


@aten("expand.default")
def _expand(g: Graph, out: Type, self: Value, size: Sequence[int], implicit: bool = False) -> Value:
    return self if self.shape == out.shape else g.op("Expand", self, g.integers(out.shape))


@aten("repeat.default")
def _repeat(g: Graph, out: Type, self: Value, repeats: Sequence[int]) -> Value:
    wide = g.reshape(self, [1] * (len(repeats) - self.rank) + list(self.shape or ()))
    return g.op("Tile", wide, g.integers(repeats))


@aten("slice.Tensor")
def _slice(
    g: Graph, out: Type, self: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Value:
    """Slice along an axis."""
    if self.shape == out.shape:
        return self
    axis = self.axis(dim)
    first, last = bounds(self.shape[axis], start, end, out.shape[axis] if step == 1 else None)
    return g.slice(self, axis, first, last, step)


def bounds(extent: Dim, start: Dim | None, end: Dim | None, count: Dim | None = None) -> tuple[Dim, Dim]:
    """Return a slice's bounds, counted from the front and clipped to the extent.

    :param count: how many elements it takes, where that is known; decides open ones.
    """
    if all(n is None or isinstance(n, int) for n in (extent, start, end)):
        first, last, _ = slice(start, end).indices(extent)
        return first, max(first, last)
    low, high = (at if at is None or not (isinstance(at, int) and at < 0) else extent + at for at in (start, end))
    low = 0 if low is None else low
    if count is not None:
        return low, low + count
    return low, extent if high is None or isinstance(high, int) and high > 2**30 else high


def placed(index: int, extent: Dim) -> Dim:
    """Return a position counted from the front."""
    return index % extent if isinstance(extent, int) else index if index >= 0 else extent + index


@aten("select.int")
def _select(g: Graph, out: Type, self: Value, dim: int, index: int) -> Value:
    axis = self.axis(dim)
    at = placed(index, self.shape[axis])
    return g.reshape(g.slice(self, axis, at, at + 1), out.shape)


@aten("slice_scatter.default")
def _slice_scatter(
    g: Graph,
    out: Type,
    self: Value,
    src: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    """Put a tensor in the place of a slice."""
    axis = self.axis(dim)
    first, last = bounds(out.shape[axis], start, end, src.shape[axis] if step == 1 else None)
    src = g.cast(src, out.dtype)
    if step == 1:
        parts = [(0, first), None, (last, out.shape[axis])]
        pieces = [src if p is None else g.slice(self, axis, *p) for p in parts if p is None or _is_some(*p)]
        return g.op("Concat", *pieces, axis=axis) if len(pieces) > 1 else src
    low, high = numbers([first, last])
    places = np.arange(low, high, step).reshape([-1 if k == axis else 1 for k in range(self.rank)])
    return g.op(
        "ScatterElements", self, g.constant(np.broadcast_to(places, src.numbers).astype(np.int64)), src, axis=axis
    )


def _is_some(first: Dim, last: Dim) -> bool:
    """True if a range may have elements."""
    return first != last and not (isinstance(first, int) and isinstance(last, int) and first > last)


@aten("select_scatter.default")
def _select_scatter(g: Graph, out: Type, self: Value, src: Value, dim: int, index: int) -> Value:
    axis = self.axis(dim)
    at = placed(index, out.shape[axis])
    wide = g.reshape(src, [1 if k == axis else n for k, n in enumerate(out.shape)])
    return _slice_scatter(g, out, self, wide, axis, at, at + 1)


@aten("cat.default")
def _cat(g: Graph, out: Type, tensors: Sequence[Value], dim: int = 0) -> Value:
    some = [g.cast(t, out.dtype) for t in tensors if t.shape != (0,)]  # empty ones of any rank are left out
    if len(some) == 1:
        return some[0]
    return g.op("Concat", *some, axis=dim % len(out.shape))


@aten("stack.default")
def _stack(g: Graph, out: Type, tensors: Sequence[Value], dim: int = 0) -> Value:
    axis = dim % len(out.shape)
    return g.op("Concat", *(g.unsqueeze(g.cast(t, out.dtype), axis) for t in tensors), axis=axis)


@aten("split_with_sizes.default", "split.Tensor", "chunk.default", "unbind.int", "split.sizes", "tensor_split.sections")
def _split(g: Graph, out: Sequence[Type], self: Value, *sizes: Any, dim: int = 0, **more: Any) -> tuple[Value, ...]:
    """Split along an axis."""
    axis = self.axis(dim)
    drops = bool(out) and len(out[0].shape) < self.rank  # unbind
    extents = [1 if drops else o.shape[axis] for o in out]
    starts = itertools.accumulate([0, *extents])
    parts = [g.slice(self, axis, a, a + n) for a, n in zip(starts, extents, strict=False)]
    return tuple(g.reshape(p, o.shape) if drops else p for p, o in zip(parts, out, strict=True))


@aten("flip.default")
def _flip(g: Graph, out: Type, self: Value, dims: Sequence[int]) -> Value:
    x = self
    for d in dims:
        x = g.slice(x, self.axis(d), -1, -(2**31), -1)
    return x


@aten("roll.default")
def _roll(g: Graph, out: Type, self: Value, shifts: Sequence[int], dims: Sequence[int] = ()) -> Value:
    """Rotate along axes."""
    x = self if dims else g.reshape(self, [self.size])
    for shift, d in zip(shifts, dims or [0], strict=True):
        axis = self.axis(d) if dims else 0
        extent = self.shape[axis] if dims else self.size
        if not isinstance(extent, int):  # a shift by less than the size
            at = -shift if shift < 0 else extent - shift
            x = g.op("Concat", g.slice(x, axis, at, extent), g.slice(x, axis, 0, at), axis=axis) if shift else x
        elif extent and (at := -shift % extent):
            x = g.op("Concat", g.slice(x, axis, at, extent), g.slice(x, axis, 0, at), axis=axis)
    return x if dims else g.reshape(x, out.shape)


def padded(g: Graph, x: Value, pad: Sequence[int], mode: str, value: Value | None = None) -> Value:
    """Pad as PyTorch says it: pairs from the last dimension on; negative ones cut off."""
    pairs = [(0, 0)] * (x.rank - len(pad) // 2) + [(pad[k], pad[k + 1]) for k in range(0, len(pad), 2)][::-1]
    amounts = [low for low, _ in pairs] + [high for _, high in pairs]
    return g.op("Pad", x, g.integers(amounts), value, mode=mode)


@aten("constant_pad_nd.default")
def _constant_pad(g: Graph, out: Type, self: Value, pad: Sequence[int], value: float = 0) -> Value:
    return padded(g, self, pad, "constant", g.constant(value, out.dtype))


@aten("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default")
def _reflection_pad(g: Graph, out: Type, self: Value, padding: Sequence[int]) -> Value:
    return padded(g, self, padding, "reflect")


@aten("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")
def _replication_pad(g: Graph, out: Type, self: Value, padding: Sequence[int]) -> Value:
    return padded(g, self, padding, "edge")


@aten("diagonal.default")
def _diagonal(g: Graph, out: Type, self: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """Read the diagonal of two axes."""
    rows, columns = self.axis(dim1), self.axis(dim2)
    others = [k for k in range(self.rank) if k not in (rows, columns)]
    x = g.transpose(self, [*others, rows, columns])
    (count, width) = numbers([out.shape[-1], self.shape[columns]])
    k = np.arange(count)
    flat = (k + max(-offset, 0)) * width + k + max(offset, 0)
    wide = g.reshape(
        Value(x.name, None, self.kind), [*(self.shape[a] for a in others), self.shape[rows] * self.shape[columns]]
    )
    return g.op("Gather", wide, g.constant(flat.astype(np.int64)), axis=len(others))


@aten("unfold.default")
def _unfold(g: Graph, out: Type, self: Value, dimension: int, size: int, step: int) -> Value:
    axis = self.axis(dimension)
    places = np.arange(*numbers([out.shape[axis]]))[:, None] * step + np.arange(size)
    found = g.op("Gather", self, g.constant(places.astype(np.int64)), axis=axis)
    rank = self.rank + 1
    return g.transpose(found, [*(k for k in range(rank) if k != axis + 1), axis + 1])


@aten("full.default", "full_like.default", "scalar_tensor.default", "new_full.default")
def _full(g: Graph, out: Type, *shape: Any, **more: Any) -> Value:
    value = more.get("fill_value", more.get("s"))
    return filled(g, out, value)


@aten("zeros.default", "zeros_like.default", "new_zeros.default", "empty.memory_format", "empty_like.default")
@aten("empty_permuted.default", "new_empty.default", "empty_strided.default")
def _zeros(g: Graph, out: Type, *shape: Any, **more: Any) -> Value:
    return filled(g, out, 0)


@aten("ones.default", "ones_like.default", "new_ones.default")
def _ones(g: Graph, out: Type, *shape: Any, **more: Any) -> Value:
    return filled(g, out, 1)


def filled(g: Graph, out: Type, value: Any) -> Value:
    """Return a tensor of one number."""
    content = g.operand(value, out.dtype)
    return content if not out.shape else g.op("Expand", content, g.integers(out.shape))


@aten("arange.start_step", "arange.default", "arange.start")
def _arange(g: Graph, out: Type, *bounds: Any, **more: Any) -> Value:
    """Return a range of numbers."""
    start, step = more.get("start", 0), more.get("step", 1)
    if isinstance(out.shape[0], int) and isinstance(start, (int, float)):
        return g.constant(start + step * np.arange(out.shape[0]), out.dtype)
    whole = isinstance(step, int) and not isinstance(start, float)
    kind = torch.int64 if whole else out.dtype
    k = g.cast(g.positions(out.shape[0]), kind)
    k = k if step == 1 else g.op("Mul", k, g.constant(step, kind), like=k)
    return g.cast(k if start == 0 else g.op("Add", k, g.operand(start, kind), like=k), out.dtype)


@aten("linspace.default")
def _linspace(g: Graph, out: Type, start: float, end: float, steps: int, **more: Any) -> Value:
    return g.constant(torch.linspace(start, end, steps, dtype=torch.float64).numpy(), out.dtype)


@aten("eye.default", "eye.m")
def _eye(g: Graph, out: Type, *sizes: Any, **more: Any) -> Value:
    return g.constant(np.eye(out.numbers[0], out.numbers[1]), out.dtype)


def _triangle(upper: int):
    def rule(g: Graph, out: Type, self: Value, diagonal: int = 0) -> Value:
        return g.op("Trilu", self, g.constant(diagonal, torch.int64), upper=upper)

    return rule


RULES["triu.default"], RULES["tril.default"] = _triangle(1), _triangle(0)
