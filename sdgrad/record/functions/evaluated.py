"""Objects that recorded functions make and call: what has methods by a table."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.errors import UnknownAttribute
from sdgrad.record.functions.table import active, known, own
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
        methods = ", ".join(n for n in type(self).table if not n.startswith("_"))
        more = f": {self.instead[name]}" if name in self.instead else f"; it has {methods}" if methods else ""
        raise UnknownAttribute(f"'{name}' of {self.told} is not recorded{more}")

    def record_call(self, recorder: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return type(self).table["__call__"](self.here(), *args, **kwargs)

    def here(self) -> Any:
        """Return the same object in the recording that goes on: an integrand, say, calls one that is made around it."""
        changed = {n: new for n, old in vars(self).items() if (new := _here(old)) is not old}
        if not changed:
            return self
        found = copy.copy(self)
        vars(found).update(changed)
        return made(found)


def _here(value: Any) -> Any:
    return value.here() if isinstance(value, Evaluated) else own(value)
