"""Python's own functions, and ``math``, on recorded values."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sdgrad.errors import ParseError, UnknownContent
from sdgrad.record.carried import is_value
from sdgrad.record.choices import VALUE, Choice
from sdgrad.record.elementwise import apply, compute, is_weak, kind, loop_types, origin
from sdgrad.record.functions.table import FUNCTIONS, active, array, operand, rule
from sdgrad.record.growth import as_one
from sdgrad.record.guards import uncaught
from sdgrad.record.settling import settle
from sdgrad.record.templates import MATH, MATH_TO_BOOLEAN, MATH_TO_INTEGER
from sdgrad.record.unusable import Unusable
from sdgrad.record.values import RULES, Array, Number, can_be_fixed, holds_recorded, is_recorded

WHOLE, REAL = np.dtype(np.int64), np.dtype(np.float64)


class Range:
    """Stand for ``range`` with bounds that only a run knows."""

    def __init__(self, start: Any, stop: Any, step: int) -> None:
        self.start, self.stop, self.step = start, stop, step

    def __iter__(self) -> Iterator[int]:
        return builtins.iter(builtins.range(*(n.__index__() for n in (self.start, self.stop, self.step))))

    def __len__(self) -> int:
        return len(builtins.range(*(n.__index__() for n in (self.start, self.stop, self.step))))


def range_(*bounds: Any) -> Any:
    """Return a range; one with bounds of the program is recorded by the loop over it."""
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    start, stop = (b[()] if isinstance(b, Array) else b for b in (start, stop))
    if not any(is_recorded(b) for b in (start, stop, step)):
        return builtins.range(start, stop, step)
    return Range(start, stop, step.__index__())


class Paired:
    """Stand for ``zip`` and ``enumerate`` over arrays: the loop over it takes an element of each in a trip."""

    def __init__(self, *parts: Any, strict: bool = False) -> None:
        self.parts, self.strict = parts, strict

    def __iter__(self) -> Iterator[tuple]:
        return builtins.zip(*self.parts, strict=self.strict)


class Reversed:
    """Stand for ``reversed`` of an array or a range."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def __iter__(self) -> Iterator[Any]:
        return builtins.iter([self.of[k] for k in builtins.range(len(self.of) - 1, -1, -1)])


class Count:
    """Stand for the numbers of ``enumerate``."""

    def __init__(self, start: Any) -> None:
        self.start = start

    def __iter__(self) -> Iterator[Any]:
        k = self.start
        while True:
            yield k
            k = k + 1


def enumerate_(values: Any, start: Any = 0) -> Any:
    return Paired(Count(start), values)


def len_(value: Any) -> Any:
    if not isinstance(value, Array):
        return value.count if hasattr(value, "wide_mask") else builtins.len(value)
    if not value.ndim:
        raise TypeError("len() of unsized object")
    return value.shape[0]


def number(value: Any, kind: type) -> Any:
    """Return ``float(value)``, ``int(value)`` and their kin."""
    if not is_recorded(value):
        return kind(value)
    if not is_recorded(value := one(value)):
        return kind(value)
    dtype = {float: REAL, int: WHOLE, complex: np.dtype(complex), bool: np.dtype(bool)}[kind]
    if kind is int and value.expr is not None:
        return value
    text = "{0}"
    if kind is int and value.dtype.kind == "f":
        text = "int64({0})"
        return compute(text, [value], [value.dtype], WHOLE, True)
    return compute(text, [value], [dtype], dtype, kind is not bool)


def one(value: Any) -> Any:
    """Return the number that an array of one element is for Python; other values as they are.

    :raises TypeError: it has more.
    """
    if not isinstance(value, Array):
        return value
    if value.size != 1:
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    return value[(0,) * value.ndim]


def total(values: Any, /, start: Any = 0) -> Any:
    found = start
    if (whole := as_one(active(), values)) is not None:
        return start + np.sum(whole, axis=0)
    for value in values:
        found = found + value
    return found


def extreme(ufunc: np.ufunc, own: Any) -> Any:
    def choose(*values: Any, **kwargs: Any) -> Any:
        given = list(values[0]) if len(values) == 1 else list(values)
        if kwargs.get("key") is not None and given:
            keys = [kwargs["key"](v) for v in given]
            if not all(map(is_value, given)):
                keys = list(map(_known_number, keys))
            if holds_recorded(keys):
                return given_by(ufunc, own, given, keys)
            return given[own(range(len(given)), key=keys.__getitem__)]
        if not holds_recorded(given):
            return own(*([given] if len(values) == 1 else given), **kwargs)  # an iterator has been read
        found = given[0]
        for value in given[1:]:
            found = _first_unless_beaten(ufunc, own, operand(found), operand(value))
        return found

    return choose


