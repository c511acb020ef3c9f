"""Apply measurements of ``scipy.ndimage``: sums, moments and extremes of an image, or of its parts by labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.ndimage as ndimage

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import origin
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.shapes import ravel
from sdgrad.record.functions.table import active, array, fixed, rule
from sdgrad.record.recorder import ONLY_DATA
from sdgrad.record.settling import settle


def _whole(labels: Any, name: str) -> np.ndarray:
    """Return labels that decide what is measured: the program is for these."""
    given = array(labels)
    if (found := fixed(given)) is None:
        settle(active(), origin(given) if given.dtype.kind in "biu" else ONLY_DATA)
        raise ParseError(f"scipy.ndimage.{name}: labels= and index= that only a run knows: sum under masks instead")
    return np.asarray(found)


def _places(labels: Any, index: Any, shape: tuple[int, ...], name: str) -> tuple[Iterator[np.ndarray], Any]:
    """Return the places of each part, in a row, and the shape of the result: None of one number."""
    own = np.broadcast_to(_whole(labels, name), shape).ravel()
    if index is None:
        return iter([np.flatnonzero(own > 0)]), None
    wanted = _whole(index, name)
    parts = (np.flatnonzero(own == i) for i in wanted.ravel())
    return parts, wanted.shape if wanted.ndim else None


def _measured(name: str, of: Callable, missing: float | None, widens: bool) -> Callable:
    """Return the rule of a measurement.

    :param missing: what SciPy says of a label that is nowhere, among several; None of what it cannot say.
    :param widens: measurements of several labels are in double precision.
    """

    def measure(input: Any, labels: Any = None, index: Any = None) -> Any:
        a = array(input)
        if a.dtype.kind == "c":
            raise ParseError(
                f"scipy.ndimage.{name} of complex numbers is not recorded: measure real and imaginary parts"
            )
        if labels is None:
            return of(ravel(a))
        parts, shape = _places(labels, index, tuple(np.shape(a)), name)
        flat = ravel(a)
        if shape is None:
            return of(flat[next(parts)])
        flat = astype(flat, np.float64) if widens else flat
        found = [of(flat[p]) if len(p) else missing for p in parts]
        return np.reshape(array(found), shape)

    return measure


def _mean(x: Any) -> Any:
    """Return the mean: the sum is in the type of the image, the quotient in double precision."""
    return astype(np.sum(x), np.float64) / np.float64(x.size)


def _variance(x: Any) -> Any:
    apart = x - np.mean(x)
    return _mean(apart * apart)


MEASURES: dict[str, tuple[Callable, float, bool]] = {
    "sum": (np.sum, 0.0, True), "sum_labels": (np.sum, 0.0, True), "mean": (_mean, math.nan, True),
    "variance": (_variance, math.nan, True), "standard_deviation": (lambda x: np.sqrt(_variance(x)), math.nan, True),
    "minimum": (np.min, 0.0, False), "maximum": (np.max, 0.0, False), "median": (np.median, 0.0, False),
}  # fmt: skip
for _name, _of in MEASURES.items():
    rule(getattr(ndimage, _name))(_measured(_name, *_of))
_sum = _measured("center_of_mass", *MEASURES["sum"])


@rule(ndimage.center_of_mass)
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    a = array(input)
    whole = _sum(a, labels, index)
    grids = np.ogrid[tuple(slice(0, n) for n in a.shape)]
    found = [_sum(a * g.astype(float), labels, index) / whole for g in grids]
    return tuple(found) if np.ndim(whole) == 0 else [tuple(f[k] for f in found) for k in range(np.shape(whole)[0])]
