"""Series of ``numpy.polynomial``: Vandermonde matrices, derivatives and integrals of all families."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require, several, static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.polynomials import FAMILIES
from sdgrad.record.functions.series_maps import FAMILIES_OF, POWERS, Family, areas, slopes, times
from sdgrad.record.functions.table import FUNCTIONS, array, content, known, rule
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


# -- coefficients of one series
def whole(found: Any, name: str) -> Any:
    """Return factors of which NumPy would leave out zeros at the end: only a run knows whether there are some."""
    own = content(array(found))
    if own is not None:
        return known(without_zeros(own))
    if np.shape(found)[0] > 1:
        told = f"{name}: the last factor is zero, which NumPy would leave out"
        RULES.require(array(found).recorder, array(found)[-1] != 0, ValueError(told))
    return found


def without_zeros(found: Any) -> Any:
    left = np.trim_zeros(np.asarray(found), "b")
    return left if left.size else np.asarray(found)[:1]


def one_series(c: Any, name: str) -> Any:
    """Return the factors of one series in floating-point numbers."""
    given = inexact(c)
    if given.ndim != 1:
        raise ValueError("Coefficient array is not 1-d")
    if not given.size:
        raise ValueError("Coefficient array is empty")
    return array(whole(given, name))


# -- derivatives and integrals
def _scale(scl: Any) -> Any:
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


def _slope(family: Family, c: Any) -> Any:
    n = np.shape(c)[0]
    return c[1:] * _first_axis(np.arange(1, n), c) if family is POWERS else times(slopes(family, n), c)


def _area(family: Family, c: Any, start: Any) -> Any:
    """Return the integral that is zero at a place."""
    n = np.shape(c)[0]
    if family is not POWERS:
        found = times(areas(family, n), c)
        at = FUNCTIONS[family.of("val")](start, found)
        return np.concatenate([(found[0] - at)[None], found[1:]])
    higher = c / _first_axis(np.arange(1, n + 1), c)
    at = np.sum(higher * _first_axis(start ** known(np.arange(1, n + 1)), c), axis=0)
    return np.concatenate([-at[None], higher])


def derivative_of(family: Family, c: Any, m: Any = 1, scl: Any = 1, axis: Any = 0) -> Any:
    found, order = inexact(c), static(m)
    if order < 0:
        raise ValueError("The order of derivation must be non-negative")
    d, dtype = static_axis(axis, found.ndim), found.dtype
    found, factor = np.moveaxis(found, d, 0), _scale(scl)
    if order >= found.shape[0]:
        return np.moveaxis(found[:1] * 0, 0, d)
    for _ in range(order):
        found = _slope(family, found * factor)
    return as_before(np.moveaxis(found, 0, d), dtype)


def integral_of(
    family: Family, c: Any, m: Any = 1, k: Any = (), lbnd: Any = 0, scl: Any = 1, axis: Any = 0
) -> Any:  # fmt: skip
    """Integrate such that the value at ``lbnd`` is the constant of each time."""
    name = family.full("int")
    if is_recorded(m):
        raise ParseError(f"{name}: m= must be known")
    if np.ndim(lbnd):
        raise ValueError("lbnd must be a scalar.")
    found, order, constants = inexact(c), static(m), several(k)
    if order < 0:
        raise ValueError("The order of integration must be non-negative")
    if len(constants) > order:
        raise ValueError("Too many integration constants")
    d, dtype = static_axis(axis, found.ndim), found.dtype
    found, factor = np.moveaxis(found, d, 0), _scale(scl)
    if np.shape(found)[0] == 1 and order:
        require(np.any(found != 0), f"{name}: the series is zero, of which NumPy returns one factor")
    for j in range(order):
        whole_area = as_before(_area(family, found * factor, lbnd), dtype)
        first = whole_area[0] + constants[j] if j < len(constants) else whole_area[0]
        found = as_before(np.concatenate([array(first)[None], whole_area[1:]]), dtype)
    return np.moveaxis(found, 0, d)


for _family in FAMILIES_OF.values():
    rule(_family.of("der"))(functools.partial(derivative_of, _family))
    rule(_family.of("int"))(functools.partial(integral_of, _family))
