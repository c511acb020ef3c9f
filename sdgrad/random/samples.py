"""Choose among the elements of arrays, and order them by chance: derivatives are those of the elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sdgrad.random.discrete import randint
from sdgrad.random.draws import REAL, WORD, constant, drawn, numbers
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.arguments import require, shape_of, static, static_axis
from sdgrad.record.functions.table import active, array
from sdgrad.record.values import is_recorded
from sdgrad.runtime.libraries.random_numbers import Kind


def _elements(x: Any, axis: Any) -> tuple[Any, int, int]:
    """Return what is chosen from, or None for integers from 0 on, along which axis, and how many there are."""
    if not np.ndim(x):
        return None, 0, static(x)
    whole = array(x) if active() is not None else np.asarray(x)
    d = static_axis(axis, whole.ndim)
    return whole, d, int(whole.shape[d])


def _order(key: Any, n: int) -> Any:
    return np.argsort(drawn(Kind.WORDS, key, (n,), WORD), kind="stable")


@works_inside
def permutation(key: Any, x: Any, axis: Any = 0, independent: bool = False) -> Any:
    """Return the elements of an array along an axis in random order, or the integers below ``x``.

    :param independent: each line along the axis has an order of its own.
    """
    whole, d, n = _elements(x, axis)
    if whole is None:
        return _order(key, n)
    if not independent:
        return np.take(whole, _order(key, n), axis=d)
    words = drawn(Kind.WORDS, key, whole.shape, WORD)
    return np.take_along_axis(whole, np.argsort(words, axis=d, kind="stable"), axis=d)


@works_inside
def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: Any = 0) -> Any:
    """Choose elements of an array along an axis, or integers below ``a``.

    :param replace: an element may be chosen more than once.
    :param p: weights of the elements, which need not sum to 1.
    """
    whole, d, n = _elements(a, axis)
    size = shape_of(shape)
    count = math.prod(size)
    if n < 1 and count:
        raise ValueError("sdgrad.random.choice: there is nothing to choose from")
    if not replace and count > n:
        raise ValueError(f"sdgrad.random.choice: {count} of {n} elements cannot be chosen without replacement")
    if p is None:
        at = randint(key, size, 0, n) if replace else np.reshape(_order(key, n)[:count], size)
    else:
        at = _weighted(key, _weights(p, n), size, replace)
    return at if whole is None else np.take(whole, at, axis=d)


def _weights(p: Any, n: int) -> Any:
    """Return weights as an array without a derivative."""
    given = numbers(p if is_recorded(p) else np.asarray(p), REAL)
    if tuple(given.shape) != (n,):
        raise ValueError(f"sdgrad.random.choice: p has the shape {tuple(given.shape)}, and there are {n} elements")
    require(np.all(given >= 0) & (np.sum(given) > 0), "probabilities are not non-negative")
    return constant(given)


def _weighted(key: Any, p: Any, size: tuple[int, ...], replace: bool) -> Any:
    """Return places by their weights: by the inverse distribution function, or the largest after Gumbel's numbers."""
    if replace:
        sums = np.cumsum(p)
        return np.searchsorted(sums, sums[-1] * (1.0 - drawn(Kind.UNIT, key, size, REAL)))
    count = math.prod(size)
    require(np.sum(p > 0) >= count, "Fewer non-zero entries in p than size")
    scores = np.log(np.where(p > 0, p, 1.0)) + drawn(Kind.GUMBEL, key, p.shape, REAL)
    order = np.argsort(np.where(p > 0, -scores, np.inf), kind="stable")
    return np.reshape(order[:count], size)
