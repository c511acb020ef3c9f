"""Record loops without their first trip, which begins with something else than the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from sdgrad.convert.operators import Handler, Names, State
from sdgrad.record.branches import MISSING, unbound
from sdgrad.record.loops import RecordedFor
from sdgrad.record.recorder import Recorder
from sdgrad.record.trip_ranges import Trips


class PeeledFor(Handler):
    """Let Python run the first trip of a loop, and record the others: a name that is None before the first, say."""

    recorded = sets = True

    def __init__(
        self, recorder: Recorder, target: str, trips: Trips, flags: Names, head: Names, names: Names, later: Names
    ) -> None:
        self.site, self.record = recorder.site(), partial(RecordedFor, recorder, target)
        self.given = (flags, head, names, later)
        self.trips, self.names = trips, names
        self.rest: RecordedFor | None = None

    def __iter__(self) -> Iterator[None]:
        yield
        rest = replace(self.trips, start=self.trips.start + self.trips.step)
        self.rest = self.record(rest, *self.given, site=self.site)
        yield

    def item(self) -> Any:
        return self.trips.item(self.trips.start) if self.rest is None else self.rest.item()

    def enter(self, state: State) -> tuple:
        if self.rest is not None:
            return self.rest.enter(state)
        return tuple(unbound(n, state.get(n, MISSING)) for n in self.names)

    def leave(self, state: State) -> None:
        if self.rest is not None:
            self.rest.leave(state)

    def after(self, state: State) -> tuple:
        assert self.rest is not None
        return self.rest.after(state)
