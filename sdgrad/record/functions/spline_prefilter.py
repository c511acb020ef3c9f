"""Compute the coefficients of splines through the elements of images (Unser 1999): a recursion there and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.ndimage as ndimage

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.filters import recursive
from sdgrad.record.functions.image_filters import checked_mode, image
from sdgrad.record.functions.table import array, known, rule

POLES = {2: (math.sqrt(8.0) - 3.0,), 3: (math.sqrt(3.0) - 2.0,)}
KINDS = {
    **dict.fromkeys(("constant", "grid-constant", "mirror", "wrap"), "mirror"),
    **dict.fromkeys(("nearest", "reflect", "grid-mirror"), "reflect"),
    "grid-wrap": "wrap",
}  # fmt: skip


def _first(kind: str, z: float, n: int) -> np.ndarray:
    """Return the factors of the data in the first value of the recursion."""
    k = np.arange(n)
    if kind == "mirror":
        found = z**k + z ** (2 * n - 2.0 - k)
        found[0], found[-1] = 1.0, z ** (n - 1)
        return found / (1.0 - z ** (2 * n - 2))
    if kind == "reflect":  # as SciPy: the last term has the sum so far for the first value, which matters for few
        found = z**k + z**n * z ** (n - 1.0 - k)
        found[0] -= z ** (2 * n - 1)
        found[-1] -= z ** (n - 1)
        found = found * (1.0 + z ** (2 * n - 1))
        found[-1] += z ** (n - 1)
        found *= z / (1.0 - z ** (2 * n))
        found[0] += 1.0
        return found
    return np.concatenate([[1.0], z ** (n - k[1:])]) / (1.0 - z**n)


def _last(kind: str, z: float, n: int) -> np.ndarray:
    """Return the factors of the recursion's values in the last one of that back."""
    found = np.zeros(n)
    if kind == "mirror":
        found[-2:] = z * z / (z * z - 1.0), z / (z * z - 1.0)
    elif kind == "reflect":
        found[-1] = z / (z - 1.0)
    else:
        found = np.concatenate([z ** (np.arange(n - 1) + 1.0), [1.0]]) * z / (z**n - 1.0)
    return found


def prefiltered(a: Any, axis: int, order: int, mode: str) -> Any:
    """Return the coefficients of the spline through an array's elements along an axis."""
    n = np.shape(a)[axis]
    if order < 2 or n == 1:
        return a
    if order not in POLES:
        raise ParseError(f"scipy.ndimage: splines of order {order} are not recorded: use 0, 1, 2 or 3")
    last = np.moveaxis(a, axis, -1)
    rows, kind = np.reshape(last, (-1, n)), KINDS[checked_mode(mode)]
    for z in POLES[order]:
        step = known(np.array([1.0, -z]))
        rows = rows * ((1.0 - z) * (1.0 - 1.0 / z))
        there = recursive(np.concatenate([(rows @ known(_first(kind, z, n)))[:, None], rows[:, 1:]], axis=1), step)
        end = (there @ known(_last(kind, z, n)))[:, None]
        back = np.concatenate([end, -z * there[:, -2::-1]], axis=1)
        rows = recursive(back, step)[:, ::-1]
    return np.moveaxis(np.reshape(rows, np.shape(last)), -1, axis)


def double(a: Any) -> Any:
    """Return an array in double precision."""
    return array(astype(a, np.result_type(a.dtype, np.float64), copy=False))


def _isdouble(output: Any) -> bool:
    return output is np.float64 or output is float or output is None


@rule(ndimage.spline_filter1d)
def spline_filter1d(input: Any, order: Any = 3, axis: Any = -1, output: Any = np.float64, mode: Any = "mirror") -> Any:
    a = image(input, "spline_filter1d", None if _isdouble(output) else output)
    return prefiltered(double(a), static_axis(axis, a.ndim), static(order), mode)


@rule(ndimage.spline_filter)
def spline_filter(input: Any, order: Any = 3, output: Any = np.float64, mode: Any = "mirror") -> Any:
    found = double(image(input, "spline_filter", None if _isdouble(output) else output))
    for d in range(found.ndim):
        found = prefiltered(found, d, static(order), mode)
    return found
