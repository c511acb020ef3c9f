"""Objects that recorded functions make and call: what has methods by a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.record.functions.table import active, known
from sdgrad.record.methods import BoundRule
from sdgrad.record.reads import Content


def made(value: Any) -> Any:
    """Return an object that the recording made: nothing in it comes from outside."""
    return active().reads.made(value)


def frozen(content: np.ndarray) -> Any:
    """Return an array of a library's object as known: the program is for its content."""
    reads = active().reads
    reads.contents.append(Content(content, content.copy()))
    return known(content.copy())


class Evaluated:
    """Have methods that recorded functions can call: those of a table, by name."""

    table: dict[str, Callable] = {}

    def __getattr__(self, name: str) -> Any:
        if name in type(self).table:
            return BoundRule(type(self).table[name], self)
        raise AttributeError(f"{type(self).__name__} has no recorded method '{name}'")

    def record_call(self, recorder: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return type(self).table["__call__"](self, *args, **kwargs)
