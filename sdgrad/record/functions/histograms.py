"""Count elements in bins: histograms of one axis and of several."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import choose_where
from sdgrad.record.functions.shapes import ravel, reshape
from sdgrad.record.functions.table import active, array, fixed, known, operand, rule
from sdgrad.record.values import RULES, Array, is_recorded


# -- edges of bins
def _ends(a: Array, limits: Any) -> tuple[Any, Any]:
    """Return the first and the last edge of bins that divide a range, or that of the elements."""
    if limits is not None:
        first, last = (operand(n) for n in limits)
    elif not a.size:
        return 0.0, 1.0
    else:
        first, last = np.min(a), np.max(a)
    if is_recorded(first) or is_recorded(last):
        same = np.equal(first, last)
        return choose_where(same, first - 0.5, first), choose_where(same, last + 0.5, last)
    if first > last:
        raise ValueError("max must be larger than min in range parameter.")
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    return (first - 0.5, last + 0.5) if first == last else (first, last)


def edges_of(a: Array, bins: Any, limits: Any, of_elements: bool = True) -> Any:
    """Return the edges of bins: given, or at equal distances."""
    if isinstance(bins, str):
        raise ParseError(f"numpy.histogram: bins={bins!r} takes how many bins there are from the data; pass a number")
    if np.ndim(bins) == 0:
        count = static(bins)
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
        first, last = _ends(a, limits)
        wide = common([first, last, a] if of_elements else [first, last, np.zeros(()) if limits is not None else a])
        edges = np.linspace(first, last, count + 1, dtype=wide if wide.kind == "f" else np.dtype(float))
        return edges
    if np.ndim(bins) != 1:
        raise ValueError("`bins` must be 1d, when an array")
    content = fixed(bins)
    if content is None or is_recorded(content) or any(map(is_recorded, content)):
        return array(bins)
    edges = np.asarray(content)
    if np.any(edges[:-1] > edges[1:]):
        raise ValueError("`bins` must increase monotonically, when an array")
    return edges


def check_edges(*edges: Any) -> None:
    """Record that edges increase, which only a run knows of those that are recorded: one check for all of them."""
    conditions = [np.all(np.diff(e) >= 0) for e in edges if is_recorded(e)]
    if conditions:
        told = "the edges of bins must be finite, and increase monotonically"
        RULES.require(active(), functools.reduce(np.logical_and, conditions), ValueError(told))


def bins_of(x: Any, edges: Any) -> Any:
    """Return the bins of elements: 0 before the first edge, the number of edges beyond the last one."""
    places = np.searchsorted(array(edges), x, side="right")
    return choose_where(np.equal(x, edges[-1]), places - 1, places)


def sums_in_bins(values: Any, bins: Any, count: int, dtype: Any) -> Any:
    """Return the sum of the values in each of some bins; those before the first and beyond the last are left out."""
    found = known(np.zeros(count + 2, dtype))
    np.add.at(found, bins, values)
    return found[1:-1]


@rule(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    found = edges_of(ravel(a), bins, range)
    check_edges(found)
    return found


@rule(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    x = ravel(_counted(a))
    edges = edges_of(x, bins, range)
    check_edges(edges)
    w = None if weights is None else array(weights)
    if w is not None and w.shape != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    count = len(edges) - 1
    dtype = np.dtype(np.int64) if w is None else w.dtype
    found = sums_in_bins(1 if w is None else ravel(w), bins_of(x, edges), count, dtype).copy()
    if density:
        return found / astype(np.diff(array(edges)), float, copy=False) / np.sum(found), edges
    return found, edges


def _counted(a: Any) -> Array:
    x = array(a)
    return astype(x, np.uint8) if x.dtype.kind == "b" else x


@rule(np.histogramdd)
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    columns = _columns(sample)
    rank = len(columns)
    each = list(bins) if isinstance(bins, (list, tuple)) or np.ndim(bins) else [bins] * rank
    if len(each) != rank:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    limits = [None] * rank if range is None else list(range)
    if len(limits) != rank:
        raise ValueError("range argument must have one entry per dimension")
    edges = [edges_of(x, b, r, False) for x, b, r in zip(columns, each, limits, strict=True)]
    check_edges(*edges)
    found = _count_together(columns, edges, weights)
    if density:
        total = np.sum(found)
        for d, e in enumerate(edges):
            found = found / reshape(np.diff(array(e)), [-1 if k == d else 1 for k in np.arange(rank)])
        found = found / total
    return found, tuple(edges)


def _columns(sample: Any) -> list[Array]:
    """Return the coordinates of a sample, one array for each."""
    if isinstance(sample, (list, tuple)):
        return [ravel(_counted(x)) for x in sample]
    x = _counted(sample)
    if x.ndim == 1:
        return [x]
    return [x[:, k] for k in np.arange(x.shape[1]).tolist()]


def _count_together(columns: Sequence[Array], edges: Sequence[Any], weights: Any) -> Any:
    """Return how many elements are in each bin of several axes, as real numbers."""
    sizes = [len(e) + 1 for e in edges]
    place: Any = 0
    for x, e, n in zip(columns, edges, sizes, strict=True):
        place = place * n + bins_of(x, e)
    found = known(np.zeros(int(np.prod(sizes))))
    w = None if weights is None else ravel(weights)
    if w is not None and w.dtype.kind == "c":
        raise TypeError("Cannot cast weights from complex to real numbers")
    np.add.at(found, place, 1.0 if w is None else w)
    return reshape(found, sizes)[(slice(1, -1),) * len(sizes)].copy()


@rule(np.histogram2d)
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    each = bins
    if (isinstance(bins, (list, tuple)) or np.ndim(bins)) and len(bins) not in (1, 2):
        each = [bins, bins]
    found, edges = histogramdd([x, y], each, range, density, weights)
    return found, *edges