def _first_unless_beaten(ufunc: np.ufunc, own: Any, a: Any, b: Any) -> Any:
    """Return what ``max(a, b)`` or ``min(a, b)`` is: the first one where numbers do not compare."""
    if not holds_recorded([a, b]):
        return own(a, b)
    types = loop_types(ufunc, [kind(a), kind(b)])
    if types[0].kind != "f":
        return apply(ufunc, [a, b])
    return compute(f"{own.__name__}({{1}}, {{0}})", [a, b], types[:2], types[2], is_weak(a, b))


def given_by(ufunc: np.ufunc, own: Any, given: list[Any], keys: list[Any]) -> Any:
    """Return the number with the largest or the smallest key: the first of those, as Python's functions do."""
    if not all(isinstance(v, (int, float, np.generic)) or is_recorded(v) for v in given):
        raise ParseError(f"{own.__name__}(key=) of values that only a run knows: use np.argmax or np.argmin")
    is_better = np.greater if ufunc is np.maximum else np.less
    found, best = given[0], keys[0]
    for value, key in zip(given[1:], keys[1:], strict=True):
        chosen = apply(is_better, [operand(key), operand(best)])
        found, best = FUNCTIONS[np.where](chosen, value, found), FUNCTIONS[np.where](chosen, key, best)
    return found


def isinstance_(value: Any, kinds: Any) -> bool:
    """Return what ``isinstance`` says of the value that a recorded one stands for."""
    if isinstance(value, Choice):
        return value.holds(lambda own: isinstance_(own, kinds))
    if isinstance(value, Unusable):
        value.refuse()
    if not is_recorded(value):
        return builtins.isinstance(value, kinds)
    return builtins.issubclass(type_(value), kinds)


def type_(value: Any, *more: Any) -> type:
    """Return what ``type`` says of the value that a recorded one stands for."""
    if isinstance(value, Choice):
        kinds = {type_(value.number if own is VALUE else own) for own in value.options}
        if len(kinds) == 1:
            return kinds.pop()
        raise UnknownContent("the type of one of several objects, which only a run of the program chooses")
    if isinstance(value, Unusable):
        value.refuse()
    if not is_recorded(value):
        return builtins.type(value, *more)
    if isinstance(value, Array) or value.is_array:
        return np.ndarray
    return {"i": int, "f": float, "c": complex, "b": bool}[value.dtype.kind] if value.weak else value.dtype.type


def _known_number(key: Any) -> Any:
    """Return what objects are sorted by; integers that arguments or loops decide are made known."""
    if isinstance(key, (tuple, list)):
        return type(key)(map(_known_number, key)) if not hasattr(key, "_fields") else tuple(map(_known_number, key))
    is_whole = isinstance(key, Number) and key.dtype.kind in "iu" and can_be_fixed(key.origin)
    return key.__index__() if is_whole else key


def ordered(values: Any, /, *, key: Any = None, reverse: bool = False) -> list[Any]:
    """Return what ``sorted`` is: numbers are sorted by the program, other things by keys that are known."""
    parts = list(values)
    keys = parts if key is None else [key(p) for p in parts]
    if not all(map(is_value, parts)):
        keys = list(map(_known_number, keys))
    first = [k[0] if isinstance(k, (tuple, list)) and k else k for k in keys]
    if holds_recorded(keys) and not holds_recorded(first) and len(set(first)) == len(first):
        keys = first  # the first of each tuple decides
    if not holds_recorded(keys):
        places = builtins.sorted(range(len(parts)), key=keys.__getitem__, reverse=reverse)
        return [parts[k] for k in places]
    if not all(map(is_value, [*parts, *keys])):
        settle(active(), origin(*(x for k in keys for x in (k if isinstance(k, (tuple, list)) else (k,)))))
        raise ParseError(
            "sorted by values that only a run knows, of what are no numbers: keep the numbers in arrays, and take "
            "x[np.argsort(keys)] of each"
        )
    if key is not None:
        sign = -1 if reverse else 1  # in both orders, of equal ones the first comes first
        order = np.argsort(np.multiply(array(keys), sign), kind="stable")
        return list(array(parts)[order])
    found = list(np.sort(array(parts)))
    return found[::-1] if reverse else found


def joined(ufunc: np.ufunc, own: Any) -> Any:
    """Return what ``any`` or ``all`` is: of an array, or of what is iterated over."""

    def join(values: Any, /) -> Any:
        if isinstance(values, Array):
            return getattr(values, own.__name__)()
        parts = list(values)
        if not holds_recorded(parts):
            return own(parts)
        return functools.reduce(lambda a, b: apply(ufunc, [a, b]), [operand(p) for p in parts])

    return join


def round_(number: Any, ndigits: Any = None) -> Any:
    if not is_recorded(number):
        return builtins.round(number, ndigits)
    if ndigits is None:
        return compute("int64(rint({0}))", [number], [number.dtype], WHOLE, True)
    return np.round(number, ndigits)


def absolute(value: Any) -> Any:
    return abs(value)


