"""Methods of universal functions: ``reduce``, ``accumulate``, ``reduceat``, ``outer`` and ``at``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elements import where as choose
from sdgrad.record.elementwise import filled, kind, template
from sdgrad.record.functions.arguments import axes_of, static_axis
from sdgrad.record.functions.creation import astype, duplicate
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.reductions import reduced, sum_type
from sdgrad.record.functions.scans import accumulated
from sdgrad.record.functions.scipy_special import logsumexp
from sdgrad.record.functions.shapes import broadcast_to, expand_dims, moveaxis, ravel, reshape, size
from sdgrad.record.functions.table import FUNCTIONS, all_known, array, content, fixed, full_name, known, operand
from sdgrad.record.indexing import content_of, expanded, is_advanced, item, view
from sdgrad.record.stores import accumulate, store
from sdgrad.record.values import Array

REDUCED = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"}
TRUTHS = {np.logical_and: np.all, np.logical_or: np.any}
ANY_ORDER = {
    *REDUCED, *TRUTHS, np.logical_xor, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot, np.bitwise_and,
    np.bitwise_or, np.bitwise_xor,
}  # fmt: skip
"""Functions that NumPy reduces over several axes."""


WRONG = {np.power, np.arctan2}
"""Functions of which NumPy's own ``reduce`` and ``reduceat`` leave elements out (version 2.4)."""


def _check_reducible(function: np.ufunc, method: str) -> None:
    if function in WRONG:
        name = f"{full_name(function)}.{method}"
        raise ParseError(f"{name} is not recorded, because NumPy leaves elements out: write a loop")


def _type(function: np.ufunc, x: Array, dtype: Any) -> np.dtype:
    """Return the type in which a function combines elements; it is that of operands and results."""
    if function in (np.add, np.multiply):
        return sum_type(x, dtype)
    if function.nin != 2 or function.nout != 1:
        raise ValueError("reduce only supported for binary functions returning a single value")
    wanted = {} if dtype is None else {"signature": (np.dtype(dtype), None, None)}
    found = function.resolve_dtypes((None, x.dtype, None), reduction=True, **wanted)  # type: ignore[arg-type]
    if found[0] != found[2] or found[1] != found[2]:
        raise ParseError(f"{full_name(function)} of elements of another type than its results: write a loop")
    return np.dtype(found[2].str)


