"""Rotations of ``scipy.spatial.transform`` with recorded numbers: unit quaternions, with the scalar last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require, static
from sdgrad.record.functions.evaluated import Evaluated, frozen, made
from sdgrad.record.functions.polar import unitary
from sdgrad.record.functions.table import array, rule

SMALL = 1e-6  # squares of angles below have a Taylor series; the powers that it leaves out are below rounding
INSTEAD = "write the matrix, as in r.as_matrix(), or the quaternion, r.as_quat(), and compute with it"


@dataclass(frozen=True, eq=False)
class Turn(Evaluated):
    """Hold unit quaternions along the last axis."""

    told = "a Rotation"

    quat: Any

    @property
    def single(self) -> bool:
        return bool(self.quat.ndim == 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.quat.shape[:-1])

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self.quat.shape[0])

    def __getitem__(self, index: Any) -> Turn:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return made(Turn(self.quat[index]))

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, (Turn, Rotation)):
            return NotImplemented
        return made(Turn(normalized(_product(self.quat, turn_of(other).quat))))

    def __rmul__(self, other: Any) -> Any:
        return turn_of(other) * self if isinstance(other, Rotation) else NotImplemented

    def __pow__(self, n: Any, modulus: Any = None) -> Any:
        return from_rotvec(as_rotvec(self) * n)


def turn_of(value: Any) -> Turn:
    """Return a rotation, one of SciPy's too."""
    return value if isinstance(value, Turn) else made(Turn(frozen(value.as_quat())))


def floats(value: Any, extents: tuple[int, ...], name: str) -> Any:
    found: Any = array(value)
    if found.dtype.kind != "f":
        if found.dtype.kind == "c":
            raise ParseError(f"Rotation.{name} of complex numbers is not recorded")
        found = found + 0.0
    if found.shape[-len(extents) :] != extents:
        raise ValueError(f"Expected the last axes of the argument of `{name}` to be {extents}, got {found.shape}.")
    return found


# -- quaternions
def normalized(q: Any) -> Any:
    square = np.sum(q * q, axis=-1, keepdims=True)
    require(np.all(square > 0), "Found zero norm quaternions in `quat`.")
    return q / np.sqrt(square)


def _product(p: Any, q: Any) -> Any:
    u, v, a, b = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    return np.concatenate([a * v + b * u + np.cross(u, v), a * b - np.sum(u * v, axis=-1, keepdims=True)], axis=-1)


def _by_series(square: Any, series: Callable, formula: Callable) -> Any:
    """Return a function of a norm by its square, which has derivatives where it is zero."""
    near = square < SMALL
    return np.where(near, series(np.where(near, square, 0.0)), formula(np.sqrt(np.where(near, 1.0, square))))


# -- made of numbers
@rule(Rotation.from_quat)
def from_quat(quat: Any, *, scalar_first: bool = False) -> Any:
    q = floats(quat, (4,), "from_quat")
    return made(Turn(normalized(np.roll(q, -1, axis=-1) if static(scalar_first) else q)))


@rule(Rotation.from_rotvec)
def from_rotvec(rotvec: Any, degrees: bool = False) -> Any:
    v = floats(rotvec, (3,), "from_rotvec")
    v = np.deg2rad(v) if static(degrees) else v
    square = np.sum(v * v, axis=-1, keepdims=True)
    scale = _by_series(square, lambda s: 0.5 - s / 48 * (1 - s / 80), lambda n: np.sin(0.5 * n) / n)
    real = _by_series(square, lambda s: 1 - s / 8 * (1 - s / 48 * (1 - s / 120)), lambda n: np.cos(0.5 * n))
    return made(Turn(np.concatenate([v * scale, real], axis=-1)))


@rule(Rotation.from_euler)
def from_euler(seq: str, angles: Any, degrees: bool = False) -> Any:
    own = seq.lower()
    if not (0 < len(own) <= 3 and set(own) <= set("xyz") and seq in (own, own.upper())):
        raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}")
    if any(a == b for a, b in zip(own, own[1:], strict=False)):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    given: Any = array(angles)
    given = np.deg2rad(given) if static(degrees) else given + 0.0
    columns = given if given.ndim else given[None]
    if columns.shape[-1] != len(own):
        raise ValueError(f"Expected last dimension of `angles` to be {len(own)}, got {given.shape}")
    found = None
    for k, axis in enumerate(own):
        half = 0.5 * columns[..., k]
        zero = 0.0 * half
        parts = [np.sin(half) if axis == name else zero for name in "xyz"]
        q = np.stack([*parts, np.cos(half)], axis=-1)
        found = q if found is None else _product(found, q) if seq != own else _product(q, found)
    return made(Turn(array(found)))


