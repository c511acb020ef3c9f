"""Read arguments of functions: axes, shapes, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import origin
from sdgrad.record.functions.table import fixed
from sdgrad.record.recorder import Recorder
from sdgrad.record.settling import settle
from sdgrad.record.values import RULES, Array, Number, is_recorded


def recorder_of(*values: Any) -> Recorder:
    return next(v.recorder for v in values if is_recorded(v))


def static(value: Any) -> int:
    """Return an axis or a count as Python's integer."""
    return value.__index__()


def static_axis(axis: Any, rank: int) -> int:
    """Return an axis counted from the first one.

    :raises numpy.exceptions.AxisError: there is none.
    """
    own = static(axis)
    if not -rank <= own < rank:
        raise np.exceptions.AxisError(own, rank)
    return own % rank


def several(value: Any) -> list[Any]:
    """Return an argument that is one thing or a sequence of them as a list."""
    return list(value) if isinstance(value, (tuple, list, Array, np.ndarray)) else [value]


def axes_of(axis: Any, rank: int) -> list[int]:
    """Return the axes that a function goes over, in order; None is all of them.

    :raises ValueError: one is named twice.
    """
    if axis is None:
        return list(range(rank))
    found = sorted(static_axis(d, rank) for d in several(axis))
    if len(set(found)) < len(found):
        raise ValueError("duplicate value in 'axis'")
    return found


def require(condition: Any, message: str, kind: type[Exception] = ValueError) -> None:
    """Raise an error of SciPy's where a condition does not hold: now, or when the program runs."""
    if is_recorded(condition):
        RULES.require(condition.recorder, condition, kind(message))
    elif not condition:
        raise kind(message)


def constant(value: Any, told: str) -> Any:
    """Return the content of an argument; integers that loops or arguments decide are made known.

    :raises ParseError: only a run knows it.
    """
    found = fixed(value)
    if found is None or is_recorded(found):
        if is_recorded(value) and value.dtype.kind in "biu":
            settle(value.recorder, origin(value))
        raise ParseError(told)
    return found


def lines(rank: int, axis: int, part: Any) -> tuple[Any, ...]:
    """Return the index that takes a part along one axis, and all of the others."""
    return tuple(part if d == axis else slice(None) for d in range(rank))


def settled(size: Any) -> Any:
    """Return a size as Python's integer if only arguments decide it: these are fixed."""
    if isinstance(size, Number) and size.origin and all(o[0] == "argument" for o in size.origin):
        return size.__index__()
    return size


def shape_of(shape: Any) -> tuple[int, ...]:
    return tuple(map(static, shape)) if isinstance(shape, (tuple, list, Array, np.ndarray)) else (static(shape),)