def reduce(
    function: np.ufunc,
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return a reduction; all of an array's axes are gone over if the axis is None."""
    x = array(a)
    if function in TRUTHS and dtype is None and initial is None:
        return FUNCTIONS[TRUTHS[function]](x, axis, keepdims=keepdims, where=where)
    if function in REDUCED:
        inner = sum_type(x, dtype) if REDUCED[function] in ("sum", "prod") else np.dtype(dtype or x.dtype)
        return reduced(x, REDUCED[function], axis, keepdims, inner, where, initial)
    if (
        function is np.logaddexp
        and dtype is None
        and initial is None
        and where is None
        and x.size
        and x.dtype.kind in "fc"
    ):
        return logsumexp(x, axis, keepdims=keepdims)
    _check_reducible(function, "reduce")
    over = axes_of(axis, x.ndim)
    if len(over) > 1 and function not in ANY_ORDER:
        raise ValueError(
            f"reduction operation '{function.__name__}' is not reorderable, so at most one axis may be specified"
        )
    kept = [d for d in range(x.ndim) if d not in over]
    rows = reshape(_first(x, over), (size(x, over), *(x.shape[d] for d in kept)))
    mask = None
    if where is not None and where is not True:
        wide = broadcast_to(where, x.shape)
        mask = reshape(_first(wide, over), rows.shape)
    found = _folded(function, rows, _type(function, x, dtype), initial, mask)
    return expand_dims(found, over) if keepdims and over else found


def _identity(function: np.ufunc, why: str) -> Any:
    """Return what a reduction starts from without an element to start from."""
    if function.identity is None:
        raise ValueError(f"{function.__name__}.reduce has no identity, so initial= is needed with {why}")
    return function.identity


def _first(x: Array, axes: list[int]) -> Array:
    """Return an array with some axes before all others."""
    return moveaxis(x, axes, list(range(len(axes))))


def _folded(function: np.ufunc, rows: Array, dtype: np.dtype, initial: Any, mask: Any) -> Any:
    """Return the parts along the first axis combined, from the first one to the last."""
    recorder, shape, start = rows.recorder, rows.shape[1:], 0
    parts = astype(rows, dtype, copy=False)
    if initial is None and (mask is not None or not rows.shape[0] or function is np.hypot):
        initial = _identity(function, "where=" if mask is not None else "no elements")
    if initial is None:
        found, start = duplicate(array(parts[0])), 1
    else:
        found = duplicate(broadcast_to(astype(array(initial), dtype), shape))
    text, source = template(function.__name__, dtype), tensor_of(parts)
    condition = None if mask is None else tensor_of(array(mask))
    target = _recorded_memory(found)
    with recorder.loop(rows.shape[0] - start) as k:
        new = source.slice(0, k + start, 1).squeeze(0)
        chosen = None if condition is None else condition.slice(0, k + start, 1).squeeze(0)

        def combined(*i: Any) -> Any:
            before = target[i]
            after = filled(text, [before, new[i]], recorder.let, dtype)
            return after if chosen is None else choose(chosen[i], after, before)

        recorder.assign(target, combined)
    result = recorder.array(target)
    return result if shape else result[()]


def _recorded_memory(a: Array) -> Any:
    """Return the memory of an array of its own, which loops write."""
    return a.recorder.copy(tensor_of(a))


def accumulate_along(function: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None) -> Array:
    """Return each element combined with all before it along an axis."""
    x = array(a)
    return accumulated(function, x, axis, _type(function, x, dtype))


def outer(function: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    """Return a function of all pairs of elements."""
    first, second = map(array, (a, b))
    wide = view(first, [slice(None)] * first.ndim + [None] * second.ndim)
    return function(wide, second, **kwargs)


def reduceat(function: np.ufunc, a: Any, indices: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """Return reductions of the parts of an array that begin at indices, and end before the next one."""
    _check_reducible(function, "reduceat")
    x, starts = array(a), fixed(indices)
    if starts is None:
        raise ParseError(
            f"{full_name(function)}.reduceat: only a run knows the indices; number the parts, and use "
            f"np.{function.__name__}.at"
        )
    d, first = static_axis(axis, x.ndim), np.asarray(starts)
    n = x.shape[d]
    if np.any((first < 0) | (first >= n)):
        raise IndexError(f"index {first[(first < 0) | (first >= n)][0]} out-of-bounds in {function.__name__}.reduceat")
    parts = moveaxis(astype(x, _type(function, x, dtype), copy=False), d, 0)
    ends = np.append(first[1:], n)
    more = [np.arange(i + 1, j) for i, j in zip(first, ends, strict=True)]
    found = duplicate(parts[known(first)])
    where, which = np.repeat(np.arange(len(first)), list(map(len, more))), np.concatenate([*more, np.empty(0, int)])
    if which.size:
        at(function, found, known(where), parts[known(which.astype(np.int64))])
    return moveaxis(found, 0, d)


# -- in place
def at(function: np.ufunc, target: Any, index: Any, value: Any = None) -> None:
    """Do ``np.add.at(target, index, value)``: repeated indices count as often as they come, in order."""
    if not isinstance(target, Array):
        raise TypeError("first operand must be array")
    if target.storage.readonly:
        raise ParseError(target.storage.readonly)
    _check_result(function, target, *([] if value is None else [value]))
    parts = expanded(target, index)
    if function in (np.add, np.subtract) and target.dtype.kind != "b":
        accumulate(target, parts, np.negative(value) if function is np.subtract else value)
    elif _comes_once(target, parts):
        old = item(target, tuple(parts))
        store(target, tuple(parts), function(old) if value is None else function(old, operand(value)))
    else:
        _in_order(function, target, tuple(parts), value)


def _check_result(function: np.ufunc, target: Array, *values: Any) -> None:
    """Check that what a function gives can be written where it is wanted."""
    operands = [target.dtype, *(np.dtype(kind(operand(v))) if np.ndim(v) else kind(operand(v)) for v in values)]
    if len(operands) != function.nin or function.nout != 1:
        raise ValueError(f"{full_name(function)}.at takes {function.nin - 1} values")
    found = function.resolve_dtypes((*operands, None))[-1]
    if not np.can_cast(found, target.dtype, "same_kind"):
        raise TypeError(f"cannot cast a result of type {found} into an array of type {target.dtype}")


def _comes_once(target: Array, parts: Sequence[Any]) -> bool:
    """True if an index names no element twice."""
    many = [p for p in parts if is_advanced(p)]
    if not many or all(getattr(p, "dtype", None) == np.bool_ for p in many):
        return True
    contents = [
        content_of(np.asarray(p) if isinstance(p, list) else p) if is_advanced(p) else content(p) for p in parts
    ]
    if any(c is None for c, p in zip(contents, parts, strict=True) if p is not None) or not all_known(contents):
        return False
    places = np.arange(target.size).reshape(target.shape)[tuple(contents)]
    return np.unique(places).size == places.size


def _in_order(function: np.ufunc, target: Array, parts: tuple, value: Any) -> None:
    """Go over the elements that an index names, one after the other."""
    places = item(known(np.arange(target.size).reshape(target.shape)), parts)
    recorder, dtype = target.recorder, target.dtype
    flat = _recorded_memory(ravel(target))
    where = _recorded_memory(array(ravel(places)))  # of its own: subscripts are read from it
    values = None if value is None else ravel(broadcast_to(value, array(places).shape))
    types = function.resolve_dtypes((dtype, *([] if values is None else [values.dtype]), None))
    text, source = template(function.__name__, np.dtype(types[0].str)), None if values is None else tensor_of(values)
    with recorder.loop(where.shape[0]) as k:
        one = recorder.array(where.slice(0, k, 1).squeeze(0))[()]
        at_ = recorder.symbol(one)
        element = flat.slice(0, at_, 1)

        def combined(*i: Any) -> Any:
            given = [element[i], *([] if source is None else [source[(k,)]])]
            given = [g.astype(t) for g, t in zip(given, types, strict=False)]
            return filled(text, given, recorder.let, types[-1])

        recorder.assign(element, combined)
    store(target, Ellipsis, reshape(recorder.array(flat), target.shape))