@rule(Rotation.from_matrix)
def from_matrix(matrix: Any, *, assume_valid: bool = False) -> Any:
    """Take the nearest orthogonal matrix, and the quaternion by its largest component (Markley 2008)."""
    m = floats(matrix, (3, 3), "from_matrix")
    if not static(assume_valid):
        require(np.all(np.linalg.det(m) > 0), "Non-positive determinant (left-handed or null coordinate frame)")
        m = unitary(array(m))
    d = [m[..., k, k] for k in range(3)]
    trace = d[0] + d[1] + d[2]
    choices = np.stack([*d, trace], axis=-1)
    candidates = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = {i: 1 - trace + 2 * d[i], j: m[..., j, i] + m[..., i, j], k: m[..., k, i] + m[..., i, k]}
        candidates.append(np.stack([*(parts[n] for n in range(3)), m[..., k, j] - m[..., j, k]], axis=-1))
    skew = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
    candidates.append(np.stack([*skew, 1 + trace], axis=-1))
    largest = np.argmax(choices, axis=-1)[..., None]
    found = candidates[3]
    for k in range(3):
        found = np.where(largest == k, candidates[k], found)
    return made(Turn(normalized(found)))


@rule(Rotation.identity)
def identity(num: Any = None, *, shape: Any = None) -> Any:
    return turn_of(Rotation.identity(static(num)) if shape is None else Rotation.identity(shape=static(shape)))


@rule(Rotation.from_mrp)
def from_mrp(mrp: Any) -> Any:
    v = floats(mrp, (3,), "from_mrp")
    square = np.sum(v * v, axis=-1, keepdims=True)
    return made(Turn(np.concatenate([2 * v, 1 - square], axis=-1) / (1 + square)))


@rule(Rotation.concatenate)
def concatenate(rotations: Any) -> Any:
    own = [rotations] if isinstance(rotations, (Turn, Rotation)) else list(rotations)
    parts = [turn_of(r).quat for r in own]
    return made(Turn(np.concatenate([q if q.ndim > 1 else q[None] for q in parts])))


# -- numbers of them
def as_quat(r: Turn, canonical: bool = False, *, scalar_first: bool = False) -> Any:
    q = _canonical(r.quat) if static(canonical) else r.quat
    return np.roll(q, 1, axis=-1) if static(scalar_first) else q


def _canonical(q: Any) -> Any:
    """Return the quaternion of two with a positive scalar, or first number that is not zero."""
    x, y, z, w = (q[..., k : k + 1] for k in range(4))
    own = np.where(w != 0, w, np.where(x != 0, x, np.where(y != 0, y, z)))
    return np.where(own < 0, -q, q)


def as_matrix(r: Turn) -> Any:
    x, y, z, w = (r.quat[..., k] for k in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def as_rotvec(r: Turn, degrees: bool = False) -> Any:
    q = _canonical(r.quat)
    v, w = q[..., :3], q[..., 3:]
    square = np.sum(v * v, axis=-1, keepdims=True)
    near = square < SMALL
    w_near = np.where(near, w, 1.0)
    t = np.where(near, square, 0.0) / (w_near * w_near)
    series = 2 / w_near * (1 - t / 3 * (1 - 3 * t / 5 * (1 - 5 * t / 7)))
    n = np.sqrt(np.where(near, 1.0, square))
    found = np.where(near, series, 2 * np.arctan2(n, w) / n) * v
    return np.rad2deg(found) if static(degrees) else found


def as_mrp(r: Turn) -> Any:
    v, w = r.quat[..., :3], r.quat[..., 3:]
    sign = np.where(w < 0, -1.0, 1.0)
    return sign * v / (1.0 + sign * w)


def magnitude(r: Turn) -> Any:
    v, w = r.quat[..., :3], r.quat[..., 3]
    return 2 * np.arctan2(np.linalg.norm(v, axis=-1), np.abs(w))


def inv(r: Turn) -> Any:
    return made(Turn(np.concatenate([-r.quat[..., :3], r.quat[..., 3:]], axis=-1)))


def apply(r: Turn, vectors: Any, inverse: bool = False) -> Any:
    own, matrix = floats(vectors, (3,), "apply"), as_matrix(r)
    matrix = np.swapaxes(matrix, -1, -2) if static(inverse) else matrix
    return np.sum(matrix * own[..., None, :], axis=-1)


METHODS: dict[str, Callable] = {
    "as_quat": as_quat, "as_matrix": as_matrix, "as_rotvec": as_rotvec, "magnitude": magnitude, "inv": inv,
    "apply": apply, "as_mrp": as_mrp,
}  # fmt: skip
Turn.table = METHODS
Turn.instead = dict.fromkeys(("as_davenport", "reduce", "approx_equal"), INSTEAD)


def register(name: str, method: Callable) -> None:
    """Have a method of rotations, of SciPy's too."""
    METHODS[name] = method
    rule(getattr(Rotation, name))(lambda r, *args, **kwargs: method(turn_of(r), *args, **kwargs))


for _name, _method in [*METHODS.items()]:
    register(_name, _method)
