"""What recorded values have: methods, properties, and parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.memory_layout import ATTRIBUTES
from sdgrad.record.functions.table import FUNCTIONS, METHODS, all_known, array, own
from sdgrad.record.indexing import item
from sdgrad.record.values import RULES, Array, Number

COMPUTED = frozenset({
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "cumprod", "cumsum", "dot", "max",
    "mean", "min", "nonzero", "prod", "ptp", "repeat", "round", "searchsorted", "std", "sum", "take", "trace", "var",
})  # fmt: skip
"""Methods that return what NumPy's functions of their names return, and neither write nor view anything."""


@dataclass(frozen=True, eq=False)
class BoundRule:
    """Hold a method of a recorded value."""

    rule: Callable
    value: Any
    name: str = ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.name in COMPUTED and isinstance(self.value, Array) and all_known([self.value, args, kwargs]):
            return RULES.function(getattr(np, self.name), (self.value, *args), kwargs)
        of_object = getattr(type(self.value), "here", None)
        return self.rule(of_object(self.value) if of_object else own(self.value), *args, **kwargs)


def method(value: Any, name: str) -> Any:
    """Return a method or a property of a recorded value."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name in ("real", "imag"):
        return FUNCTIONS[getattr(np, name)](value)
    if name in ATTRIBUTES and isinstance(value, Array):
        return ATTRIBUTES[name](value)
    if name == "flat":
        return flat(value)
    if name == "view":
        return BoundRule(_view, value)
    if name in ("conj", "conjugate"):
        return lambda: RULES.ufunc(np.conjugate, "__call__", (value,), {})
    if name in METHODS:
        return BoundRule(METHODS[name], value, name)
    if isinstance(value, Number) and value.dtype.kind in "iu" and hasattr(int, name) and not name.startswith("__"):
        return getattr(value.__index__(), name)
    raise AttributeError(f"{type(value).__name__.lower()} has no recorded method '{name}'")


def _view(value: Any, dtype: Any = None) -> Any:
    """Return the same elements under another name."""
    if dtype is not None and np.dtype(dtype) != value.dtype:
        raise ParseError("an array's bytes as numbers of another type have no derivative: write .astype()")
    return part_of_value(value, Ellipsis)


def flat(value: Any) -> Array:
    """Return all elements in a row: a view where it can be one; a copy is not written, for that would be lost."""
    found = METHODS["reshape"](value if isinstance(value, Array) else array(value), -1)
    if found.storage is not getattr(value, "storage", None):
        found.storage.readonly = "what .flat gives of this array is a copy: write to elements of the array itself"
    return found


def part_of_value(value: Any, index: Any) -> Any:
    """Return a part of an array, or of a number of NumPy's, which has no axes."""
    if not isinstance(value, Number):
        return item(value, index) if isinstance(value, Array) else value[index]
    if value.weak:
        raise TypeError("a number of Python's has no parts")
    return value if type(index) is tuple and not index else item(array(value), index)


RULES.method, RULES.item = method, part_of_value
