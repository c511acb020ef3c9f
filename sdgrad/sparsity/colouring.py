"""Colour the columns of a sparse matrix: columns of one colour share no row, so that one direction serves them all.

(A. Curtis, M. Powell and J. Reid, On the estimation of sparse Jacobian matrices, 1974.)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

LARGEST_PERIOD = 64
MOST_OFFSETS = 2000


def colour_columns(pattern: sp.csr_matrix, shape: Sequence[int]) -> np.ndarray:
    """Return a colour for each column; columns of one colour have no row in common.

    :param shape: of the array whose elements the columns are: where the pattern is that of a stencil, colours repeat
        periodically along its axes. Other patterns are coloured one column after another, the fullest first.
    """
    found = _periodic(pattern, tuple(shape))
    return found if found is not None else _greedy(pattern)


def _periodic(pattern: sp.csr_matrix, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return colours ``sum(a[k] * index[k]) mod p`` of the smallest period that is right; None if there is none."""
    least = int(np.diff(pattern.indptr).max(initial=1))
    offsets = _offsets(pattern, shape)
    if offsets is None:
        return None
    index = np.unravel_index(np.arange(pattern.shape[1]), shape) if shape else (np.zeros(1, int),)
    for period in range(max(least, 1), LARGEST_PERIOD + 1):
        for factors in itertools.product(range(period), repeat=len(index)):
            if not offsets.size or np.all((offsets @ np.array(factors)) % period):
                return np.sum([f * i for f, i in zip(factors, index, strict=True)], axis=0) % period
        if period ** len(index) > 1_000_000:
            return None
    return None


def _offsets(pattern: sp.csr_matrix, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the distances, axis by axis, of columns that share a row; None if there are too many."""
    width = np.diff(pattern.indptr)
    if not pattern.nnz or width.max() > 100:
        return np.zeros((0, max(len(shape), 1)), int) if not pattern.nnz else None
    index = np.unravel_index(pattern.indices, shape) if shape else (pattern.indices,)
    found: set[tuple[int, ...]] = set()
    starts = pattern.indptr[:-1]
    for d in range(1, int(width.max())):
        for first in range(int(width.max()) - d):
            rows = width > first + d
            a, b = starts[rows] + first, starts[rows] + first + d
            found |= _distinct([i[b] - i[a] for i in index])
            if len(found) > MOST_OFFSETS:
                return None
    return np.array(sorted(found), int).reshape(-1, len(index))


def _distinct(columns: Sequence[np.ndarray]) -> set[tuple[int, ...]]:
    """Return each different row of a table, given by columns, once."""
    changes = np.ones(len(columns[0]), bool)
    changes[1:] = np.any([c[1:] != c[:-1] for c in columns], axis=0)
    rows = [c[changes] for c in columns]
    if len(rows[0]) > MOST_OFFSETS:
        rows = list(np.unique(np.stack(rows), axis=1))
    return set(zip(*(r.tolist() for r in rows), strict=True))


def _greedy(pattern: sp.csr_matrix) -> np.ndarray:
    """Give each column the first colour that no column with a common row has, the fullest columns first."""
    rows_of = pattern.tocsc()
    used: list[set[int]] = [set() for _ in range(pattern.shape[0])]
    colours = np.zeros(pattern.shape[1], int)
    for column in np.argsort(-np.diff(rows_of.indptr), kind="stable"):
        rows = rows_of.indices[rows_of.indptr[column] : rows_of.indptr[column + 1]]
        taken = set().union(*(used[r] for r in rows)) if rows.size else set()
        colour = next(c for c in itertools.count() if c not in taken)
        colours[column] = colour
        for r in rows:
            used[r].add(colour)
    return colours
