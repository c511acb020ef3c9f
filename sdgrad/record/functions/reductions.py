"""Sums and other reductions, over all axes or some, with masks."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elements import Element, bounds
from sdgrad.record.elements import where as choose
from sdgrad.record.elementwise import apply, prepared, read
from sdgrad.record.functions.arguments import axes_of, several, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import choose_where, tensor_of
from sdgrad.record.functions.shapes import along, broadcast_to, expand_dims, ravel, reshape, size, transpose
from sdgrad.record.functions.table import array, operand, rule
from sdgrad.record.functions.undefined import memory_of, undefined_where
from sdgrad.record.recorder import ONLY_DATA, Recorder
from sdgrad.record.tensors import Tensor, broadcast_shape
from sdgrad.record.values import RULES, Array, Number

COMBINED = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def result(a: Array, tensor: Tensor) -> Any:
    """Return a reduced tensor: a number if it has no axes."""
    if tensor.rank == 0 and tensor.is_plain:  # nobody else has this memory, and nobody writes it again
        return Number(a.recorder, tensor.dtype, False, ONLY_DATA, tensor=tensor)
    found = a.recorder.array(tensor)
    return found if tensor.rank else found[()]


def reduced(
    a: Array, mode: str, axis: Any, keepdims: bool, dtype: np.dtype, where: Any = None, initial: Any = None
) -> Any:
    """Return a reduction in a type: of what a mask leaves, and of an initial value."""
    if a.dtype.kind == "c" and dtype.kind not in "c":
        a = astype(a, dtype)
    recorder, shape = a.recorder, a.tensor.shape
    over = axes_of(axis, a.ndim)
    if mode in ("max", "min"):
        _check_extreme(recorder, mode, dtype, [shape[d] for d in over], where, initial)
    mask = None if where is None or where is True else array(where)
    if mask is not None and tuple(broadcast_shape(shape, mask.tensor.shape)) != tuple(shape):
        raise ValueError(f"where of shape {mask.shape} does not broadcast to {a.shape}")
    source, condition = prepared(recorder, [a, True if mask is None else mask], shape)
    least, most = bounds(dtype)
    neutral = {"sum": 0, "prod": 1, "max": least, "min": most}[mode]

    def term(place: tuple) -> Element:
        value = read(recorder, source, place, dtype)
        return value if mask is None else choose(read(recorder, condition, place, bool), value, neutral)

    tensor = recorder.reduction_over(shape, over, term, mode, dtype)
    found = result(a, tensor.unsqueeze(*over) if keepdims and over else tensor)
    return found if initial is None else astype(apply(COMBINED[mode], [found, operand(initial)]), dtype)


def _check_extreme(
    recorder: Recorder, mode: str, dtype: np.dtype, extents: list[Any], where: Any, initial: Any
) -> None:
    name = {"max": "maximum", "min": "minimum"}[mode]
    if dtype.kind == "c":
        raise ParseError(f"numpy.{mode} of complex numbers is not recorded: take it of their real parts or magnitudes")
    empty = ValueError(f"zero-size array to reduction operation {name} which has no identity")
    if 0 in extents and initial is None:
        raise empty
    for n in filter(recorder.ranges.may_be_short, extents if initial is None else ()):
        RULES.require(recorder, apply(np.greater, [recorder.symbolic(n, ONLY_DATA), 0]), empty)
    if where is not None and where is not True and initial is None:
        raise ValueError(f"reduction operation '{name}' does not have an identity, so initial= is needed with where=")


def sum_type(a: Any, dtype: Any) -> np.dtype:
    """Return the type in which NumPy adds up."""
    own = np.dtype(dtype) if dtype is not None else a.dtype
    return np.add.reduce(np.empty(0, own)).dtype if own.kind in "biu" and dtype is None else own


def _added(mode: str, *functions: Any, method: str) -> Callable:
    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        x = array(a)
        return reduced(x, mode, axis, keepdims, sum_type(x, dtype), where, initial)

    return rule(*functions, method=method)(reduce)


def _extreme(mode: str, *functions: Any, method: str) -> Callable:
    def reduce(
        a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> Any:
        x = array(a)
        return reduced(x, mode, axis, keepdims, x.dtype, where, initial)

    return rule(*functions, method=method)(reduce)


total = _added("sum", np.sum, method="sum")
product = _added("prod", np.prod, method="prod")
largest = _extreme("max", np.max, np.amax, method="max")
smallest = _extreme("min", np.min, np.amin, method="min")


@rule(np.ptp, method="ptp")
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return largest(a, axis, keepdims=keepdims) - smallest(a, axis, keepdims=keepdims)


@rule(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return total(apply(np.not_equal, [array(a), 0]), axis, np.dtype(np.int64), keepdims=keepdims)


@rule(np.any, method="any")
def any_(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None) -> Any:
    found = total(astype(array(a), bool), axis, np.int64, keepdims=keepdims, where=where)
    return apply(np.greater, [found, 0])


@rule(np.all, method="all")
def all_(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None) -> Any:
    opposite = apply(np.logical_not, [astype(array(a), bool)])
    return apply(np.logical_not, [any_(opposite, axis, keepdims=keepdims, where=where)])


# -- means
def count(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """Return how many elements a reduction goes over."""
    if where is None or where is True:
        return size(a, axis)
    return total(np.broadcast_to(array(where), a.shape), axis, np.int64, keepdims=keepdims)


def _inexact(a: Array, dtype: Any) -> np.dtype:
    return np.dtype(dtype) if dtype is not None else a.dtype if a.dtype.kind in "fc" else np.dtype(float)


def _wide(dtype: np.dtype) -> np.dtype:
    """Return the type in which means are computed: a sum or a count may be beyond the largest half."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


