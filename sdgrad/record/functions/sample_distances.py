"""Apply distances between samples of ``scipy.stats``: integrals of the difference of their distribution functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as stats

from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.table import array, known, rule


def _sample(values: Any, weights: Any) -> tuple[Any, Any]:
    """Return a sample in ascending order, and the share of it that lies below each element, from 0 to 1."""
    x = astype(array(values), np.float64)
    if x.ndim != 1 or not x.size:
        raise ValueError("Distribution can't be empty." if x.ndim == 1 else "a sample has one axis")
    order = np.argsort(x)
    if weights is None:
        return x[order], known(np.arange(x.size + 1.0) / x.size)
    w = astype(array(weights), np.float64)
    if w.shape != x.shape:
        raise ValueError("Value and weight array-likes for the same empirical distribution must be of the same size.")
    require(np.all(w >= 0), "All weights must be non-negative.")
    total = np.sum(w)
    require((total > 0) & (total < np.inf), "Weight array-like sum must be positive and finite.")
    below = np.concatenate([np.zeros(1), np.cumsum(w[order])])
    return x[order], below / below[-1]


def _steps(u: Any, v: Any, u_weights: Any, v_weights: Any) -> tuple[Any, Any]:
    """Return the differences of two distribution functions, and how far each one reaches."""
    samples = _sample(u, u_weights), _sample(v, v_weights)
    joined = np.sort(np.concatenate([x for x, _ in samples]))
    first, second = (below[np.searchsorted(x, joined[:-1], "right")] for x, below in samples)
    return first - second, np.diff(joined)


@rule(stats.wasserstein_distance)
def wasserstein_distance(u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None) -> Any:
    difference, width = _steps(u_values, v_values, u_weights, v_weights)
    return np.sum(np.abs(difference) * width)


@rule(stats.energy_distance)
def energy_distance(u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None) -> Any:
    difference, width = _steps(u_values, v_values, u_weights, v_weights)
    return np.sqrt(2.0) * np.sqrt(np.sum(difference**2 * width))
