"""Continue arrays beyond their ends, by the places that each mode takes there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.record.functions.table import known

Place = Callable[[np.ndarray, int], np.ndarray]


def _mirror(k: np.ndarray, n: int) -> np.ndarray:
    period = max(2 * n - 2, 1)
    return np.minimum(k % period, (-k) % period) if n > 1 else 0 * k


def _reflect(k: np.ndarray, n: int) -> np.ndarray:
    return np.minimum(k % (2 * n), (-1 - k) % (2 * n))


PLACES: dict[str, Place] = {
    "nearest": lambda k, n: np.clip(k, 0, n - 1),
    "mirror": _mirror,
    "reflect": _reflect,
    "grid-mirror": _reflect,
    "wrap": lambda k, n: k % n,
    "grid-wrap": lambda k, n: k % n,
}
"""Which element stands at a place outside, as ``scipy.ndimage`` names them."""
CONSTANT = ("constant", "grid-constant")


def extended(a: Any, axis: int, before: int, after: int, mode: str, value: Any = 0.0) -> Any:
    """Return an array with more elements before and after it along an axis."""
    if not before and not after:
        return a
    n = np.shape(a)[axis]
    places = np.arange(-before, n + after)
    if mode not in CONSTANT:
        return np.take(a, known(PLACES[mode](places, n)), axis=axis)
    widths = [(before, after) if d == axis else (0, 0) for d in range(np.ndim(a))]
    return np.pad(a, widths, constant_values=value)
