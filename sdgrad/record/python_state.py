"""Find out what a part of a function changes in Python: lists, dicts, sets, attributes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from sdgrad.convert.callables import is_filled
from sdgrad.record.values import is_recorded

MOST = 10_000  # objects that are looked at
OPAQUE = (str, bytes, int, float, complex, type(None), type, ModuleType, np.ndarray, np.generic, np.dtype)


@dataclass(frozen=True)
class PythonState:
    """Hold what mutable objects contained at some time."""

    held: tuple[tuple[Any, Any], ...]

    @staticmethod
    def of(values: Iterable[Any]) -> PythonState:
        """Return the state of everything that values reach."""
        found: dict[int, tuple[Any, Any]] = {}
        todo = list(values)
        while todo and len(found) < MOST:
            value = todo.pop()
            if is_recorded(value) or isinstance(value, OPAQUE) or id(value) in found:
                continue
            content = _content(value)
            if content is None:
                continue
            found[id(value)] = (value, content)
            todo += content.values() if isinstance(content, dict) else content
        return PythonState(tuple(found.values()))

    def changed(self) -> str | None:
        """Return the kind of the first object whose content is another one by now."""
        for value, content in self.held:
            if not _same(_content(value), content):
                return type(value).__name__
        return None


def _content(value: Any) -> Any:
    """Return a shallow copy of what an object holds; None if it holds nothing that can change."""
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return list(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, FunctionType):
        return [c.cell_contents for c in value.__closure__ or () if is_filled(c)]
    if isinstance(value, MethodType):
        return [value.__self__]
    module = type(value).__module__.partition(".")[0]
    if hasattr(value, "__dict__") and module not in ("sdgrad", "numpy", "dace", "builtins"):
        return dict(vars(value))
    return None


def _same(now: Any, before: Any) -> bool:
    """True if two contents hold the same objects."""
    if isinstance(before, dict):
        return now.keys() == before.keys() and all(now[k] is before[k] for k in before)
    return len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True))
