"""Draw integers and truth values. They have no derivative, and none by the parameters of their distributions.

A gradient by such a parameter is another function: that of a relaxation (:func:`gumbel_softmax`), or of the logarithm
of the probability of what was drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.random.draws import REAL, WHOLE, WORD, drawn, extents, numbers, real, softmax, taken, whole
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.arguments import require, static_axis
from sdgrad.record.values import is_recorded
from sdgrad.runtime.libraries.random_numbers import Kind


@works_inside
def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
    """Draw truth values that hold with probability ``p``."""
    chance = numbers(p, REAL)
    require(np.all((chance >= 0) & (chance <= 1)), "p < 0, p > 1 or p is NaN")
    return drawn(Kind.UNIT, key, extents(shape, p), np.float64) < chance


@works_inside
def rademacher(key: Any, shape: Any = (), dtype: Any = np.int64) -> Any:
    """Draw 1 and -1 with the same probability."""
    found = np.dtype(dtype)
    own = found if found.kind == "i" else real(found, "rademacher")
    return np.where(drawn(Kind.UNIT, key, extents(shape), np.float64) < 0.5, 1, -1).astype(own)


@works_inside
def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = np.int64) -> Any:
    """Draw integers from ``minval`` on and below ``maxval``, each with the same probability (Lemire 2019)."""
    own = whole(dtype, "randint")
    low, high = _integers(minval), _integers(maxval)
    size = extents(shape, low, high)
    require(np.all(low < high), "low >= high")
    found = drawn(Kind.BELOW, key, size, WORD, high.astype(WORD) - low.astype(WORD))
    return (found.astype(WHOLE) + (low if low.ndim else low[()])).astype(own)


def _integers(value: Any) -> Any:
    """Return integers as an array of 64 bits."""
    kind = value.dtype.kind if is_recorded(value) else np.asarray(value).dtype.kind
    if kind not in "iu":
        raise TypeError(f"bounds of sdgrad.random.randint are integers, not of kind {kind!r}")
    return taken(value, WHOLE)


@works_inside
def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = np.int64) -> Any:
    """Draw from the Poisson distribution: by products, for rates from 10 on by Hoermann's method (1993)."""
    own, rate = whole(dtype, "poisson"), taken(lam, REAL)
    require(np.all((rate >= 0) & (rate <= 9e18)), "lam < 0 or lam is NaN, or too large")
    return drawn(Kind.POISSON, key, extents(shape, lam), WHOLE, rate).astype(own)


@works_inside
def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = np.int64) -> Any:
    """Draw how many of ``n`` trials succeed with probability ``p``: by inversion, or by Hoermann's method (1993)."""
    own, trials, chance = whole(dtype, "binomial"), _integers(n), taken(p, REAL)
    require(np.all(trials >= 0), "n < 0")
    require(np.all((chance >= 0) & (chance <= 1)), "p < 0, p > 1 or p is NaN")
    return drawn(Kind.BINOMIAL, key, extents(shape, n, p), WHOLE, trials, chance).astype(own)


@works_inside
def categorical(key: Any, logits: Any, axis: Any = -1, shape: Any = None) -> Any:
    """Draw places along an axis by logarithms of weights: the largest after Gumbel's numbers are added.

    :param shape: of the results: the shape of ``logits`` without the axis, or one that it fits into.
    """
    scores = _turned(logits, axis)
    size = extents(shape, scores[..., 0])
    return np.argmax(scores + drawn(Kind.GUMBEL, key, (*size, int(scores.shape[-1])), np.float64), axis=-1)


@works_inside
def gumbel_softmax(key: Any, logits: Any, temperature: Any = 1.0, axis: Any = -1) -> Any:
    """Draw weights that are near one place for low temperatures, with derivatives by ``logits``.

    The relaxation of :func:`categorical` by Jang, Gu and Poole 2017 and by Maddison, Mnih and Teh 2017.
    """
    scores = _turned(logits, axis)
    noise = drawn(Kind.GUMBEL, key, scores.shape, scores.dtype)
    found = softmax((scores + noise) / temperature)
    return np.moveaxis(found, -1, static_axis(axis, np.ndim(found)))


def _turned(logits: Any, axis: Any) -> Any:
    """Return real numbers with an axis as the last one."""
    given: Any = logits if is_recorded(logits) else np.asarray(logits)
    if not np.ndim(given):
        raise ValueError("logits have an axis to choose along")
    given = given if given.dtype in (np.float64, np.float32) else given.astype(np.float64)
    return np.moveaxis(given, static_axis(axis, np.ndim(given)), -1)
