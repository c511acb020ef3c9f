"""Translate what puts elements at computed subscripts, or reduces those that go to one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from sdgrad.onnx_ops.families.extra import DOMAIN as OWN
from sdgrad.record.elements import bounds
from sdgrad.torch.aten.indexing import as_places, in_range
from sdgrad.torch.aten.registry import RULES, aten
from sdgrad.torch.aten.shapes import filled
from sdgrad.torch.graph import DTYPES, Graph, Type, Value


def _part(g: Graph, src: Value, shape: Sequence[int]) -> Value:
    """As much of a tensor as an index uses."""
    for axis, (n, m) in enumerate(zip(src.shape, shape, strict=True)):
        if n != m:
            src = Value(g.slice(src, axis, 0, m).name, (*src.shape[:axis], m, *src.shape[axis + 1 :]), src.dtype)
    return src


def _with_an_axis(rule: Callable) -> Callable:
    """Let a rule see tensors without axes as those with one."""

    def widened(g: Graph, out: Type, self: Value, dim: int, index: Value, src: Value, *more: Any) -> Value:
        if out.shape:
            return rule(g, out, self, dim, index, src, *more)
        self, index, src = (g.reshape(x, [1]) for x in (self, index, src))
        return g.reshape(rule(g, Type((1,), out.dtype), self, 0, index, src, *more), [])

    return widened


@_with_an_axis
def _scattered(
    g: Graph, out: Type, self: Value, dim: int, index: Value, src: Value, reduction: str | None = None
) -> Value:
    src = _part(g, g.cast(src, out.dtype), index.shape)
    axis = dim % len(out.shape)
    return g.op("ScatterElements", self, in_range(g, index, out.shape[axis]), src, axis=axis, reduction=reduction)


@aten("scatter.src")
def _scatter(g: Graph, out: Type, self: Value, dim: int, index: Value, src: Value) -> Value:
    return _scattered(g, out, self, dim, index, src)


@aten("scatter.value")
def _scatter_value(g: Graph, out: Type, self: Value, dim: int, index: Value, value: Any) -> Value:
    src = filled(g, Type(index.shape, out.dtype), value)
    return _scattered(g, out, self, dim, index, Value(src.name, index.shape, out.dtype))


@aten("scatter_add.default")
def _scatter_add(g: Graph, out: Type, self: Value, dim: int, index: Value, src: Value) -> Value:
    return _scattered(g, out, self, dim, index, src, "add")


@aten("scatter_reduce.two")
def _scatter_reduce(
    g: Graph, out: Type, self: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool = True
) -> Value:
    return reduced_at(g, out, self, dim, index, src, reduce, include_self)


@aten("index_reduce.default")
def _index_reduce(
    g: Graph, out: Type, self: Value, dim: int, index: Value, source: Value, reduce: str, include_self: bool = True
) -> Value:
    at = _along(g, index, source.shape, self.axis(dim)) if self.shape else index
    return reduced_at(g, out, self, dim, at, source, reduce, include_self)


@_with_an_axis
def reduced_at(
    g: Graph, out: Type, self: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool
) -> Value:
    """Reduce what goes to one place; without ``include_self``, what is there does not take part."""
    src = _part(g, g.cast(src, out.dtype), index.shape)
    ones = filled(g, Type(src.shape, out.dtype), 1)
    before, counts = self, filled(g, out, 1)
    if not include_self:
        least, most = bounds(DTYPES[out.dtype])
        neutral = {"prod": 1, "amax": least, "amin": most}.get(reduce, 0)
        there = g.cast(_scattered(g, out, filled(g, out, 0), dim, index, typed_like(ones, src)), torch.bool)
        self = g.op("Where", there, g.constant(neutral, out.dtype), self, like=self)
        counts = g.op("Where", there, g.constant(0, out.dtype), counts)
    if reduce in ("amax", "amin") and out.dtype.is_floating_point:
        return _shared_extreme(g, out, self, dim, index, src, reduce, before)
    known = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}
    found = _scattered(g, out, self, dim, index, src, known[reduce])
    if reduce != "mean":
        return found
    counts = _scattered(g, out, Value(counts.name, out.shape, out.dtype), dim, index, typed_like(ones, src), "add")
    rounding = None if out.dtype.is_floating_point else "floor"
    return RULES["div.Tensor_mode"](g, out, typed_like(found, self), typed_like(counts, self), rounding)


def _shared_extreme(
    g: Graph, out: Type, self: Value, dim: int, index: Value, src: Value, reduce: str, before: Value
) -> Value:
    """Return extremes whose derivative all share that are equal to them, as a sum of shares.

    :param before: what was there, which PyTorch counts among them also where it does not take part.
    """

    def at(x: Value) -> Value:
        return g.op("GatherElements", x, g.cast(index, torch.int64), axis=dim % len(out.shape), like=src)

    def added(x: Value, y: Value) -> Value:
        return _scattered(g, out, typed_like(x, self), dim, index, typed_like(y, src), "add")

    nothing = g.constant(0, out.dtype)
    fixed, given = (g.op("StopGradient", x, domain=OWN, like=x) for x in (self, src))
    extreme = _scattered(g, out, fixed, dim, index, given, reduce[1:])
    own, other = g.op("Equal", self, extreme), g.op("Equal", src, at(extreme))
    counted = g.cast(g.op("Equal", before, extreme), out.dtype)
    count = g.op("Max", added(counted, g.cast(other, out.dtype)), g.constant(1, out.dtype))
    total = added(
        g.op("Div", g.op("Where", own, self, nothing), count),
        g.op("Div", g.op("Where", other, src, nothing), at(count)),
    )
    rounded = g.op("StopGradient", total, domain=OWN)
    gap = g.op("Where", g.op("Equal", rounded, extreme), nothing, g.op("Sub", extreme, rounded))
    return g.op("Add", total, gap)


def typed_like(x: Value, y: Value) -> Value:
    """Return a value with the shape and the type of another one."""
    return Value(x.name, y.shape, y.dtype)


def _along(g: Graph, index: Value, shape: Sequence[int], axis: int) -> Value:
    """A one-dimensional index as one for every element."""
    line = g.reshape(as_places(g, index), [-1 if k == axis else 1 for k in range(len(shape))])
    return Value(g.op("Expand", line, g.integers(shape)).name, tuple(shape), torch.int64)


@aten("index_add.default")
def _index_add(g: Graph, out: Type, self: Value, dim: int, index: Value, source: Value, alpha: Any = 1) -> Value:
    if alpha != 1:
        source = Value(g.op("Mul", source, g.constant(alpha, out.dtype)).name, source.shape, out.dtype)
    return _scattered(g, out, self, dim, _along(g, index, source.shape, self.axis(dim)), source, "add")


@aten("index_copy.default")
def _index_copy(g: Graph, out: Type, self: Value, dim: int, index: Value, source: Value) -> Value:
    return _scattered(g, out, self, dim, _along(g, index, source.shape, self.axis(dim)), source)
