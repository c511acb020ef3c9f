"""Let Python run loops that cannot be recorded, trip by trip."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sdgrad.convert.operators import Names, PythonFor, PythonWhile, State
from sdgrad.errors import ParseError
from sdgrad.record.restart import Restart
from sdgrad.record.values import Number, can_be_fixed, is_recorded

MOST_TRIPS = 10_000
WHY = (
    "its body changes lists or other objects of Python, or uses the trip's number where Python needs its value. Fill "
    "an array instead"
)


class WrittenOutFor(PythonFor):
    """Let Python run a loop trip by trip.

    Trips go on where only a run knows whether a flag is set: the body asks it first. What follows the loop finds its
    variables as the last trip that ran has left them.
    """

    def __init__(self, iterable: Iterable, targets: Names, flags: Names, names: Names, later: Names) -> None:
        super().__init__(iterable, flags)
        self.names, self.targets = names, [n for n in targets if n in later]
        self.left: dict[str, Any] = {}  # the variables
        self.over: Any = None  # a flag that may be set

    def __iter__(self) -> Iterator[None]:
        return _limited(super().__iter__())

    def leave(self, state: State) -> None:
        for n in self.targets:
            self.left[n] = state[n] if self.over is None else np.where(self.over, self.left[n], state[n])
        self.recorded = bool(self.targets) and (self.recorded or self.over is not None)
        found = [state.get(f) for f in self.flags]
        self.stopped = any(not is_recorded(v) and v for v in found)
        maybe: list[Any] = [v for v in found if is_recorded(v)]
        self.over = functools.reduce(lambda a, b: np.logical_or(a, b), maybe) if maybe else None

    def after(self, state: State) -> tuple:
        return tuple(self.left.get(n, state.get(n)) for n in self.names)


class WrittenOutWhile(PythonWhile):
    """Let Python run a ``while`` trip by trip."""

    def __init__(self, flags: Names, site: Any) -> None:
        super().__init__(flags)
        self.site = site

    def test(self, condition: Any) -> bool:
        """Start again with memory for the arrays that have some by now, if the condition was known before they had."""
        if is_recorded(condition):
            hints, written = condition.recorder.hints, condition.recorder.written
            if not written <= hints.materialized:
                hints.materialized |= written
                hints.written_out.discard(self.site)
                raise Restart(hints)
        return super().test(condition)

    def __iter__(self) -> Iterator[None]:
        return _limited(super().__iter__())

    def leave(self, state: State) -> None:
        flags = [v for v in (state.get(f) for f in self.flags) if is_recorded(v)]
        origin = frozenset().union(*(v.origin for v in flags if isinstance(v, Number)))
        if can_be_fixed(origin):
            raise flags[0].recorder.hints.fix(origin)
        if flags:
            raise ParseError(f"this loop has to be written out, and only a run knows when it stops: {WHY}")
        super().leave(state)


def _limited(trips: Iterator[None]) -> Iterator[None]:
    """Refuse a loop with too many trips."""
    for k, _ in enumerate(trips):
        if k >= MOST_TRIPS:
            raise ParseError(f"this loop has to be written out, and has more than {MOST_TRIPS} trips: {WHY}")
        yield
