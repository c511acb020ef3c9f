"""Apply ``scipy.stats.binned_statistic``: sums and means of values in the bins of their places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.histograms import bins_of, check_edges, edges_of, sums_in_bins
from sdgrad.record.functions.parts import choose_where
from sdgrad.record.functions.shapes import ravel
from sdgrad.record.functions.table import array, rule
from sdgrad.record.values import is_recorded

RECORDED = ("mean", "sum", "count", "std")
RESULT: Any = type(stats.binned_statistic([0.5], [1.0], bins=1))


@rule(stats.binned_statistic)
def binned_statistic(x: Any, values: Any, statistic: Any = "mean", bins: Any = 10, range: Any = None) -> Any:
    if statistic not in RECORDED:
        told = repr(statistic) if isinstance(statistic, str) else "a function"
        raise ParseError(
            f"scipy.stats.binned_statistic: {told} is not recorded: {', '.join(RECORDED)} are; for others take the "
            "elements of each bin by a mask"
        )
    places, given = ravel(x), array(values)
    if given.shape[-1] != places.shape[0]:
        raise AttributeError("The number of `values` elements must match the length of each `sample` dimension.")
    edges = edges_of(places, bins, range[0] if range is not None and np.ndim(range) == 2 else range, False)
    check_edges(edges)
    numbers = _numbers(places, edges)
    dtype = np.dtype(common([given]))
    rows = array(astype(given, dtype if dtype.kind in "fc" else float)).reshape(-1, places.shape[0])
    found = np.stack([_of_bins(row, numbers, len(edges) - 1, statistic) for row in rows])
    return RESULT(found.reshape(*given.shape[:-1], len(edges) - 1), edges, numbers)


def _numbers(places: Any, edges: Any) -> Any:
    """Return bins; places beyond the last edge by what SciPy takes for rounding are in the last one."""
    found = bins_of(places, edges)
    if is_recorded(edges):
        return found
    digits = int(-math.log10(np.min(np.diff(edges)))) + 6
    last = (places >= edges[-1]) & np.equal(np.around(places, digits), np.around(edges[-1], digits))
    return choose_where(last, len(edges) - 1, found)


def _of_bins(row: Any, numbers: Any, count: int, statistic: str) -> Any:
    """Return a statistic of the values in each bin; that of none is NaN, but for sums."""
    how_many = sums_in_bins(np.ones(row.shape), numbers, count, float)
    if statistic == "count":
        return how_many
    whole = sums_in_bins(row, numbers, count, row.dtype)
    if statistic == "sum":
        return whole
    means = whole / how_many
    if statistic == "mean":
        return means
    apart = row - np.concatenate([[0.0], means, [0.0]])[numbers]
    squares = np.real(apart * np.conj(apart))
    return np.sqrt(sums_in_bins(squares, numbers, count, squares.dtype) / how_many)
