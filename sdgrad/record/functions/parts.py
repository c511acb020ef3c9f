"""Take and write parts of arrays, and choose between elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.complex_parts import apart, part_of
from sdgrad.record.elementwise import apply, common, compute, kind
from sdgrad.record.functions.arguments import static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.shapes import broadcast_to, diagonal, ravel
from sdgrad.record.functions.table import array, content, fixed, known, operand, rule
from sdgrad.record.indexing import item, view
from sdgrad.record.stores import store
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import RULES, Array, Number, is_recorded

ONLY_A_RUN = "how many elements are true is known only when the program runs: use np.where(condition, x, y)"


def tensor_of(a: Array) -> Tensor:
    """Return a tensor with the content of an array; no part of complex numbers."""
    found = a.recorder.content(a)
    return apart(found) if isinstance(found, Tensor) else a.recorder.full(a.tensor.shape, found, a.dtype)


# -- parts
@rule(np.take, method="take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    a, d = (ravel(a), 0) if axis is None else (array(a), static_axis(axis, np.ndim(a)))
    places = _kept_inside(operand(indices), a.tensor.shape[d], mode)
    return item(a, tuple(places if e == d else slice(None) for e in range(a.ndim)))


def _kept_inside(indices: Any, count: Any, mode: str) -> Any:
    """Return places in an axis; ``mode`` says what becomes of those outside of it."""
    if mode == "clip":
        return np.minimum(np.maximum(indices, 0), count - 1)
    return indices % count if mode == "wrap" else indices


def _places_along(indices: Any, axis: int, shape: Any) -> tuple[Any, ...]:
    """Return the index that takes for each place along an axis of a shape what ``indices`` says."""
    places = array(indices)
    own = np.ogrid[tuple(slice(1 if d == axis else n) for d, n in enumerate(shape))]
    return tuple(places if d == axis else known(n) for d, n in enumerate(own))


@rule(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    a, d = (ravel(arr), 0) if axis is None else (array(arr), static_axis(axis, np.ndim(arr)))
    return item(a, _places_along(indices, d, a.shape))


@rule(np.put_along_axis, aliases=True)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    store(arr, _places_along(indices, static_axis(axis, arr.ndim), arr.shape), operand(values))


@rule(method="compress")
def compress_method(a: Any, condition: Any, axis: Any = None) -> Any:
    return compress(condition, a, axis)


@rule(np.compress)
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    where = array(condition)
    mask = fixed(where)
    if mask is not None:
        return take(a, np.flatnonzero(mask), axis)
    if axis is not None and static_axis(axis, np.ndim(a)):
        raise ParseError(f"numpy.compress along another axis than the first one: {ONLY_A_RUN}")
    x = ravel(a) if axis is None else array(a)
    if where.shape != x.shape[:1]:
        raise ParseError("numpy.compress: a condition that only a run knows must have the length of the array")
    return item(x, astype(where, bool, copy=False))


@rule(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return compress(ravel(condition), arr)


@rule(np.nonzero, method="nonzero")
def nonzero(a: Any) -> Any:
    x = array(a)
    found = fixed(x)
    return RULES.places(x) if found is None else tuple(map(known, np.nonzero(found)))


@rule(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return nonzero(ravel(a))[0]


@rule(np.argwhere)
def argwhere(a: Any) -> Any:
    raise ParseError(f"numpy.argwhere: {ONLY_A_RUN}")


@rule(np.diag)
def diag(v: Any, k: Any = 0) -> Any:
    a = array(v)
    if a.ndim == 2:
        return diagonal(a, k)
    if a.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    shift = static(k)
    size = a.tensor.shape[0] + abs(shift)
    places = np.arange(size - abs(shift))
    target = known(np.zeros((size, size), a.dtype))
    store(target, (known(places + max(-shift, 0)), known(places + max(shift, 0))), a)
    return target


@rule(np.diagflat)
def diagflat(v: Any, k: Any = 0) -> Any:
    return diag(ravel(v), k)


@rule(method="item")
def item_of(a: Any, *index: Any) -> Any:
    """Return an element as a number; the only one if nothing is said."""
    if not index and a.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    if not isinstance(a, Array):
        return a
    place = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
    return _of_python(a[place if len(place) == a.ndim else np.unravel_index(place[0] if place else 0, a.shape)])


def _of_python(value: Any) -> Any:
    """Return an element as the number of Python's that it becomes."""
    wide = {"f": np.float64, "c": np.complex128, "i": np.int64, "u": np.int64}
    if not isinstance(value, Number) or value.expr is not None or value.dtype.kind not in wide:
        return value
    dtype = np.dtype(wide[value.dtype.kind])
    return compute("{0}", [value], [dtype], dtype, True)


@rule(method="tolist")
def tolist(a: Any) -> Any:
    return [tolist(part) if isinstance(part, Array) else part for part in a] if np.ndim(a) else item_of(a)