BUILTINS = {
    builtins.range: range_,
    builtins.len: len_,
    builtins.enumerate: enumerate_,
    builtins.zip: Paired,
    builtins.reversed: lambda v: Reversed(v) if isinstance(v, (Array, Range)) else builtins.reversed(v),
    builtins.float: lambda v=0.0: number(v, float),
    builtins.int: lambda v=0, *base: number(v, int) if not base else int(v, *base),
    builtins.bool: lambda v=False: number(v, bool),
    builtins.complex: lambda *v: number(v[0], complex) if len(v) == 1 else v[0] + 1j * v[1] if v else 0j,
    builtins.sum: total,
    builtins.max: extreme(np.maximum, builtins.max),
    builtins.min: extreme(np.minimum, builtins.min),
    builtins.abs: absolute,
    builtins.round: round_,
    builtins.isinstance: isinstance_,
    builtins.type: type_,
    builtins.sorted: ordered,
    builtins.pow: lambda a, b, *m: a**b if not m else builtins.pow(*(x.__index__() for x in (a, b, *m))),
    builtins.divmod: lambda a, b: (a // b, a % b),
    builtins.any: joined(np.logical_or, builtins.any),
    builtins.all: joined(np.logical_and, builtins.all),
}
"""What Python's functions are while a function is recorded."""


def _math(name: str, text: str, dtype: np.dtype) -> None:
    def function(*values: Any) -> Any:
        given = list(map(one, values))
        if not any(map(is_recorded, given)):
            return getattr(math, name)(*given)
        if any(np.dtype(kind(v)).kind == "c" for v in given):
            raise TypeError("must be real number, not complex")
        for error in (ValueError, OverflowError):
            uncaught(active(), error())
        return compute(text, given, [REAL] * len(given), dtype, True)

    rule(getattr(math, name))(function)


for _table, _dtype in ((MATH, REAL), (MATH_TO_INTEGER, WHOLE), (MATH_TO_BOOLEAN, np.dtype(bool))):
    for _name, _text in _table.items():
        if hasattr(math, _name):
            _math(_name, f"int64({_text})" if _dtype is WHOLE else _text, _dtype)


@rule(math.log)
def log(x: Any, *base: Any) -> Any:
    found = apply(np.log, [operand(x)])
    return apply(np.true_divide, [found, apply(np.log, [operand(base[0])])]) if base else found


@rule(math.factorial)
def factorial(n: Any, /) -> Any:
    """Return a factorial: a real number, rounded to an integer, where only a run knows the integer."""
    return _of_integers(math.factorial, "tgamma({0} + 1)", n)


@rule(math.comb)
def comb(n: Any, k: Any, /) -> Any:
    """Return a number of subsets, likewise."""
    text = "tgamma({0} + 1) / tgamma({1} + 1) / tgamma({0} - {1} + 1) if {0} >= {1} else 0"
    return _of_integers(math.comb, text, n, k)


def _of_integers(function: Callable, text: str, *numbers: Any) -> Any:
    """Return Python's integer where the operands can be known, else a real number rounded to an integer."""
    given = list(map(one, numbers))
    if any(isinstance(v, Number) and v.dtype.kind == "f" for v in given):
        raise TypeError("'float' object cannot be interpreted as an integer")
    if all(not isinstance(v, Number) or can_be_fixed(v.origin) for v in given):
        return function(*(v.__index__() for v in given))
    for value in (v for v in given if isinstance(v, Number)):
        error = ValueError(f"{function.__name__}() of a negative integer")
        RULES.require(active(), apply(np.greater_equal, [value, 0]), error)
    return np.rint(compute(text, given, [REAL] * len(given), REAL, True))


@rule(math.hypot)
def hypot(*given: Any) -> Any:
    coordinates = list(map(one, given))
    if len(coordinates) == 1:
        return abs(coordinates[0])
    return functools.reduce(lambda a, b: apply(np.hypot, [a, b], REAL), map(operand, coordinates))


@rule(math.dist)
def dist(p: Any, q: Any, /) -> Any:
    return hypot(*(a - b for a, b in zip(p, q, strict=True)))


@rule(math.prod)
def prod(iterable: Any, /, *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, iterable, start)


@rule(math.fsum)
def fsum(seq: Any, /) -> Any:
    return number(total(seq, 0.0), float)


@rule(math.sumprod) if hasattr(math, "sumprod") else (lambda f: f)
def sumprod(p: Any, q: Any, /) -> Any:
    return total(a * b for a, b in zip(p, q, strict=True))


@rule(math.modf)
def modf(x: Any, /) -> Any:
    return apply(np.modf, [operand(x)], REAL)


@rule(math.isclose)
def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    bound = np.maximum(rel_tol * np.maximum(abs(a), abs(b)), abs_tol)
    return apply(np.logical_or, [np.equal(a, b), abs(a - b) <= bound])
