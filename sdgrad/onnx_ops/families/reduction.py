"""Lower sums, extremes and functions of them, running sums, and the largest elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import sympy

from sdgrad.onnx_ops.registry import integers, lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Element, call, dim, element, product, where
from sdgrad.record.orders import order_along
from sdgrad.record.tensors import Tensor


def log_sum_exp(x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
    """Return the logarithm of a sum of exponentials without overflow; the shift carries no derivative."""
    if x.dtype.kind != "f":
        return log_sum_exp(x.astype(np.float64), axes, keepdims).astype(x.dtype)
    top = finite(detached(x.max(axes, keepdims=True)))
    total = x.map(lambda v, m: call("exp", v - m), top).sum(axes, keepdims=True)
    result = total.map(lambda s, m: call("log", s) + m, top)
    return result if keepdims else result.squeeze(*axes) if axes else result


def detached(x: Tensor) -> Tensor:
    return x.map(lambda v: call("sdgrad_detached", v))


def finite(x: Tensor) -> Tensor:
    """Return zero in place of infinities."""
    return x.map(lambda v: where(call("abs", v) < np.inf, v, 0))


def shift(x: Tensor, axis: int) -> Tensor:
    """Return what is subtracted before exponentials along an axis: the largest element, and zero if all are -inf."""
    return detached(x.max([axis], keepdims=True)).map(lambda v: where(v > -np.inf, v, 0))


def mean(x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
    count = product([x.shape[a] for a in axes])
    return x.sum(axes, keepdims).map(lambda v: v / element(count, x.dtype))


def largest(x: Tensor, axes: Sequence[int], keepdims: bool, mode: str = "max") -> Tensor:
    if x.dtype == np.bool_:
        return x.astype(np.int8).reduce(mode, axes, keepdims).map(lambda v: v > 0, dtype=bool)
    return x.reduce(mode, axes, keepdims)


REDUCTIONS: dict[str, Callable[[Tensor, Sequence[int], bool], Tensor]] = {
    "ReduceSum": lambda x, axes, keep: x.sum(axes, keep),
    "ReduceProd": lambda x, axes, keep: x.reduce("prod", axes, keep),
    "ReduceMean": mean,
    "ReduceMax": largest,
    "ReduceMin": lambda x, axes, keep: largest(x, axes, keep, "min"),
    "ReduceL1": lambda x, axes, keep: x.map(lambda v: call("abs", v)).sum(axes, keep),
    "ReduceL2": lambda x, axes, keep: x.map(lambda v: v * v).sum(axes, keep).map(lambda s: root(s, x)),
    "ReduceLogSum": lambda x, axes, keep: x.sum(axes, keep).map(lambda s: call("log", s)),
    "ReduceLogSumExp": log_sum_exp,
    "ReduceSumSquare": lambda x, axes, keep: x.map(lambda v: v * v).sum(axes, keep),
}


def root(square: Element, x: Tensor) -> Element:
    """Return the square root; its derivative at zero is zero, as for a norm."""
    wide = square if x.dtype.kind == "f" else square.astype(np.float64)
    return call("hypot", call("sqrt", wide), 0).astype(x.dtype)


def reduced_axes(x: Tensor, axes: Sequence[int], noop: int) -> list[int]:
    if not axes:
        return [] if noop else list(range(x.rank))
    return sorted(a % x.rank for a in axes)


def _reduction(name: str, function: Callable[[Tensor, Sequence[int], bool], Tensor]) -> None:
    def apply(x: Tensor, axes: list[int], keepdims: int) -> Tensor:
        return function(x, axes, bool(keepdims))

    @lowering(name)
    def by_attribute(b: Builder, x: Tensor, *, axes: Sequence[int] = (), keepdims: int) -> Tensor:
        return apply(x, reduced_axes(x, axes, 0), keepdims)

    @lowering(name, since=13 if name == "ReduceSum" else 18)
    def by_operand(b: Builder, x: Tensor, axes: Tensor | None, *, keepdims: int, noop_with_empty_axes: int) -> Tensor:
        given = integers(axes, "axes") if axes is not None and axes.size != 0 else []
        if not given and noop_with_empty_axes:
            return apply(x, [], keepdims)
        return apply(x, reduced_axes(x, given, 0), keepdims)


for _name, _function in REDUCTIONS.items():
    _reduction(_name, _function)


@lowering("Softmax", since=13)
def softmax(b: Builder, x: Tensor, *, axis: int) -> Tensor:
    top = shift(x, axis)
    e = x.map(lambda v, m: call("exp", v - m), top)
    return e / e.sum([axis], keepdims=True)


@lowering("LogSoftmax", since=13)
def log_softmax(b: Builder, x: Tensor, *, axis: int) -> Tensor:
    top = shift(x, axis)
    shifted = x - top
    total = shifted.map(lambda v: call("exp", v)).sum([axis], keepdims=True)
    return shifted.map(lambda v, s: v - call("log", s), total)


def extreme_at(x: Tensor, axis: int, largest_: bool, last: int) -> Tensor:
    """Return the first (or last) position of the extreme along an axis, which stays as one element."""
    axis %= x.rank
    count = x.shape[axis]
    extreme = x.reduce("max" if largest_ else "min", [axis], keepdims=True).broadcast(x.shape)
    others = [n for d, n in enumerate(x.shape) if d != axis]

    def candidate(out: tuple, k: tuple) -> Element:
        index = (*out[:axis], k[0], *out[axis:])
        none = element(-1 if last else count, np.int64)
        hit = x[index].equals(extreme[index])
        if x.dtype.kind == "f":  # the extreme is NaN where one of the numbers is
            hit = hit | call("isnan", x[index], dtype=bool)
        return where(hit, element(k[0], np.int64), none)

    return x.builder.reduction(others, [count], candidate, "max" if last else "min", np.int64).unsqueeze(axis)


def _extreme_at(name: str, largest_: bool) -> None:
    @lowering(name)
    def lower(b: Builder, x: Tensor, *, axis: int, keepdims: int, select_last_index: int = 0) -> Tensor:
        found = extreme_at(x, axis, largest_, select_last_index)
        return found if keepdims else found.squeeze(axis)


_extreme_at("ArgMax", True)
_extreme_at("ArgMin", False)


@lowering("Hardmax", since=13)
def hardmax(b: Builder, x: Tensor, *, axis: int) -> Tensor:
    axis %= x.rank
    first = extreme_at(x, axis, True, 0).broadcast(x.shape)
    return b.compute(x.shape, x.dtype, lambda *i: where(first[i].equals(i[axis]), element(1, x.dtype), 0))


def running(b: Builder, x: Tensor, axis: Tensor, exclusive: int, reverse: int, start: int, step: Callable) -> Tensor:
    """Compute ``y[k] = step(y[k - 1], x[k])`` along an axis."""
    at = integers(axis, "axis")[0] % x.rank
    count = x.shape[at]
    out = b.declare("t", x.shape, x.dtype)

    def along(tensor: Tensor, k: sympy.Expr) -> Tensor:
        return tensor.select(at, count - 1 - k if reverse else k)

    if count == 0:
        return out
    zero = sympy.Integer(0)
    first, head = along(x, zero), along(out, zero)
    b.assign(head, lambda *i: element(start, x.dtype) if exclusive else first[i])
    with b.loop(dim(sympy.sympify(count) - 1)) as k:
        before, value, into = along(out, k), along(x, k if exclusive else k + 1), along(out, k + 1)
        b.assign(into, lambda *i: step(before[i], value[i]))
    return out


@lowering("CumSum")
def cumulative_sum(b: Builder, x: Tensor, axis: Tensor, *, exclusive: int, reverse: int) -> Tensor:
    return running(b, x, axis, exclusive, reverse, 0, lambda a, v: a + v)


@lowering("CumProd")
def cumulative_product(b: Builder, x: Tensor, axis: Tensor, *, exclusive: int, reverse: int) -> Tensor:
    return running(b, x, axis, exclusive, reverse, 1, lambda a, v: a * v)


@lowering("TopK", since=10)
def top_k(b: Builder, x: Tensor, k: Tensor, *, axis: int, largest: int = 1, sorted: int = 1) -> tuple[Tensor, Tensor]:
    axis %= x.rank
    count, wanted = x.shape[axis], integers(k, "K")[0]
    if not isinstance(count, int):
        raise Declined(f"{count} elements to sort")
    order = order_along(x, axis, bool(largest)).slice(axis, 0, wanted)
    values = b.compute(order.shape, x.dtype, lambda *i: x[(*i[:axis], order[i], *i[axis + 1 :])])
    return values, b.copy(order)
