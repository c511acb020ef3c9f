"""Sums and other reductions, products of matrices, and scans."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.record.elements import Element
from sdgrad.record.elements import where as choose
from sdgrad.record.elementwise import apply, common, prepared, read
from sdgrad.record.functions.arguments import static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.shapes import concatenate, reshape, transpose
from sdgrad.record.functions.table import array, operand, rule
from sdgrad.record.indexing import view
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Number


def axes_of(axis: Any, rank: int) -> list[int]:
    """Return the axes that a reduction goes over."""
    if axis is None:
        return list(range(rank))
    return sorted(static_axis(d, rank) for d in (axis if isinstance(axis, (tuple, list)) else (axis,)))


def result(a: Array, tensor: Tensor) -> Any:
    """Return a reduced tensor: a number if it has no axes."""
    found = a.recorder.array(tensor)
    return found if tensor.rank else found[()]


def reduced(a: Array, mode: str, axis: Any, keepdims: bool, dtype: Any, where: Any = None) -> Any:
    """Return a reduction in a type."""
    recorder = a.recorder
    over = axes_of(axis, a.ndim)
    kept = [d for d in range(a.ndim) if d not in over]
    shape = a.tensor.shape
    source, mask = prepared(recorder, [a, True if where is None else array(where)], shape)
    neutral = {"sum": 0, "prod": 1}.get(mode, 0)

    def term(out: tuple, inner: tuple) -> Element:
        index = dict(zip(kept, out, strict=True)) | dict(zip(over, inner, strict=True))
        place = tuple(index[d] for d in range(len(shape)))
        value = read(recorder, source, place, dtype)
        return value if where is None else choose(read(recorder, mask, place, bool), value, neutral)

    found = recorder.reduction([shape[d] for d in kept], [shape[d] for d in over], term, mode, dtype)
    return result(a, found.unsqueeze(*over) if keepdims and over else found)


def _reduction(mode: str, *functions: Any, method: str) -> Any:
    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        where: Any = None,
        **kw: Any,
    ) -> Any:
        x = operand(a)
        if isinstance(x, Number):
            return x
        x = array(x)
        own = x.dtype
        if mode in ("sum", "prod") and own.kind in "biu":
            own = np.add.reduce(np.empty(0, own)).dtype
        return reduced(x, mode, axis, keepdims, np.dtype(dtype) if dtype is not None else own, where)

    return rule(*functions, method=method)(reduce)


total = _reduction("sum", np.sum, method="sum")
product = _reduction("prod", np.prod, method="prod")
largest = _reduction("max", np.max, np.amax, method="max")
smallest = _reduction("min", np.min, np.amin, method="min")


def count(a: Any, axis: Any) -> Any:
    """Return how many elements a reduction goes over."""
    n: Any = 1
    for d in axes_of(axis, a.ndim):
        n = n * a.shape[d]
    return n


@rule(np.mean, method="mean")
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **kw: Any) -> Any:
    a = array(a)
    own = a.dtype if a.dtype.kind in "fc" else np.dtype(float)
    return apply(np.true_divide, [total(a, axis, dtype or own, keepdims=keepdims), count(a, axis)])


@rule(np.var, method="var")
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, **kw: Any
) -> Any:
    a = array(a)
    centred = apply(np.subtract, [a, mean(a, axis, keepdims=True)])
    if centred.dtype.kind == "c":
        square = apply(np.square, [apply(np.absolute, [centred])])
    else:
        square = apply(np.square, [centred])
    n = count(a, axis)
    return apply(np.true_divide, [total(square, axis, keepdims=keepdims), n - kw.get("correction", ddof)])


@rule(np.std, method="std")
def std(a: Any, *args: Any, **kwargs: Any) -> Any:
    return apply(np.sqrt, [var(a, *args, **kwargs)])


@rule(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, **kw: Any) -> Any:
    if weights is None:
        return mean(a, axis)
    w = array(weights)
    return apply(np.true_divide, [total(apply(np.multiply, [array(a), w]), axis), total(w)])


@rule(np.any, method="any")
def any_(a: Any, axis: Any = None, keepdims: bool = False, **kw: Any) -> Any:
    found = total(astype(array(a), bool), axis, np.int64, keepdims=keepdims)
    return apply(np.greater, [found, 0])


@rule(np.all, method="all")
def all_(a: Any, axis: Any = None, keepdims: bool = False, **kw: Any) -> Any:
    return apply(np.logical_not, [any_(apply(np.logical_not, [astype(array(a), bool)]), axis, keepdims)])


# -- products
def product_of(a: Any, b: Any) -> Any:
    """Return ``a @ b``."""
    a, b = array(a), array(b)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: operands need at least one axis; multiply by numbers with *")
    dtype = common([a, b])
    recorder = a.recorder
    left, right = (tensor_of(astype(x, dtype) if x.dtype != dtype else x) for x in (a, b))
    inner = (left.shape[-1], right.shape[-2] if right.rank > 1 else right.shape[0])
    if isinstance(inner[0], int) and isinstance(inner[1], int) and inner[0] != inner[1]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not fit: {inner[0]} is not {inner[1]}")
    return result(a, recorder.matmul(left, right))


rule(np.matmul, np.linalg.matmul)(product_of)


@rule(np.dot, method="dot")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    x, y = operand(a), operand(b)
    if not getattr(x, "ndim", 0) or not getattr(y, "ndim", 0):
        return apply(np.multiply, [x, y])
    x, y = array(x), array(y)
    return product_of(x, y) if y.ndim <= 2 else tensordot(x, y, ([-1], [-2]))


@rule(np.inner)
def inner(a: Any, b: Any) -> Any:
    x, y = operand(a), operand(b)
    if not getattr(x, "ndim", 0) or not getattr(y, "ndim", 0):
        return apply(np.multiply, [x, y])
    return tensordot(x, y, ([-1], [-1]))


@rule(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    x = reshape(array(a), -1)
    x = apply(np.conjugate, [x]) if x.dtype.kind == "c" else x
    return product_of(x, reshape(array(b), -1))


@rule(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    x, y = reshape(array(a), -1), reshape(array(b), -1)
    return apply(np.multiply, [view(x, [slice(None), None]), view(y, [None, slice(None)])])


@rule(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = array(a), array(b)
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        pair = [list(k) if isinstance(k, (list, tuple)) else [k] for k in axes]
        left, right = ([static_axis(k, x.ndim) for k in part] for part, x in zip(pair, (a, b), strict=True))
    letters = "abcdefghijklmnopqrstuvwxyz"
    first = letters[: a.ndim]
    second = list(letters[a.ndim : a.ndim + b.ndim])
    for m, n in zip(left, right, strict=True):
        second[n] = first[m]
    kept = [c for k, c in enumerate(first) if k not in left] + [c for k, c in enumerate(second) if k not in right]
    return einsum(f"{first},{''.join(second)}->{''.join(kept)}", a, b)


@rule(np.trace, method="trace")
def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, **kw: Any) -> Any:
    return total(diagonal(a, offset, axis1, axis2), -1)


@rule(np.diagonal, method="diagonal")
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    a = array(a)
    first, second = static_axis(axis1, a.ndim), static_axis(axis2, a.ndim)
    others = [d for d in range(a.ndim) if d not in (first, second)]
    a = transpose(a, [*others, first, second])
    rows, columns = a.tensor.shape[-2:]
    down, right = max(-offset, 0), max(offset, 0)
    length = max(0, min(rows - down, columns - right))
    shape = (*a.tensor.shape[:-2], length)
    tensor = a.tensor.moved(shape, lambda i: (*i[:-1], i[-1] + down, i[-1] + right))
    known = None if a.known is None else np.diagonal(a.known, offset, -2, -1)
    return Array(a.recorder, a.storage, tensor, known)


@rule(np.einsum)
def einsum(subscripts: Any, *operands: Any, **kwargs: Any) -> Any:
    text = subscripts.replace(" ", "")
    if "." in text:
        raise TypeError("einsum: '...' has no rule; name the axes")
    given, _, wanted = text.partition("->")
    terms = given.split(",")
    if "->" not in text:
        wanted = "".join(sorted(c for c in set(given) - {","} if given.count(c) == 1))
    arrays = [array(x) for x in operands]
    dtype = common(arrays)
    recorder = arrays[0].recorder
    extents: dict[str, Any] = {}
    for term, a in zip(terms, arrays, strict=True):
        for c, n in zip(term, a.tensor.shape, strict=True):
            extents[c] = n if extents.get(c, 1) == 1 else extents[c]
    summed = [c for c in extents if c not in wanted]
    sources = [recorder.content(a) for a in arrays]

    def product(out: tuple, inner: tuple) -> Element:
        index = dict(zip(wanted, out, strict=True)) | dict(zip(summed, inner, strict=True))
        found = None
        for term, a, source in zip(terms, arrays, sources, strict=True):
            place = tuple(0 if n == 1 else index[c] for c, n in zip(term, a.tensor.shape, strict=True))
            value = read(recorder, source, place, dtype)
            found = value if found is None else found * value
        assert found is not None
        return found

    shape = [extents[c] for c in wanted]
    if not summed:
        tensor = recorder.compute(shape, dtype, lambda *i: product(i, ()))
    else:
        tensor = recorder.reduction(shape, [extents[c] for c in summed], product, "sum", dtype)
    return result(arrays[0], tensor)


# -- scans
def _scan(ufunc: np.ufunc, function: Any, method: str) -> None:
    def scan(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x = array(a)
        x = reshape(x, -1) if axis is None else x
        d = static_axis(0 if axis is None else axis, x.ndim)
        own = np.dtype(dtype) if dtype is not None else x.dtype
        own = np.add.reduce(np.empty(0, own)).dtype if own.kind in "biu" and dtype is None else own
        recorder = x.recorder
        found = recorder.array(recorder.copy(tensor_of(astype(x, own) if own != x.dtype else x)))
        n = found.tensor.shape[d]
        with recorder.loop(n - 1) as k:
            target = found.tensor.slice(d, k + 1, 1)
            before = found.tensor.slice(d, k, 1)
            if ufunc is np.add:
                recorder.assign(target, lambda *i: before[i] + target[i])
            else:
                recorder.assign(target, lambda *i: before[i] * target[i])
        return found

    rule(function, method=method)(scan)


_scan(np.add, np.cumsum, "cumsum")
_scan(np.multiply, np.cumprod, "cumprod")


@rule(np.diff)
def diff(a: Any, n: Any = 1, axis: Any = -1, **kw: Any) -> Any:
    a = array(a)
    d = static_axis(axis, a.ndim)
    for _ in range(n):
        high, low = [[slice(None)] * a.ndim for _ in range(2)]
        high[d], low[d] = slice(1, None), slice(None, -1)
        a = apply(np.subtract, [view(a, high), view(a, low)])
    return a


@rule(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = array(a)
    if axis is None:
        return reshape(roll(reshape(a, -1), shift, 0), a.shape)
    pairs = zip(*(list(x) if isinstance(x, (tuple, list)) else [x] for x in (shift, axis)), strict=True)

    for by, along in pairs:
        d = static_axis(along, a.ndim)
        n = a.tensor.shape[d]
        cut = (-by) % n if n else 0
        if cut:
            head, tail = [[slice(None)] * a.ndim for _ in range(2)]
            head[d], tail[d] = slice(cut, None), slice(None, cut)
            a = concatenate([view(a, head), view(a, tail)], d)
    return a


@rule(np.flip)
def flip(a: Any, axis: Any = None) -> Any:
    a = array(a)
    gone = axes_of(axis, a.ndim)
    return view(a, [slice(None, None, -1) if d in gone else slice(None) for d in range(a.ndim)])


@rule(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    along = array(x).ndim == 1 or isinstance(axis, int)
    if ord in (1, np.inf) and along:
        return (total if ord == 1 else largest)(apply(np.absolute, [array(x)]), axis, keepdims=keepdims)
    if ord not in (None, 2, "fro"):
        raise TypeError(f"norm: ord={ord!r} has no rule")
    a = array(x)
    if ord == 2 and a.ndim == 2 and axis is None:
        raise TypeError("norm: ord=2 of a matrix has no rule")
    size = apply(np.absolute, [a]) if a.dtype.kind == "c" else a
    return apply(np.sqrt, [total(apply(np.square, [size]), axis, keepdims=keepdims)])


@rule(np.cross)
def cross(a: Any, b: Any, **kwargs: Any) -> Any:
    x, y = array(a), array(b)
    if kwargs or x.tensor.shape[-1] != 3 or y.tensor.shape[-1] != 3:
        raise TypeError("cross: a and b must have three elements along their last axis")

    def turned(v: Array, by: int) -> Array:
        return v[..., np.array([by, (by + 1) % 3, (by + 2) % 3])]

    first = apply(np.multiply, [turned(x, 1), turned(y, 2)])
    return apply(np.subtract, [first, apply(np.multiply, [turned(x, 2), turned(y, 1)])])


@rule(np.kron)
def kron(a: Any, b: Any) -> Any:
    x, y = array(a), array(b)
    rank = max(x.ndim, y.ndim)
    x, y = (view(v, [*[None] * (rank - v.ndim), *[slice(None)] * v.ndim]) for v in (x, y))
    wide = [
        view(v, [p for _ in range(rank) for p in order])
        for v, order in ((x, (slice(None), None)), (y, (None, slice(None))))
    ]
    return reshape(apply(np.multiply, wide), [m * n for m, n in zip(x.shape, y.shape, strict=True)])


def _place(ufunc: np.ufunc, function: Any, method: str) -> None:
    """Register ``argmax`` or ``argmin``: the first place of the largest or smallest element."""

    def find(a: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
        x = array(a)
        x = reshape(x, -1) if axis is None else x
        d = static_axis(0 if axis is None else axis, x.ndim)
        recorder, n = x.recorder, x.tensor.shape[d]
        lead = [slice(None)] * d
        best = recorder.array(recorder.copy(view(x, [*lead, 0, *[slice(None)] * (x.ndim - d - 1)]).tensor))
        place = recorder.array(recorder.full(best.tensor.shape, 0, np.int64))
        with recorder.loop(n - 1) as k:
            element = x.tensor.slice(d, k + 1, 1).squeeze(d)
            better = recorder.compute(best.tensor.shape, bool, lambda *i: compared(element[i], best.tensor[i]))
            index = recorder.element(Number(recorder, np.int64, True, frozenset(), expr=k + 1))
            recorder.scatter_where(place.tensor, lambda *i: (i, index, better[i]))
            recorder.scatter_where(best.tensor, lambda *i: (i, element[i], better[i]))
        return place if place.ndim else place[()]

    def compared(new: Element, old: Element) -> Element:
        return new > old if ufunc is np.maximum else new < old

    rule(function, method=method)(find)


_place(np.maximum, np.argmax, "argmax")
_place(np.minimum, np.argmin, "argmin")
