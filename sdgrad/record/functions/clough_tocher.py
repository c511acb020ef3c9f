"""Interpolate scattered data in the plane by cubic patches with continuous slopes (Clough & Tocher 1965).

Slopes at the points minimise the curvature along all edges (Nielson 1983): they are linear in the data, and found
exactly here, where SciPy iterates. Each triangle has control points in its three parts (Farin 1986).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as interpolate
from scipy.spatial import Delaunay

from sdgrad.errors import ParseError
from sdgrad.record.functions import scattered
from sdgrad.record.functions.arguments import constant
from sdgrad.record.functions.evaluated import made
from sdgrad.record.functions.piecewise import over
from sdgrad.record.functions.scattered import Scattered
from sdgrad.record.functions.table import active, array, known, rule

NAME = "CloughTocher2DInterpolator"
ROUGH = 1e-3  # SciPy stops its iteration for slopes early


@dataclass(frozen=True, eq=False)
class Patches(Scattered):
    """Hold points, values, corners of triangles, and the triangle beyond each edge: -1 is none."""

    neighbours: Any = None


def _slopes(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return the matrix that gives slopes, one coordinate after the other, of data."""
    n = len(points)
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    pairs = np.unique(np.sort(edges, axis=1), axis=0)
    left, right = np.zeros((2, n, 2, n)), np.zeros((2, n, n))
    for i, j in pairs:
        e = points[j] - points[i]
        weights = np.outer(e, e) / np.linalg.norm(e) ** 3
        for a, b in ((i, j), (j, i)):
            left[:, a, :, a] += 2.0 * weights
            left[:, a, :, b] += weights
        moved = 3.0 * e / np.linalg.norm(e) ** 3
        for a in (i, j):
            right[:, a, j] += moved
            right[:, a, i] -= moved
    return np.linalg.solve(left.reshape(2 * n, 2 * n), right.reshape(2 * n, n)).reshape(2, n, n)


def _across(points: np.ndarray, corners: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """Return how the slope across each edge of each triangle turns, from the middles of its neighbours."""
    ends = points[corners]
    matrix = np.concatenate([np.swapaxes(ends, 1, 2), np.ones((len(ends), 1, 3))], axis=1)
    middles = np.concatenate([ends.mean(axis=1)[neighbours], np.ones((*neighbours.shape, 1))], axis=2)
    shares = np.linalg.solve(matrix[:, None], middles[..., None])[..., 0]  # triangle, edge, corner
    found = np.full(neighbours.shape, -0.5)
    for k in range(3):
        first, last = shares[:, k, (k + 1) % 3], shares[:, k, (k + 2) % 3]
        inner = neighbours[:, k] >= 0
        found[inner, k] = ((2 * last + first - 1) / (2 - 3 * last - 3 * first))[inner]
    return found


def _controls(s: Patches) -> dict[tuple[int, int, int, int], Any]:
    """Return the control points of all triangles, by the powers of their coordinates; the last one is of the middle."""
    points, corners = s.points, s.corners
    slopes = np.tensordot(known(_slopes(points, corners)), s.values, 1)
    turn, rank = _across(points, corners, s.neighbours), np.ndim(s.values) - 1
    at = [known(np.ascontiguousarray(corners[:, k])) for k in range(3)]
    c: dict[tuple[int, int, int, int], Any] = {}
    for k in range(3):
        c[_powers({k: 3})] = s.values[at[k]]
        for j in ((k + 1) % 3, (k + 2) % 3):
            edge = points[corners[:, j]] - points[corners[:, k]]
            along = sum(over(known(edge[:, d]), rank) * slopes[d][at[k]] for d in range(2))
            c[_powers({k: 2, j: 1})] = s.values[at[k]] + along / 3.0
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        c[_powers({k: 2, 3: 1})] = (c[_powers({k: 2, i: 1})] + c[_powers({k: 2, j: 1})] + c[_powers({k: 3})]) / 3.0
    for k in range(3):  # across the edge that is opposite to a corner
        i, j = (k + 1) % 3, (k + 2) % 3
        ends = c[_powers({i: 3})], c[_powers({i: 2, j: 1})], c[_powers({i: 1, j: 2})], c[_powers({j: 3})]
        bend = over(known(turn[:, k]), rank) * (ends[3] - ends[0] + 3.0 * (ends[1] - ends[2]))
        beside = c[_powers({i: 2, 3: 1})] + c[_powers({j: 2, 3: 1})]
        c[_powers({i: 1, j: 1, 3: 1})] = (bend - ends[0] + 2.0 * ends[1] - ends[2] + beside) / 2.0
    for k in range(3):
        around = (c[_powers({k: 1, j: 1, 3: 1})] for j in range(3) if j != k)
        c[_powers({k: 1, 3: 2})] = (sum(around) + c[_powers({k: 2, 3: 1})]) / 3.0
    c[_powers({3: 3})] = sum(c[_powers({k: 1, 3: 2})] for k in range(3)) / 3.0
    return c


def _powers(of: dict[int, int]) -> tuple[int, int, int, int]:
    return (of.get(0, 0), of.get(1, 0), of.get(2, 0), of.get(3, 0))


def patches_at(s: Patches, *args: Any) -> Any:
    places = scattered.rows(args, 2, NAME)
    own, shares, inside = scattered.located(s, array(np.reshape(places, (-1, 2))))
    rank, least = np.ndim(s.values) - 1, np.min(shares, axis=1)
    b = [*(shares[:, k] - least for k in range(3)), 3.0 * least]
    found: Any = 0.0
    for powers, control in _controls(s).items():
        factor: Any = {3: 1.0, 2: 3.0, 1: 6.0}[max(powers)]
        for coordinate, times in zip(b, powers, strict=True):
            for _ in range(times):
                factor = factor * coordinate
        found = found + over(factor, rank) * control[own]
    active().hints.rough = ROUGH
    found = np.where(over(inside, rank), found, s.fill)
    return np.reshape(found, (*places.shape[:-1], *np.shape(s.values)[1:]))


Patches.table = {"__call__": patches_at}


@rule(interpolate.CloughTocher2DInterpolator)
def clough_tocher(
    points: Any, values: Any, fill_value: Any = np.nan, tol: Any = 1e-6, maxiter: Any = 400, rescale: bool = False
) -> Patches:
    places, data = scattered.given(points, values, rescale, NAME)
    told = f"scipy.interpolate.{NAME}: points must be known when recording; RBFInterpolator takes recorded"
    own = constant(places, told)
    if own.shape[1] != 2:
        raise ParseError(f"scipy.interpolate.{NAME}: points have two coordinates; use RBFInterpolator for others")
    triangles = Delaunay(own)
    return made(Patches(own, data, triangles.simplices, fill_value, triangles.neighbors))


def _of_known(s: Any, values: Any) -> Patches:
    return made(Patches(s.points, values, s.tri.simplices, s.fill_value, s.tri.neighbors))


scattered.GRIDDED["cubic"] = lambda points, values, fill, rescale: clough_tocher(points, values, fill, rescale=rescale)
scattered.OF_KNOWN[interpolate.CloughTocher2DInterpolator] = _of_known
