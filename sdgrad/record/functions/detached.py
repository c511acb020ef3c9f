"""Take values as constants: ``stop_gradient``."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

from sdgrad.record.elementwise import compute, kind
from sdgrad.record.functions.creation import duplicate
from sdgrad.record.functions.table import active, operand, rule
from sdgrad.record.nests import flatten, is_nest, made_again, unflatten
from sdgrad.record.reads import is_numeric
from sdgrad.record.values import Array, is_recorded

DETACHED = "sdgrad_detached"
T = TypeVar("T")


def stop_gradient(x: T) -> T:
    """Return the value of ``x``, through which no derivative passes, in either mode and at any order.

    It is a value of its own: writing it does not change ``x``. Of a nest this holds for all arrays and numbers in it.
    :func:`detach` is the same under PyTorch's name.
    """
    if is_nest(x):
        leaves, form = flatten(x)
        return cast(T, unflatten(form, [stop_gradient(v) for v in leaves]))
    return cast(T, x.copy()) if isinstance(x, np.ndarray) else x


detach = stop_gradient


@rule(stop_gradient)
def detached(x: Any) -> Any:
    """Return a value of its own through which no derivative passes, or a nest of such values."""
    if is_nest(x):
        return _detached_nest(x)
    value = operand(x)
    if not is_recorded(value):
        return x
    dtype = np.dtype(kind(value))
    if dtype.kind not in "fc":
        return duplicate(value) if isinstance(value, Array) else x
    return compute(f"{DETACHED}({{0}})", [value], [dtype], dtype, getattr(value, "weak", False))


def _detached_nest(x: Any) -> Any:
    """Return a nest whose arrays and numbers are constants; what else is in it stays."""
    leaves, form = flatten(x)
    found = unflatten(form, [detached(v) if is_recorded(v) or is_numeric(v) else v for v in leaves])
    made_again(found, active().reads.made)
    return found
