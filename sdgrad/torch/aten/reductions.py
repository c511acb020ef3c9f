"""Translate reductions over dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sdgrad.onnx_ops.families.extra import DOMAIN as OWN
from sdgrad.record.elements import product
from sdgrad.record.tensors import broadcast_shape
from sdgrad.torch.aten.registry import RULES, aten
from sdgrad.torch.graph import Graph, Type, Value, numbers

PLAIN = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd"}
EXTREMES = {"max": "ReduceMax", "min": "ReduceMin"}
NAN = float("nan")
OVERLOADS = ("default", "dim_IntList", "dim", "dim_int")


def _axes(dim: Any) -> list[int] | None:
    if dim is None or isinstance(dim, Sequence) and not dim:
        return None
    return [dim] if isinstance(dim, int) else list(dim)


def _plain(kind: str):
    def rule(g: Graph, out: Type, self: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
        return g.reduce(kind, g.cast(self, out.dtype), _axes(dim), keepdim)

    return rule


for _name, _kind in PLAIN.items():
    for _overload in OVERLOADS:
        RULES[f"{_name}.{_overload}"] = _plain(_kind)


def _extremes(kind: str):
    """Return the rule of extremes; those that are no numbers have no derivative that is one."""

    def rule(g: Graph, out: Type, self: Value, dim: Any = None, keepdim: bool = False) -> Value:
        found = Value(g.reduce(kind, self, _axes(dim), keepdim).name, out.shape, out.dtype)
        if not out.dtype.is_floating_point:
            return found
        factor = g.op("Where", g.op("IsNaN", found), g.constant(NAN, out.dtype), g.constant(1, out.dtype))
        return g.op("Mul", found, factor)

    return rule


def _extreme_of_all(kind: str):
    """Return the rule of an extreme of all elements: elements that are no numbers share its derivative."""

    def rule(g: Graph, out: Type, self: Value) -> Value:
        found = Value(g.reduce(kind, self, None, False).name, out.shape, out.dtype)
        if not out.dtype.is_floating_point:
            return found
        wrong, nothing = g.op("IsNaN", self), g.constant(0, out.dtype)
        count = g.reduce("ReduceSum", g.cast(wrong, out.dtype), None, False)
        total = g.reduce("ReduceSum", g.op("Where", wrong, self, nothing, like=self), None, False)
        return g.op("Where", g.op("IsNaN", found), g.op("Div", total, count), found)

    return rule


for _name, _kind in EXTREMES.items():
    RULES[f"a{_name}.default"] = _extremes(_kind)
    RULES[f"{_name}.default"] = _extreme_of_all(_kind)


@aten("any.default", "any.dim", "any.dims")
def _any(g: Graph, out: Type, self: Value, dim: Any = None, keepdim: bool = False) -> Value:
    x = g.cast(g.cast(self, torch.bool), torch.int64)
    return g.cast(g.reduce("ReduceMax", x, _axes(dim), keepdim), torch.bool)


@aten("all.default", "all.dim", "all.dims")
def _all(g: Graph, out: Type, self: Value, dim: Any = None, keepdim: bool = False) -> Value:
    x = g.cast(g.cast(self, torch.bool), torch.int64)
    return g.cast(g.reduce("ReduceMin", x, _axes(dim), keepdim), torch.bool)


def _arg(kind: str):
    def rule(g: Graph, out: Type, self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
        flat = self if dim is not None else g.reshape(self, [self.size])
        if not flat.shape:
            return g.constant(0, torch.int64)
        found = g.op(kind, flat, axis=flat.axis(dim or 0), keepdims=int(keepdim and dim is not None))
        return found if dim is not None else g.reshape(found, out.shape)

    return rule


RULES["argmax.default"], RULES["argmin.default"] = _arg("ArgMax"), _arg("ArgMin")


def _with_places(kind: str):
    def rule(g: Graph, out: Sequence[Type], self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
        """The derivative goes to the element whose place is returned."""
        if not self.shape:
            return self, g.constant(0, torch.int64)
        axis = self.axis(dim)
        at = g.op(kind, self, axis=axis, keepdims=1)
        value = g.op("GatherElements", self, at, axis=axis)
        return g.reshape(value, out[0].shape), g.reshape(at, out[1].shape)

    return rule


RULES["max.dim"], RULES["min.dim"] = _with_places("ArgMax"), _with_places("ArgMin")


def centred(g: Graph, x: Value, dim: Any) -> tuple[Value, Value]:
    """Return a value without its mean, and the mean."""
    level = g.reduce("ReduceMean", x, _axes(dim), True)
    return g.op("Sub", x, level, like=x), level


def variance(g: Graph, x: Value, dim: Any, correction: float | None, keep: bool) -> tuple[Value, Value]:
    """Return variance and mean: ``correction`` is taken from the count, one unless given."""
    if x.dtype == torch.float16:  # whose squares overflow
        found = variance(g, g.cast(x, torch.float32), dim, correction, keep)
        return g.cast(found[0], x.dtype), g.cast(found[1], x.dtype)
    apart, level = centred(g, x, dim)
    total = g.reduce("ReduceSum", g.op("Mul", apart, apart, like=x), _axes(dim), keep)
    axes = _axes(dim) or range(x.rank)
    count = product([x.shape[x.axis(a)] for a in axes])
    taken = 1.0 if correction is None else float(correction)
    if isinstance(count, int):
        return g.op("Div", total, g.constant(max(count - taken, 0.0), x.dtype)), level
    divisor = g.op("Sub", g.operand(count, x.dtype), g.constant(taken, x.dtype))  # open sizes are larger than one
    return g.op("Div", total, divisor), level


@aten("var.correction")
def _var(
    g: Graph, out: Type, self: Value, dim: Any = None, correction: float | None = None, keepdim: bool = False
) -> Value:
    return variance(g, self, dim, correction, keepdim)[0]


@aten("var.dim")
def _var_of(g: Graph, out: Type, self: Value, dim: Any, unbiased: bool = True, keepdim: bool = False) -> Value:
    return variance(g, self, dim, float(unbiased), keepdim)[0]


@aten("std.correction")
def _std(
    g: Graph, out: Type, self: Value, dim: Any = None, correction: float | None = None, keepdim: bool = False
) -> Value:
    """The derivative at zero is zero."""
    root = g.op("Sqrt", variance(g, self, dim, correction, keepdim)[0])
    return g.op("Hypot", root, g.constant(0, out.dtype), domain=OWN)


@aten("var_mean.correction")
def _var_mean(
    g: Graph, out: Sequence[Type], self: Value, dim: Any = None, correction: float | None = None, keepdim: bool = False
) -> tuple[Value, Value]:
    found, level = variance(g, self, dim, correction, keepdim)
    return found, g.reshape(level, out[1].shape)


@aten("logsumexp.default")
def _logsumexp(g: Graph, out: Type, self: Value, dim: Any, keepdim: bool = False) -> Value:
    return g.reduce("ReduceLogSumExp", g.cast(self, out.dtype), _axes(dim), keepdim)


def norm(g: Graph, x: Value, order: float, dim: Any, keep: bool) -> Value:
    """Return ``(sum |x|^p)^(1/p)``, and its limits; the derivative at zero is zero."""
    if order == 2:
        return g.reduce("ReduceL2", x, _axes(dim), keep)
    size = g.op("Abs", x, like=x)
    if order == 1:
        return g.reduce("ReduceSum", size, _axes(dim), keep)
    nothing = g.constant(0, x.dtype)
    if abs(order) == float("inf"):
        found = g.reduce("ReduceMax" if order > 0 else "ReduceMin", size, _axes(dim), keep)
        return g.op("Where", g.op("IsNaN", found), g.constant(NAN, x.dtype), found)
    if order == 0:
        counted = g.op("Where", g.op("Equal", size, nothing), nothing, g.constant(1, x.dtype), like=x)
        return g.reduce("ReduceSum", counted, _axes(dim), keep)
    powers = g.op("Pow", size, g.constant(order, x.dtype), like=x)
    if 0 < order < 1:  # whose derivative at zero is infinite
        powers = g.op("Where", g.op("Equal", size, nothing), nothing, powers, like=x)
    total = g.reduce("ReduceSum", powers, _axes(dim), keep)
    root = g.op("Pow", total, g.constant(1 / order, x.dtype))
    return g.op("Where", g.op("Equal", total, nothing), nothing, root)


@aten("linalg_vector_norm.default")
def _vector_norm(
    g: Graph, out: Type, self: Value, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Value:
    return norm(g, g.cast(self, out.dtype), ord, dim, keepdim)


@aten("dist.default")
def _dist(g: Graph, out: Type, self: Value, other: Value, p: float = 2) -> Value:
    apart = Value(g.op("Sub", self, other).name, broadcast_shape(self.shape, other.shape), out.dtype)
    return norm(g, apart, p, None, False)


@aten("_cdist_forward.default", "cdist.default")
def _cdist(g: Graph, out: Type, x1: Value, x2: Value, p: float = 2.0, compute_mode: Any = None) -> Value:
    apart = g.op("Sub", g.unsqueeze(x1, x1.rank - 1), g.unsqueeze(x2, x2.rank - 2))
    return _length(g, Value(apart.name, (*out.shape, x1.shape[-1]), out.dtype), p)


@aten("_pdist_forward.default")
def _pdist(g: Graph, out: Type, self: Value, p: float = 2.0) -> Value:
    (count,) = numbers([self.shape[0]])
    first, second = (g.constant(k) for k in np.triu_indices(count, 1))
    apart = g.op("Sub", g.op("Gather", self, first, axis=0), g.op("Gather", self, second, axis=0))
    return _length(g, Value(apart.name, (*out.shape, self.shape[1]), out.dtype), p)


def _length(g: Graph, x: Value, order: float) -> Value:
    """Return norms of rows, of which the largest coordinates do not share a derivative: each has all of it."""
    if order != float("inf"):
        return norm(g, x, order, [-1], False)
    size = g.op("Abs", x, like=x)
    fixed = g.op("StopGradient", size, domain=OWN, like=x)
    largest = g.reduce("ReduceMax", fixed, [-1], True)
    change = g.op("Sub", size, fixed)  # zero, with a derivative
    passed = g.op("Where", g.op("Equal", fixed, largest), change, g.constant(0, x.dtype), like=x)
    return g.op("Add", g.reduce("ReduceSum", passed, [-1], False), g.reduce("ReduceMax", fixed, [-1], False))