# -- writes
@rule(np.copyto, aliases=True)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    value = operand(src)
    if not np.can_cast(np.dtype(kind(value)), dst.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(f"cannot cast from {np.dtype(kind(value))} to {dst.dtype} according to {casting!r}")
    store(dst, Ellipsis, value if where is True else choose_where(where, astype(value, dst.dtype), dst))


@rule(method="fill")
def fill_with(a: Any, value: Any) -> None:
    store(a, Ellipsis, value)


@rule(np.put, method="put", aliases=True)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    places = ravel(_kept_inside(array(ind), a.size, mode))
    values = np.resize(ravel(v), places.shape)
    index, rest = [], places
    for n in reversed(a.shape):
        index.append(rest % n)
        rest = rest // n
    store(a, tuple(reversed(index)), values)


@rule(np.place, aliases=True)
def place(arr: Any, mask: Any, vals: Any) -> None:
    chosen = fixed(array(mask))
    if chosen is None and np.size(vals) == 1:
        return store(arr, astype(array(mask), bool, copy=False), vals if np.ndim(vals) == 0 else array(vals)[0])
    if chosen is None:
        raise ParseError(f"numpy.place: {ONLY_A_RUN}")
    places = np.flatnonzero(chosen)
    if places.size:
        put(arr, known(places), vals)


@rule(np.putmask, aliases=True)
def putmask(a: Any, mask: Any, values: Any) -> None:
    more = np.resize(ravel(values), a.shape)
    store(a, Ellipsis, choose_where(mask, astype(more, a.dtype), a))


@rule(np.fill_diagonal, aliases=True)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    model = np.zeros(a.shape, bool)
    np.fill_diagonal(model, True, wrap)
    index = np.nonzero(model)
    values = val if np.ndim(val) == 0 else np.resize(ravel(val), len(index[0]))
    store(a, tuple(map(known, index)), values)


# -- choices
@rule(np.where)
def choose_where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    parts = [operand(v) for v in (condition, x, y)]
    dtype = common(parts[1:])
    return compute("{1} if {0} else {2}", parts, [np.dtype(bool), dtype, dtype], dtype)


@rule(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("list of cases must be same length as list of conditions, and not empty")
    choices = [operand(c) for c in (*choicelist, default)]
    dtype = common(choices)
    *choices, found = (astype(c, dtype) if np.dtype(kind(c)) != dtype else c for c in choices)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        found = choose_where(condition, choice, found)
    return found


@rule(np.choose, method="choose")
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    which = _kept_inside(operand(a), len(choices), mode)
    places = content(which) if isinstance(which, Array) else None
    if mode == "raise" and places is not None and not np.all((places >= 0) & (places < len(choices))):
        raise ValueError("invalid entry in choice array")
    cases = list(choices)
    return select([np.equal(which, k) for k in range(len(cases) - 1)], cases[:-1], cases[-1]) if cases[1:] else cases[0]


@rule(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    a = operand(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) or np.ndim(condlist) > np.ndim(a) else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or one more functions are expected"
        )
    cases = [f(a, *args, **kw) if callable(f) else f for f in funclist]
    default = cases.pop() if len(cases) > len(conditions) else 0
    found = default
    for condition, case in zip(conditions, cases, strict=True):  # the last one that holds counts
        found = choose_where(condition, case, found)
    return astype(np.broadcast_to(found, np.shape(a)) if np.ndim(a) else found, kind(a))


@rule(np.clip, method="clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if a_min is not None else min), (a_max if a_max is not None else max)
    found = operand(a)
    if low is None and high is None:
        return apply(np.positive, [found])
    if low is not None:
        found = apply(np.maximum, [found, operand(low)])
    return apply(np.minimum, [found, operand(high)]) if high is not None else found


# -- parts of complex numbers
@rule(np.real, aliases=True)
def real(val: Any) -> Any:
    return _part(val, "real")


@rule(np.imag, aliases=True)
def imag(val: Any) -> Any:
    return _part(val, "imag")


def _part(value: Any, name: str) -> Any:
    x = operand(value)
    if not is_recorded(x):
        return getattr(np, name)(x)
    if x.dtype.kind != "c":
        return x if name == "real" else np.zeros_like(x) if np.ndim(x) else compute("0", [x], [x.dtype], x.dtype)
    if not isinstance(x, Array) or not x.ndim:
        return compute(f"{name}({{0}})", [x], [x.dtype], np.empty(0, x.dtype).real.dtype)
    shown = None if x.known is None else getattr(x.known, name)
    return Array(x.recorder, x.storage, part_of(x.tensor, name), shown, x.placed)


def _is_same(a: Array, b: Array) -> bool:
    """True if two arrays are one view of the same memory."""
    return a.storage is b.storage and a.tensor.place is b.tensor.place and a.tensor.part == b.tensor.part


def assign_part(z: Any, name: str, value: Any) -> None:
    """Do ``z.real = value``, or ``z.imag = value``."""
    if z.dtype.kind != "c":
        if name == "imag":
            raise TypeError("cannot set imaginary part of a real array")
        store(z, Ellipsis, value)
        return
    given, target = operand(value), _part(z, name)
    if np.dtype(kind(given)).kind == "c":
        raise TypeError("a part of a complex number is real")
    if not isinstance(given, Array) or not _is_same(given, target):  # z.real += 1 has changed the part by now
        store(target, Ellipsis, given)


@rule(np.ix_)
def open_mesh(*args: Any) -> tuple:
    """Return index arrays of one axis each, which broadcast to a mesh."""
    found = [array(a) for a in args]
    if any(a.ndim != 1 for a in found):
        raise ValueError("Cross index must be 1 dimensional")
    return tuple(view(a, [None] * k + [slice(None)] + [None] * (len(found) - k - 1)) for k, a in enumerate(found))


# -- triangles
def _triangle(function: Callable) -> Callable:
    def masked(m: Any, k: Any = 0) -> Any:
        a = array(m)
        a = broadcast_to(a, (a.shape[0], a.shape[0])) if a.ndim == 1 else a
        mask = known(function(np.ones(a.shape[-2:], bool), static(k)))
        return choose_where(mask, a, np.zeros((), a.dtype)[()])

    return rule(function)(masked)


triu, tril = _triangle(np.triu), _triangle(np.tril)
