"""Interpolate periodic functions."""

from __future__ import annotations

from typing import Any

import numpy as np

import sdgrad.record.functions.statistics  # noqa: F401  (registers the interpolation that this module calls)
from sdgrad.record.functions.joining import concatenate
from sdgrad.record.functions.table import FUNCTIONS, array, operand, rule
from sdgrad.record.values import is_recorded

_within = FUNCTIONS[np.interp]


@rule(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Interpolate between samples; with a period, between those of one and the neighbours of its ends."""
    if period is None:
        return _within(x, xp, fp, left, right)
    whole = np.abs(operand(period))
    if not is_recorded(whole) and whole == 0:  # a recorded one that is zero gives NaN
        raise ValueError("period must be a non-zero value")
    places, values = np.multiply(array(xp), 1.0) % whole, array(fp)
    if places.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if places.shape != values.shape:
        raise ValueError("fp and xp are not of the same length.")
    order = np.argsort(places)
    places, values = places[order], values[order]
    places = concatenate([places[-1:] - whole, places, places[:1] + whole])
    values = concatenate([values[-1:], values, values[:1]])
    return _within(operand(x) % whole, places, values)