@rule(np.mean, method="mean")
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    x = array(a)
    return _mean(x, x, axis, dtype, keepdims, where)


def _mean(x: Array, given: Array, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    """Return a mean; where there are no elements it is NaN, and so is the derivative by what is ``given``."""
    own = _inexact(x, dtype)
    summed = total(x, axis, _wide(own) if dtype is None else own, keepdims=keepdims, where=where)
    n = count(x, axis, keepdims, where)
    return _unless_none(astype(apply(np.true_divide, [summed, n]), own), n, given, axis, keepdims)


def _unless_none(found: Any, n: Any, given: Array, axis: Any, keepdims: bool) -> Any:
    """Return what is NaN where the number of elements is zero, with the derivative NaN there."""
    if isinstance(n, int):
        if n:
            return found
        warnings.warn("a mean or a variance of no elements is recorded: it is NaN", RuntimeWarning, stacklevel=2)
        return undefined_where(True, found, total(memory_of(given)))
    if isinstance(n, Number) and n.expr is not None:  # the size of a slice
        memory = memory_of(given)
        if not given.recorder.ranges.may_be_short(n.expr) or 0 in memory.tensor.shape:
            return found
        return undefined_where(np.equal(n, 0), found, memory[(0,) * memory.ndim])
    return undefined_where(np.equal(n, 0), found, total(given, axis, keepdims=keepdims))


@rule(np.var, method="var")
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    x = array(a)
    own = _inexact(x, dtype)
    middle = _mean(x, x, axis, own, True, where) if mean is None else operand(mean)
    centred = apply(np.subtract, [x, middle])
    square = apply(np.square, [apply(np.absolute, [centred]) if own.kind == "c" else centred])
    summed = total(square, axis, keepdims=keepdims, where=where)
    present = count(x, axis, keepdims, where)
    n = np.maximum(present - (ddof if correction is None else correction), 0)
    found = astype(apply(np.true_divide, [astype(summed, _wide(summed.dtype)), n]), summed.dtype)
    return _unless_none(found, present, x, axis, keepdims)


def std(*args: Any, **kwargs: Any) -> Any:
    """Return the root of the variance, with the same arguments."""
    return root(var(*args, **kwargs))


def root(squares: Any) -> Any:
    """Return the root of a sum of squares: at zero it has the derivative zero, which a root alone has not."""
    return apply(np.hypot, [apply(np.sqrt, [squares]), 0.0])


std.__signature__ = inspect.signature(var)  # type: ignore[attr-defined]
rule(np.std, method="std")(std)


@rule(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    x = array(a)
    if weights is None:
        found = mean(x, axis, keepdims=keepdims)
        norm: Any = size(x, axis)
    else:
        w = wide_weights(array(weights), x, axis)
        norm = total(w, axis, keepdims=keepdims)
        if 0 in w.shape:
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        found = apply(np.true_divide, [total(apply(np.multiply, [x, w]), axis, keepdims=keepdims), norm])
    if not returned:
        return found
    norm = astype(norm, found.dtype)
    return found, np.broadcast_to(norm, found.shape) if np.ndim(found) else norm


def wide_weights(w: Array, x: Array, axis: Any) -> Array:
    """Return weights in the shape of an array."""
    if w.shape == x.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    given = [static_axis(d, x.ndim) for d in several(axis)]
    if w.shape != tuple(x.shape[d] for d in given):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = sorted(range(len(given)), key=given.__getitem__)
    return broadcast_to(reshape(transpose(w, order), [n if d in given else 1 for d, n in enumerate(x.shape)]), x.shape)


def lines_of_new(rank: int, axis: int) -> tuple[Any, ...]:
    """Return the index that lays a vector along an axis of an array."""
    return tuple(slice(None) if d == axis else None for d in range(rank))


# -- without what is not a number
def without_nan(a: Any, filler: Any) -> Any:
    x = array(a)
    return choose_where(apply(np.isnan, [x]), filler, x) if x.dtype.kind in "fc" else x


@rule(np.nansum)
def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **more: Any) -> Any:
    return total(without_nan(a, 0), axis, dtype, keepdims=keepdims, **more)


@rule(np.nanprod)
def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **more: Any) -> Any:
    return product(without_nan(a, 1), axis, dtype, keepdims=keepdims, **more)


