"""Rotations between, and nearest to, others: ``Slerp``, means, and ``Rotation.align_vectors``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation, RotationSpline, Slerp

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require, static
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.evaluated import Evaluated, frozen, made
from sdgrad.record.functions.rotations import (
    Turn,
    as_matrix,
    as_rotvec,
    floats,
    from_matrix,
    from_rotvec,
    inv,
    register,
    turn_of,
)  # fmt: skip
from sdgrad.record.functions.table import array, known, rule


def _real(value: Any) -> Any:
    own: Any = array(value)
    return own + 0.0


# -- between two
@dataclass(frozen=True, eq=False)
class Path(Evaluated):
    """Hold times, the rotations at all of them but the last one, and the vectors of the turns between two."""

    told = "a Slerp"

    times: Any
    begin: Any
    turns: Any


def path_at(p: Path, times: Any) -> Any:
    at = _real(times)
    if at.ndim > 1:
        raise ValueError("`times` must be at most 1-dimensional.")
    told = "Interpolation times must be within the range of those given, both inclusive."
    require(np.all((at >= p.times[0]) & (at <= p.times[-1])), told)
    k = np.maximum(np.searchsorted(p.times, at) - 1, 0)
    share = (at - p.times[k]) / (p.times[k + 1] - p.times[k])
    return made(Turn(p.begin[k])) * from_rotvec(p.turns[k] * share[..., None])


Path.table = {"__call__": path_at}


@rule(Slerp)
def slerp(times: Any, rotations: Any) -> Any:
    if not isinstance(rotations, (Turn, Rotation)):
        raise TypeError("`rotations` must be a `Rotation` instance.")
    own, places = turn_of(rotations), _real(times)
    if own.single or len(own) <= 1:
        raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
    if own.quat.ndim > 2:
        raise ValueError("Rotations with more than 1 leading dimension are not supported.")
    if places.shape != own.shape:
        raise ValueError(f"Expected number of rotations to be equal to number of timestamps, got {places.shape}")
    require(np.all(np.diff(places) > 0), "Times must be in strictly increasing order.")
    begin, end = made(Turn(own.quat[:-1])), made(Turn(own.quat[1:]))
    return made(Path(places, begin.quat, as_rotvec(inv(begin) * end)))


@rule(Slerp.__call__)
def slerp_known(p: Any, times: Any) -> Any:
    return path_at(made(Path(frozen(p.times), frozen(p.rotations.as_quat()), frozen(p.rotvecs))), times)


@rule(RotationSpline)
def rotation_spline(times: Any, rotations: Any) -> Any:
    raise ParseError(
        "scipy.spatial.transform.RotationSpline of what only a run knows is not recorded: use Slerp, or a CubicSpline "
        "of rotation vectors"
    )


@rule(RotationSpline.__call__)
def spline_known(p: Any, times: Any, order: int = 0) -> Any:
    raise ParseError("scipy.spatial.transform.RotationSpline is not recorded: use Slerp")


# -- nearest to several
def _largest(matrix: Any) -> tuple[Any, Any]:
    """Return the largest eigenvalue of symmetric matrices, and its vector.

    Two of Newton's steps on ``A v = w v``, ``v v = 1`` leave them where they are, and have their derivatives up to the
    third: those of the other eigenvalues, which may be equal, have no part in them.
    """
    w, v = np.linalg.eigh(detached(matrix))
    value, vector = w[..., -1], v[..., -1]
    for _ in range(2):
        shifted = matrix - value[..., None, None] * known(np.eye(4))
        edge = -vector[..., None]
        above = np.concatenate([shifted, edge], axis=-1)
        below = np.concatenate([np.swapaxes(edge, -1, -2), np.zeros_like(edge[..., :1, :])], axis=-1)
        wrong = np.sum(shifted * vector[..., None, :], axis=-1)
        length = 0.5 * (1.0 - np.sum(vector * vector, axis=-1))
        right = np.concatenate([wrong, length[..., None]], axis=-1)
        step = np.linalg.solve(np.concatenate([above, below], axis=-2), right[..., None])[..., 0]
        vector, value = vector - step[..., :-1], value - step[..., -1]
    return value, vector


def _weights(weights: Any, shape: tuple[int, ...]) -> Any:
    if weights is None:
        return known(np.ones(shape))
    own = _real(weights)
    if own.shape != shape:
        raise ValueError(f"Expected `weights` to have shape {shape}, got {own.shape}")
    require(np.all(own >= 0), "`weights` must be non-negative.")
    return own


def mean(r: Turn, weights: Any = None, axis: Any = None) -> Any:
    if axis is not None:
        raise ParseError("Rotation.mean: axis= is not recorded: take means of parts")
    share = _weights(weights, r.shape)[..., None, None]
    product = np.reshape(share * r.quat[..., :, None] * r.quat[..., None, :], (-1, 4, 4))
    return made(Turn(_largest(np.mean(product, axis=0))[1]))


register("mean", mean)


@rule(Rotation.align_vectors)
def align_vectors(a: Any, b: Any, weights: Any = None, return_sensitivity: bool = False) -> Any:
    """Record the quaternion by Davenport's matrix, and the root of the sum of squares that is left."""
    own, other = floats(a, (3,), "align_vectors"), floats(b, (3,), "align_vectors")
    if own.shape != other.shape:
        raise ValueError(f"Expected inputs `a` and `b` to have same shapes, got {own.shape} and {other.shape}")
    if own.ndim != 2 or own.shape[0] == 1:
        raise ParseError("Rotation.align_vectors of one pair is not recorded: use from_rotvec, or pass two pairs")
    if static(return_sensitivity):
        raise ParseError("Rotation.align_vectors: return_sensitivity=True is not recorded: leave it out")
    share = _weights(weights, own.shape[:1])
    require(np.all(np.isfinite(share)), "Rotation.align_vectors: an infinite weight is not recorded")
    moment = np.swapaxes(share[:, None] * own, 0, 1) @ other
    axis = np.sum(share[:, None] * np.cross(other, own), axis=0)
    inner = moment + np.swapaxes(moment, 0, 1) - np.trace(moment) * known(np.eye(3))
    above = np.concatenate([inner, axis[:, None]], axis=1)
    below = np.concatenate([axis, np.reshape(np.trace(moment), (1,))])
    turn = made(Turn(_largest(np.concatenate([above, below[None]], axis=0))[1]))
    left = own - other @ np.swapaxes(as_matrix(turn), 0, 1)
    squares = np.sum(share[:, None] * left * left)
    rest = np.where(squares > 0, np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
    return from_matrix(as_matrix(turn), assume_valid=True), rest
