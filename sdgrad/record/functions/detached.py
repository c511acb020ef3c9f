"""Take values as constants: ``stop_gradient``."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

from sdgrad.record.elementwise import compute, kind
from sdgrad.record.functions.creation import duplicate
from sdgrad.record.functions.table import operand, rule
from sdgrad.record.values import Array, is_recorded

DETACHED = "sdgrad_detached"
T = TypeVar("T")


def stop_gradient(x: T) -> T:
    """Return the value of ``x``, through which no derivative passes, in either mode and at any order.

    It is a value of its own: writing it does not change ``x``. :func:`detach` is the same under PyTorch's name.
    """
    return cast(T, x.copy()) if isinstance(x, np.ndarray) else x


detach = stop_gradient


@rule(stop_gradient)
def detached(x: Any) -> Any:
    """Return a value of its own through which no derivative passes."""
    value = operand(x)
    if not is_recorded(value):
        return x
    dtype = np.dtype(kind(value))
    if dtype.kind not in "fc":
        return duplicate(value) if isinstance(value, Array) else x
    return compute(f"{DETACHED}({{0}})", [value], [dtype], dtype, getattr(value, "weak", False))
