"""Hold the scalar leaf that is being recorded."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from sdgrad.program.tree import Instr, Load, Source, Value
from sdgrad.record.values import Number
from sdgrad.symbolic import code


@dataclass
class Run:
    """Hold the open scalar leaf: instructions, what was loaded, and the numbers that may be needed afterwards."""

    body: list[Instr] = field(default_factory=list)
    loaded: dict[Any, str] = field(default_factory=dict)
    wrapped: dict[Any, Any] = field(default_factory=dict)  # subscripts that count from the beginning
    stored: set[str] = field(default_factory=set)
    numbers: list[weakref.ref[Number]] = field(default_factory=list)
    source: Source = Source()


@dataclass(frozen=True)
class Assigned:
    """A symbol that an element of an array was assigned to: it holds until the array is written, and in its block.

    :param version: how often the array had been written.
    """

    symbol: str
    container: str
    block: list
    version: int

    @staticmethod
    def now(recorder: Any, symbol: str, container: str) -> Assigned:
        return Assigned(symbol, container, recorder.blocks[-1], recorder.versions[container])

    def holds(self, recorder: Any) -> bool:
        """True if it is still the element's value in what is recorded now."""
        return self.block is recorder.blocks[-1] and self.version == recorder.versions[self.container]


def element_of(recorder: Any, number: Number) -> Value | None:
    """Return the element of an array that a number is, if that is what it was, at subscripts that are symbols."""
    if number.name is None or number.loaded is None:
        return None
    root, container, place = number.loaded
    known = {s.name for e in place for s in e.free_symbols} <= recorder.symbols.keys()
    if not known or root in recorder.run.stored or (container, place) not in recorder.run.loaded:
        return None
    name = recorder.names.fresh("c")
    return Value((Load(name, container, place),), code.name(name))
