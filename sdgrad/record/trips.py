"""Find the trips of loops that can be recorded."""

from __future__ import annotations

from typing import Any

from sdgrad.record.functions.python import Count, Paired, Range, Reversed
from sdgrad.record.functions.table import own
from sdgrad.record.growth import as_one
from sdgrad.record.indexing import item
from sdgrad.record.recorder import Recorder
from sdgrad.record.trip_ranges import Trips
from sdgrad.record.values import Array


def trips_of(recorder: Recorder, iterable: Any) -> Trips | None:
    """Return the trips of a loop that can be recorded; None for what Python runs over."""
    iterable = own(iterable)
    if (whole := as_one(recorder, iterable)) is not None:
        iterable = whole
    if isinstance(iterable, range) and len(iterable) > 1 or isinstance(iterable, Range):
        return Trips(iterable.start, iterable.stop, iterable.step, lambda k: k)
    if isinstance(iterable, Array) and iterable.ndim and iterable.shape[0] != 0:
        return Trips(0, iterable.shape[0], 1, lambda k: item(iterable, k))
    if isinstance(iterable, Reversed):
        return _reversed(trips_of(recorder, iterable.of))
    if isinstance(iterable, Paired):
        counts = [p for p in iterable.parts if isinstance(p, Count)]
        rest = [p for p in iterable.parts if not isinstance(p, Count)]
        inner = [trips_of(recorder, p) for p in rest]
        if not inner or any(t is None or t.start != 0 or t.step != 1 for t in inner):
            return None
        stops = [t.stop for t in inner]  # type: ignore[union-attr]
        if any(s != stops[0] for s in stops):
            return None
        offsets = {id(c): c.start for c in counts}

        def at(k: Any) -> tuple:
            own = iter(inner)
            return tuple(
                k + offsets[id(p)] if id(p) in offsets else next(own).item(k)  # type: ignore[union-attr]
                for p in iterable.parts
            )

        return Trips(0, stops[0], 1, at)
    return None


def _reversed(trips: Trips | None) -> Trips | None:
    if trips is None or abs(trips.step) != 1:
        return None
    return Trips(trips.stop - trips.step, trips.start - trips.step, -trips.step, trips.item)
