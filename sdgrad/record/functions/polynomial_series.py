"""Series of ``numpy.polynomial``: Vandermonde matrices of all families; sums, products and integrals of powers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.polynomial.polynomial as powers

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import several, static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.polynomials import FAMILIES
from sdgrad.record.functions.table import array, content, known, rule
from sdgrad.record.values import RULES, is_recorded


def inexact(value: Any) -> Any:
    a = np.atleast_1d(array(value))
    if a.dtype.kind in "fc":
        return a
    found = content(array(a))
    return array(astype(array(a), float)) if found is None else known(found.astype(float))


# -- matrices of all polynomials at places
def vander_of(value: Any, x: Any, deg: Any) -> Any:
    """Return the values of the polynomials of one family, up to a degree."""
    degree, places, step = static(deg), inexact(x) + 0.0, FAMILIES[value]
    if degree < 0:
        raise ValueError("deg must be non-negative")
    columns = [np.ones_like(places)]
    for k in range(degree):
        factor, before = step(k, places)
        columns.append(factor * columns[k] - (before * columns[k - 1] if k else 0))
    return np.stack(columns, axis=-1)


for _value in FAMILIES:
    _name = _value.__name__.replace("val", "vander")
    _module = __import__(_value.__module__, fromlist=[_name])
    rule(getattr(_module, _name))(lambda x, deg, own=_value: vander_of(own, x, deg))


# -- arithmetic with the factors of powers
def _whole(found: Any, name: str) -> Any:
    """Return factors of which NumPy would leave out zeros at the end: only a run knows whether there are some."""
    if is_recorded(found) and np.shape(found)[0] > 1:
        told = f"numpy.polynomial.polynomial.{name}: the last factor is zero, which NumPy would leave out"
        RULES.require(array(found).recorder, array(found)[-1] != 0, ValueError(told))
    return found


def _series(name: str, c1: Any, c2: Any) -> list[Any]:
    given = [inexact(c) for c in (c1, c2)]
    if any(g.ndim != 1 or not g.size for g in given):
        raise ValueError("Coefficient array is not 1-d, or empty")
    return [_whole(g, name) for g in given]


def _summed(c1: Any, c2: Any, sign: int, name: str) -> Any:
    first, second = _series(name, c1, c2)
    size = max(np.shape(first)[0], np.shape(second)[0])
    first, second = (np.pad(c, (0, size - np.shape(c)[0])) for c in (first, second))
    return _whole(first + second if sign > 0 else first - second, name)


@rule(powers.polyadd)
def polyadd(c1: Any, c2: Any) -> Any:
    return _summed(c1, c2, 1, "polyadd")


@rule(powers.polysub)
def polysub(c1: Any, c2: Any) -> Any:
    return _summed(c1, c2, -1, "polysub")


@rule(powers.polymul)
def polymul(c1: Any, c2: Any) -> Any:
    return np.convolve(*_series("polymul", c1, c2))


def _scale(scl: Any, name: str) -> Any:
    if np.ndim(scl):
        raise ValueError("scl must be a scalar.")
    return scl


def as_before(found: Any, dtype: Any) -> Any:
    """Return factors in the precision of those that they are of: NumPy writes them into memory of that type."""
    return astype(found, dtype, copy=False) if found.dtype.kind == dtype.kind else found


def _first_axis(numbers: Any, like: Any) -> Any:
    """Return real numbers along the first axis of an array, in its precision."""
    column = np.reshape(array(numbers), (-1, *[1] * (np.ndim(like) - 1)))
    return column if column.dtype.kind == "c" else astype(array(column), np.finfo(like.dtype).dtype, copy=False)


@rule(powers.polyder)
def polyder(c: Any, m: Any = 1, scl: Any = 1, axis: Any = 0) -> Any:
    found, times = inexact(c), static(m)
    if times < 0:
        raise ValueError("The order of derivation must be non-negative")
    d, dtype = static_axis(axis, found.ndim), found.dtype
    found, factor = np.moveaxis(found, d, 0), _scale(scl, "polyder")
    if times >= found.shape[0]:
        return np.moveaxis(found[:1] * 0, 0, d)
    for _ in range(times):
        n = np.shape(found)[0]
        found = found[1:] * factor * _first_axis(np.arange(1, n), found)
    return as_before(np.moveaxis(found, 0, d), dtype)


@rule(powers.polyint)
def polyint(c: Any, m: Any = 1, k: Any = (), lbnd: Any = 0, scl: Any = 1, axis: Any = 0) -> Any:
    """Integrate such that the value at ``lbnd`` is the constant of each time."""
    found, times = inexact(c), static(m)
    constants = several(k)
    if times < 0:
        raise ValueError("The order of integration must be non-negative")
    if len(constants) > times:
        raise ValueError("Too many integration constants")
    if np.ndim(lbnd) or is_recorded(m):
        raise ParseError("numpy.polynomial.polynomial.polyint: lbnd= must be a number, and m= must be known")
    d, dtype = static_axis(axis, found.ndim), found.dtype
    found, factor = np.moveaxis(found, d, 0), _scale(scl, "polyint")
    for j in range(times):
        n = np.shape(found)[0]
        higher = found * factor / _first_axis(np.arange(1, n + 1), found)
        at = np.sum(higher * _first_axis(lbnd ** known(np.arange(1, n + 1)), found), axis=0)
        first = (constants[j] if j < len(constants) else 0) - at
        found = np.concatenate([first[None], higher])
    return as_before(np.moveaxis(found, 0, d), dtype)
