"""Functions of the elements that a mask selects: by element, along other axes, products, orders, and places.

What is computed of elements that the mask leaves out is never used. They are filled with a number at which functions
are smooth, so that they contribute nothing to a derivative either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special

from sdgrad.record.elements import bounds
from sdgrad.record.functions.table import FUNCTIONS, array, known
from sdgrad.record.functions.undefined import undefined_where
from sdgrad.record.selected import CALLED, Places, Selected, filled, reduced, same_mask, together, unknown
from sdgrad.record.values import RULES, Array

BY_ELEMENT = {
    np.where, np.clip, np.round, np.around, np.nan_to_num, np.real, np.imag, np.angle, np.sinc, np.fix, np.isclose,
    np.zeros_like, np.ones_like, np.full_like, np.copy, np.i0, np.isreal, np.real_if_close,
}  # fmt: skip
OF_THEIR_OWN: set[Callable] = set()
"""Functions whose rules take selected elements."""
ALONG = {
    np.sum, np.prod, np.mean, np.var, np.std, np.any, np.all, np.max, np.min, np.amax, np.amin, np.ptp, np.median,
    np.sort, np.argsort, np.cumsum, np.cumprod, np.argmax, np.argmin, np.linalg.norm, np.diff, np.flip, np.quantile,
    np.percentile, np.average, scipy.special.logsumexp, scipy.special.softmax, scipy.special.log_softmax,
}  # fmt: skip
"""Functions along an axis of what selected rows are."""


def by_element(rule: Callable, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what the rule of a function gives of each selected element."""
    full, mask = together([*args, *kwargs.values()])
    own = dict(zip(kwargs, full[len(args) :], strict=True))
    return Selected(array(rule(*full[: len(args)], **own)), mask)


