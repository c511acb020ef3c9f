"""Objects that recorded functions make and call: what has methods by a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.errors import UnknownAttribute
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
    """Have methods that recorded functions can call: those of a table, by name.

    ``told`` is what a user calls such an object, and ``instead`` what can be written for other methods, by name.
    """

    table: dict[str, Callable] = {}
    told = "this object"
    instead: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        if name in type(self).table:
            return BoundRule(type(self).table[name], self)
        if name.startswith("_"):
            raise AttributeError(name)
        own = ", ".join(n for n in type(self).table if not n.startswith("_"))
        more = f": {self.instead[name]}" if name in self.instead else f"; it has {own}" if own else ""
        raise UnknownAttribute(f"'{name}' of {self.told} is not recorded{more}")

    def record_call(self, recorder: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return type(self).table["__call__"](self, *args, **kwargs)
