"""Apply ranks of ``scipy.stats``: they are piecewise constant, as the order of elements is."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.sample_statistics import Outcome, tail
from sdgrad.record.functions.samples import check_nan_policy
from sdgrad.record.functions.table import array, known, rule
from sdgrad.record.functions.undefined import undefined_where

METHODS = ("average", "min", "max", "dense", "ordinal")


@rule(stats.rankdata)
def rankdata(a: Any, method: str = "average", *, axis: Any = None, nan_policy: str = "propagate") -> Any:
    """Return ranks by the places of ties in the sorted elements."""
    if method not in METHODS:
        raise ValueError(f'unknown method "{method}": use one of {METHODS}')
    check_nan_policy(nan_policy, "rankdata", "propagate", "omit")
    x: Any = array(a)
    x, d = (np.ravel(x), 0) if axis is None else (x, static_axis(axis, x.ndim))
    if not x.size:
        return known(np.zeros(x.shape, float if method == "average" else int))
    rows = np.moveaxis(x, d, -1)
    order = np.argsort(rows, axis=-1, kind="stable")
    ranks = np.take_along_axis(_in_order(np.take_along_axis(rows, order, -1), method), np.argsort(order, axis=-1), -1)
    if x.dtype.kind == "f":
        missing = np.isnan(rows)  # behind the others
        if nan_policy == "omit":
            ranks = np.where(missing, rows, ranks)
        else:
            missing = np.any(missing, axis=-1, keepdims=True)
            ranks = undefined_where(missing, ranks, np.sum(rows, axis=-1, keepdims=True))
    return np.moveaxis(ranks, -1, d)


def _in_order(y: Any, method: str) -> Any:
    """Return the ranks of elements that are in order."""
    n = np.shape(y)[-1]
    places = known(np.arange(1, n + 1))
    if method == "ordinal":
        return places + np.zeros_like(y, int)
    edge = np.ones_like(y[..., :1], bool)
    new = np.concatenate([edge, y[..., 1:] != y[..., :-1]], axis=-1)
    if method == "dense":
        return np.cumsum(astype(new, int), axis=-1)
    first = np.maximum.accumulate(np.where(new, places, 0), axis=-1)
    if method == "min":
        return first
    ends = np.concatenate([new[..., 1:], edge], axis=-1)
    last = np.minimum.accumulate(np.where(ends, places, n)[..., ::-1], axis=-1)[..., ::-1]
    return last if method == "max" else 0.5 * (first + last)


@rule(stats.spearmanr)
def spearmanr(
    a: Any, b: Any = None, axis: Any = 0, nan_policy: str = "propagate", alternative: str = "two-sided"
) -> Any:
    if nan_policy == "omit":
        raise ParseError("scipy.stats.spearmanr: nan_policy='omit' is not recorded: select the numbers first")
    check_nan_policy(nan_policy, "spearmanr", "propagate")
    given: list[Any] = [array(v) for v in (a, b) if v is not None]
    given = [np.ravel(v) for v in given] if axis is None else given
    if any(v.ndim > 2 for v in given) or axis not in (None, 0, 1):
        raise ValueError("spearmanr only handles 1-D or 2-D arrays")
    columns = [v[:, None] if v.ndim == 1 else v.T if axis == 1 else v for v in given]
    data = columns[0] if b is None else np.concatenate(columns, axis=1)
    if data.shape[1] < 2:
        raise ValueError("`spearmanr` needs at least 2 variables to compare")
    if data.shape[0] < 3:
        raise ParseError("scipy.stats.spearmanr of two observations is 1 or -1, and is not recorded")
    rs = np.clip(np.corrcoef(rankdata(data, axis=0), rowvar=False), -1.0, 1.0)
    df = data.shape[0] - 2
    t = rs * np.sqrt(np.maximum(df / ((rs + 1.0) * (1.0 - rs)), 0.0))
    found = rs, tail(t, df, alternative)
    return Outcome(*(v[1, 0] for v in found)) if data.shape[1] == 2 else Outcome(*found)


@rule(stats.kruskal)
def kruskal(*samples: Any, nan_policy: str = "propagate", axis: Any = 0, keepdims: bool = False) -> Any:
    """Compare mean ranks of groups (Kruskal & Wallis 1952), with the correction for ties."""
    check_nan_policy(nan_policy, "kruskal", "propagate")
    if keepdims:
        raise ParseError("scipy.stats.kruskal(keepdims=) is not recorded: write np.expand_dims")
    if len(samples) < 2:
        raise ValueError("Need at least two groups in stats.kruskal()")
    given: list[Any] = [array(s) for s in samples]
    rows = [np.ravel(g) if axis is None else np.moveaxis(g, static_axis(axis, g.ndim), -1) for g in given]
    sizes = [np.shape(r)[-1] for r in rows]
    together, n = np.concatenate(rows, axis=-1), sum(sizes)
    ranks = rankdata(together, axis=-1)
    ties = rankdata(together, "max", axis=-1) - rankdata(together, "min", axis=-1) + 1.0
    begins = np.cumsum([0, *sizes])
    sums = (np.sum(ranks[..., b : b + m], axis=-1) ** 2 / m for b, m in zip(begins.tolist(), sizes, strict=False))
    h = (12.0 / (n * (n + 1)) * sum(sums) - 3.0 * (n + 1)) / (1.0 - np.sum(ties**2 - 1.0, axis=-1) / (n**3 - n))
    return Outcome(h, special.chdtrc(len(rows) - 1.0, h))