def along_rows(function: Callable, a: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return a function along an axis of selected rows; None if it goes over the rows."""
    axis = kwargs.get("axis")
    if not isinstance(a, Selected) or a.mask.ndim != 1 or type(axis) is not int or not axis % a.full.ndim:
        return None
    if any(isinstance(x, Selected) for x in (*args, *kwargs.values())):
        return None
    return Selected(array(FUNCTIONS[function](filled(a, 1), *args, **kwargs)), a.mask)


# -- orders
def _not_numbers(a: Selected) -> tuple[Any, Any]:
    """Return all elements with NaN for those that are left out, and whether a selected one is NaN itself."""
    real = a.full if a.dtype.kind == "f" else a.full.astype(float)
    wide = a.wide_mask()
    return np.where(wide, real, np.nan), np.any(np.logical_and(np.isnan(real), wide))


def _middle(of: Callable) -> Callable:
    def ordered(a: Any, *args: Any, axis: Any = None, **kwargs: Any) -> Any:
        if not isinstance(a, Selected) or a.full.ndim != a.mask.ndim or axis not in (None, 0):
            raise unknown(f"numpy.{of.__name__.removeprefix('nan')} along an axis")
        full, missing = _not_numbers(a)
        nothing = np.logical_or(missing, np.equal(a.count, 0))
        return undefined_where(nothing, of(full, *args, **kwargs), np.sum(a.full))

    return ordered


def _place(of: Callable) -> Callable:
    def find(a: Any, axis: Any = None) -> Any:
        if not isinstance(a, Selected) or a.full.ndim != a.mask.ndim or axis not in (None, 0):
            raise unknown(f"numpy.{of.__name__} along an axis")
        least, most = bounds(a.dtype)
        RULES.require(
            a.recorder, np.greater(a.count, 0), ValueError(f"attempt to get {of.__name__} of an empty sequence")
        )
        place = of(filled(a, least if of is np.argmax else most))
        return np.sum(np.where(np.arange(a.full.size) < place, np.ravel(a.mask), False))

    return find


def first_ones(a: Selected, k: int) -> Any:
    """Return a selected element by its number among them."""
    flat = np.ravel(a.mask)
    told = IndexError(f"index {k} is out of bounds for the elements that a mask selects")
    number = a.count + k if k < 0 else k
    RULES.require(a.recorder, np.logical_and(np.less(number, a.count), np.greater_equal(number, 0)), told)
    place = np.argmax(np.equal(np.cumsum(flat), number + 1))
    rest = a.full.shape[a.mask.ndim :]
    return np.reshape(a.full, (flat.shape[0], *rest))[place]


def part(a: Selected, index: Any) -> Any:
    """Return what an index takes of selected elements."""
    truths = isinstance(index, Selected) and index.dtype.kind == "b" and index.full.ndim == index.mask.ndim
    if truths and same_mask(a.mask, index.mask):
        return Selected(a.full, np.logical_and(a.mask, index.full))
    if type(index) is int:
        return first_ones(a, index)
    if type(index) is tuple and index and index[0] == slice(None) and not any(_is_mask(p) for p in index):
        return Selected(array(view_of(a, index[1:])), a.mask)
    raise unknown("an index")


def _is_mask(p: Any) -> bool:
    return isinstance(p, (Array, Selected, np.ndarray, list))


def view_of(a: Selected, rest: tuple) -> Any:
    return a.full[(slice(None),) * a.mask.ndim + rest]


# -- products
def averaged(a: Any, axis: Any = None, weights: Any = None) -> Any:
    """Return the mean of selected elements, with weights."""
    if weights is None:
        return reduced(np.mean, a, axis)
    if axis not in (None, 0) or not isinstance(a, Selected) or a.full.ndim != a.mask.ndim:
        raise unknown("numpy.average along an axis")
    return reduced(np.sum, RULES.ufunc(np.multiply, "__call__", (a, weights), {})) / reduced(np.sum, weights)


def spread(a: Any, axis: Any = None) -> Any:
    return reduced(np.max, a, axis) - reduced(np.min, a, axis)


def logsumexp(a: Any, axis: Any = None) -> Any:
    """Return the logarithm of the sum of exponentials of selected elements."""
    if not isinstance(a, Selected) or a.full.ndim != a.mask.ndim or axis not in (None, 0, -1):
        raise unknown("scipy.special.logsumexp along an axis")
    return FUNCTIONS[scipy.special.logsumexp](filled(a, -np.inf))


def softmax(a: Any, axis: Any = None) -> Any:
    if not isinstance(a, Selected) or a.full.ndim != a.mask.ndim or axis not in (None, 0, -1):
        raise unknown("scipy.special.softmax along an axis")
    return Selected(FUNCTIONS[scipy.special.softmax](filled(a, -np.inf)), a.mask)


OTHERS: dict[Any, Callable] = {
    np.median: _middle(np.nanmedian), np.quantile: _middle(np.nanquantile), np.percentile: _middle(np.nanpercentile),
    np.argmax: _place(np.argmax), np.argmin: _place(np.argmin), np.average: averaged, np.ptp: spread,
    scipy.special.logsumexp: logsumexp, scipy.special.softmax: softmax, np.ndim: lambda a: a.ndim,
    np.shape: lambda a: a.shape, np.iscomplexobj: lambda a: a.dtype.kind == "c",
}  # fmt: skip


def called(function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return a function of selected elements; NotImplemented if there is none."""
    if function in OF_THEIR_OWN:
        return FUNCTIONS[function](*args, **kwargs)
    if function in BY_ELEMENT or isinstance(function, np.ufunc) and function.signature is None:
        return by_element(FUNCTIONS[function], args, kwargs)
    if function in ALONG and (found := along_rows(function, args[0], args[1:], kwargs)) is not None:
        return found
    return OTHERS[function](*args, **kwargs) if function in OTHERS else NotImplemented


CALLED.append(called)


# -- places
def places(condition: Array) -> tuple[Any, ...]:
    """Return what ``np.nonzero`` gives of a mask that only a run knows: indices for each axis."""
    mask: Any = condition if condition.dtype.kind == "b" else np.not_equal(condition, 0)
    grid = np.indices(mask.shape)
    return tuple(Places(known(grid[d]), mask, d) for d in range(mask.ndim))


RULES.places, RULES.part = places, part
