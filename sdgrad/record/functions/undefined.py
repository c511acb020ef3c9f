"""What is not a number because of its inputs: NaN there, and NaN as the derivative by them."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import replace
from typing import Any

import numpy as np

from sdgrad.record.elementwise import common, compute
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.table import operand
from sdgrad.record.values import Array, is_recorded


def undefined_where(wrong: Any, found: Any, *inputs: Any) -> Any:
    """Return values, NaN where a condition holds: a constant there would have the derivative zero by the inputs.

    :param inputs: numbers and arrays that decide the condition, of which those that are recorded have derivatives.
    """
    deciding = [x for x in inputs if is_recorded(x)]
    if not deciding:
        return np.where(wrong, math.nan, found)
    dtype = common([operand(found)])
    slope = np.where(wrong, math.nan, 0.0)  # zero elsewhere: the branch that is not chosen has a derivative as well
    anything = astype(slope, dtype.type().real.dtype) * functools.reduce(operator.add, deciding)
    return np.where(wrong, astype(anything, dtype), found)


def without_slope_where(wrong: Any, found: Any) -> Any:
    """Return real values as they are, of which the derivative is no number where a condition holds."""
    dtype = common([operand(found)])
    return compute("sdgrad_smooth_if({0}, {1})", [found, np.where(wrong, 0.0, 1.0)], [dtype, np.dtype(float)], dtype)


def memory_of(a: Array) -> Array:
    """Return all of the memory that an array is a view of; the array itself where it is no view."""
    recorder: Any = a.recorder
    whole = recorder.containers.get(a.storage.name)
    if a.tensor.place is None or whole is None:
        return a
    return Array(recorder, a.storage, replace(a.tensor, container=a.storage.name, shape=tuple(whole.shape), place=None))