def _nan_extreme(function: Any, of: Callable, filler: float) -> None:
    def reduce(
        a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> Any:
        x = array(a)
        if x.dtype.kind != "f":
            return of(x, axis, keepdims=keepdims, initial=initial, where=where)
        found = of(without_nan(x, filler), axis, keepdims=keepdims, initial=initial, where=where)
        if initial is not None:
            return found
        present = any_(apply(np.logical_not, [apply(np.isnan, [x])]), axis, keepdims=keepdims, where=where)
        return undefined_where(np.logical_not(present), found, total(x, axis, keepdims=keepdims))

    rule(function)(reduce)


_nan_extreme(np.nanmax, largest, -np.inf)
_nan_extreme(np.nanmin, smallest, np.inf)


def _present(x: Array, where: Any) -> Any:
    """Return where the numbers are that a reduction goes over; None is everywhere."""
    if x.dtype.kind not in "fc":
        return where
    found = apply(np.logical_not, [apply(np.isnan, [x])])
    return found if where is None or where is True else apply(np.logical_and, [found, operand(where)])


@rule(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    x = array(a)
    return _mean(array(without_nan(x, 0)), x, axis, dtype, keepdims, _present(x, where))


def _nan_variance(function: Any, after: Callable) -> None:
    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: bool = False,
        *,
        where: Any = None,
        mean: Any = None,
        correction: Any = None,
    ) -> Any:
        x = array(a)
        less, present = ddof if correction is None else correction, _present(x, where)
        found = var(without_nan(x, 0), axis, dtype, None, less, keepdims, where=present, mean=mean)
        missing = np.less_equal(count(x, axis, keepdims, present), less)
        return after(undefined_where(missing, found, total(x, axis, keepdims=keepdims)))

    rule(function)(reduce)


_nan_variance(np.nanvar, lambda found: found)
_nan_variance(np.nanstd, lambda found: root(found))


# -- places of extremes
def _place(function: Any, method: str, better: Callable[[Element, Element], Element]) -> None:
    """Register ``argmax`` or ``argmin``: the first place of the largest or smallest element."""

    def find(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        x = array(a)
        flat = ravel(x) if axis is None else x
        d = static_axis(0 if axis is None else axis, flat.ndim)
        recorder, n = x.recorder, flat.tensor.shape[d]
        if n == 0:
            raise ValueError(f"attempt to get {method} of an empty sequence")
        if x.dtype.kind == "c":
            raise ParseError(f"numpy.{method} of complex numbers is not recorded: take it of their real parts")
        best = recorder.array(recorder.copy(tensor_of(along(flat, d, 0))))
        found = recorder.array(recorder.full(best.tensor.shape, 0, np.int64))
        with recorder.loop(n - 1) as k:
            new = tensor_of(flat).slice(d, k + 1, 1).squeeze(d)
            wins = recorder.compute(best.tensor.shape, bool, lambda *i: better(new[i], best.tensor[i]))
            index = recorder.element(Number(recorder, np.int64, True, frozenset(), expr=k + 1))
            recorder.scatter_where(found.tensor, lambda *i: (i, index, wins[i]))
            recorder.scatter_where(best.tensor, lambda *i: (i, new[i], wins[i]))
        if keepdims:
            return expand_dims(found, d if axis is not None else tuple(range(x.ndim)))
        return found if found.ndim else found[()]

    rule(function, method=method)(find)


def _first_nan(new: Element, old: Element) -> Element:
    return old.equals(old) & ~new.equals(new)


_place(np.argmax, "argmax", lambda new, old: (new > old) | _first_nan(new, old))
_place(np.argmin, "argmin", lambda new, old: (new < old) | _first_nan(new, old))
