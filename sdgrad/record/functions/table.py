"""Collect the rules of functions: ``FUNCTIONS`` by the function that a program calls, ``METHODS`` by name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.record.reads import is_numeric
from sdgrad.record.values import Array, is_known, is_recorded

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
MAKERS: set[Any] = set()
"""Functions that make arrays out of nothing recorded: while a function is recorded, these are recorded as well."""

_active = threading.local()


def active() -> Any:
    """Return the recorder of the function that this thread records; None if there is none."""
    stack = getattr(_active, "stack", ())
    return stack[-1] if stack else None


def activate(recorder: Any) -> list[Any]:
    """Return the stack of recorders of this thread with one more on it."""
    if not hasattr(_active, "stack"):
        _active.stack = []
    _active.stack.append(recorder)
    return _active.stack


def rule(*functions: Any, method: str = "", makes: bool = False) -> Callable[[Callable], Callable]:
    """Register a rule for functions, and for a method of arrays."""

    def register(f: Callable) -> Callable:
        FUNCTIONS.update(dict.fromkeys(functions, f))
        if makes:
            MAKERS.update(functions)
        if method:
            METHODS[method] = f
        return f

    return register


def own(value: Any) -> Any:
    """Return a recorded value, or a nest of such, as one of the recording that goes on."""
    if is_recorded(value):
        return value if value.recorder is active() else active().adopt(value)
    if isinstance(value, (list, tuple)) and holds_recorded(value):
        parts = list(map(own, value))
        if all(a is b for a, b in zip(parts, value, strict=True)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def array(value: Any) -> Array:
    """Return any operand as an array: recorded ones as they are, nests of numbers stacked, NumPy's as known."""
    if isinstance(value, Array):
        return value
    if holds_recorded(value):
        return FUNCTIONS[np.array](value)
    return active().outside(value) if is_numeric(value) else active().known(np.asarray(value))


def operand(value: Any) -> Any:
    """Return an operand of an element-wise function: numbers stay numbers."""
    if is_recorded(value) or isinstance(value, (bool, int, float, complex, np.generic)):
        return value
    return array(value)


def holds_recorded(value: Any) -> bool:
    """True if a value, or a part of a nest, is recorded."""
    if is_recorded(value):
        return True
    if isinstance(value, (list, tuple)):
        return any(map(holds_recorded, value))
    return isinstance(value, dict) and any(map(holds_recorded, value.values()))


def content(value: Any) -> Any:
    """Return a nest of values with known content as NumPy has it."""
    if isinstance(value, Array):
        if value.storage.block is not value.recorder.blocks[-1]:
            value.storage.read_inside = True
        return value.known
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(content, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(content, value))
    if isinstance(value, dict):
        return {k: content(v) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*map(content, (value.start, value.stop, value.step)))
    return value


def all_known(value: Any) -> bool:
    """True if the content of everything in a nest is known."""
    if isinstance(value, (list, tuple)):
        return all(map(all_known, value))
    if isinstance(value, dict):
        return all(map(all_known, value.values()))
    return is_known(value)


def wrapped(value: Any) -> Any:
    """Return what NumPy computed as known arrays."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return active().known(value if value.flags.owndata and value.flags.writeable else value.copy())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrapped, value))
    return type(value)(map(wrapped, value)) if type(value) in (list, tuple) else value
