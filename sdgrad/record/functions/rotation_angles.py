"""Euler angles of rotations: from half the sum and half the difference of two of them (Bernardes and Viollet 2022)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.rotations import Turn, register
from sdgrad.record.functions.undefined import without_slope_where

LOCK = 1e-7  # SciPy's: how near to an end of its range the second angle is where the others are one


def _axes(seq: str) -> tuple[tuple[int, int, int], bool]:
    """Return the axes as turns about fixed ones have them, and whether the sequence is one of these."""
    if len(seq) != 3:
        raise ValueError(f"Expected 3 axes, got {seq}.")
    if not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}")
    if seq[0] == seq[1] or seq[1] == seq[2]:
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    i, j, k = ("xyz".index(letter) for letter in seq.lower())
    return ((i, j, k), True) if seq.islower() else ((k, j, i), False)


def as_euler(r: Turn, seq: str, degrees: bool = False, *, suppress_warnings: bool = False) -> Any:
    """Record three angles, as SciPy chooses them; where two of them have one axis, they have no derivatives."""
    (i, j, k), extrinsic = _axes(seq)
    symmetric, q = i == k, [r.quat[..., n] for n in range(4)]
    k = 3 - i - j if symmetric else k
    sign = float((i - j) * (j - k) * (k - i) // 2)
    a, b, c, d = q[3], q[i], q[j], q[k] * sign
    if not symmetric:
        a, b, c, d = a - q[j], b + q[k] * sign, c + q[3], d - q[i]
    first, second, third, lock = _angles(a, b, c, d, 1.0 if extrinsic else -1.0)
    if not symmetric:
        second, third = second - 0.5 * math.pi, third * sign
    found = np.stack([first, second, third] if extrinsic else [third, second, first], axis=-1)
    if not extrinsic:  # SciPy leaves zero to the last angle
        found = np.where(lock[..., None], _last_is_zero(first, second, sign, symmetric), found)
    found = found + 2.0 * math.pi * np.where(found < -math.pi, 1.0, np.where(found > math.pi, -1.0, 0.0))
    found = without_slope_where(lock[..., None], found)
    return np.rad2deg(found) if static(degrees) else found


def _last_is_zero(own: Any, second: Any, sign: float, symmetric: bool) -> Any:
    return np.stack([own if symmetric else own * sign, second, 0.0 * own], axis=-1)


def _angles(a: Any, b: Any, c: Any, d: Any, way: float) -> tuple[Any, Any, Any, Any]:
    """Return the angles, and where the first one stands for the third one as well."""
    middle = detached(2.0 * np.arctan2(np.hypot(c, d), np.hypot(a, b)))
    none, half = np.abs(middle) <= LOCK, np.abs(middle - math.pi) <= LOCK
    none_or_half = none | half
    a, b = np.where(half, 1.0, a), np.where(half, 0.0, b)
    c, d = np.where(none, 1.0, c), np.where(none, 0.0, d)
    total, rest = np.arctan2(b, a), np.arctan2(d, c)
    proper = 2.0 * np.arctan2(np.sqrt(c * c + d * d), np.sqrt(a * a + b * b))
    first = np.where(none, 2.0 * total, np.where(half, -way * 2.0 * rest, total - rest))
    return first, np.where(none_or_half, middle, proper), np.where(none_or_half, 0.0, total + rest), none_or_half


register("as_euler", as_euler)
