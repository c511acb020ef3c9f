"""Find the fastest plan within a number of bytes.

A plan chooses one option for each region of the program. The regions are the loops with checkpoints, and their options
the rooms for states and tapes: the larger, the fewer trips run again. The choice is a mixed-integer program (solved by
HiGHS): one binary for each region and option, one row for each point of the program, where all that is live has to fit.
The bytes of the plan are those of the arrays in their places, and not what the rows say: if gaps between arrays lead
beyond the limit, the rows are tightened by what is too much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from sdgrad.analysis.live_ranges import LiveRanges, Span
from sdgrad.memory.arena import Placement, in_arenas, placements, size_in_arena
from sdgrad.memory.durations import seconds
from sdgrad.memory.footprint import Footprint
from sdgrad.optimize.dataflow.checkpoint_memory import LoopRoom, rooms
from sdgrad.program.tree import Loop, NodeCall, Program, walk
from sdgrad.tape.schedule_counts import runs

GROWTH = 1.1
"""Factor from one room that is tried to the next one."""
ATTEMPTS = 6


@dataclass(frozen=True)
class Option:
    """One way to run a region.

    :param units: of the room.
    :param bytes: while the region is live.
    :param seconds: that it takes beside a run with all tapes.
    """

    units: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Region:
    """A loop with checkpoints, where it is live, and its options, from the least bytes to the most."""

    room: LoopRoom
    span: Span
    options: tuple[Option, ...]


@dataclass(frozen=True)
class MemoryPlan:
    """A program with its arrays in their places.

    :param bytes: that it takes at most while it runs, without what the caller has before.
    :param seconds: estimated.
    :param units: of the rooms of loops with checkpoints, by the names of their schedules.
    """

    program: Program
    placements: tuple[Placement, ...]
    ranges: LiveRanges
    bytes: int
    seconds: float
    units: Mapping[str, int]


def fastest(program: Program, limit: int) -> MemoryPlan | None:
    """Return the fastest plan within some bytes; None if there is none.

    :param program: scheduled, with states and tapes of loops in arrays of their own.
    """
    found = regions(program)
    most = limit
    for _ in range(ATTEMPTS):
        chosen = choose(program, found, most)
        if chosen is None:
            break
        plan = placed(program, found, chosen)
        if plan.bytes <= limit:
            return plan
        most -= plan.bytes - limit
    least = smallest(program)
    return least if least.bytes <= limit else None


def smallest(program: Program) -> MemoryPlan:
    """Return the plan with the least bytes."""
    found = regions(program)
    return placed(program, found, [r.options[0] for r in found])


def as_given(program: Program) -> MemoryPlan:
    """Return the plan with the rooms that loops have been given."""
    found = regions(program)
    return placed(program, found, [option(r.room, r.room.given, 0.0) for r in found])


def regions(program: Program) -> list[Region]:
    """Return the loops with checkpoints, and their options."""
    found = []
    ranges = LiveRanges.of(program)
    for room in rooms(program):
        spans = [ranges.spans[c.name] for c in (*room.states, *room.tapes) if c.name in ranges.spans]
        span = min(s[0] for s in spans), max(s[1] for s in spans)
        found.append(Region(room, span, options(room, seconds_of_trip(room, program))))
    return found


def options(room: LoopRoom, trip: float) -> tuple[Option, ...]:
    """Return rooms of growing sizes, from the least to that for all tapes."""
    sizes, units = [room.least], float(room.least)
    while sizes[-1] < room.most:
        units = min(float(room.most), units * GROWTH)
        sizes.append(max(sizes[-1] + 1, int(units)))
    return tuple(option(room, u, trip) for u in dict.fromkeys(sizes))


def option(room: LoopRoom, units: int, trip: float) -> Option:
    """Return a room of some units as an option, given the time of a trip."""
    again = 0.0 if room.fixed else runs(room.trips, room.units.state, room.units.tape, units) - room.trips
    return Option(units, room.bytes(units), trip * again)


def seconds_of_trip(room: LoopRoom, program: Program) -> float:
    """Estimate the time of one trip forwards: the first loop of the first part of the schedule."""
    for node in program.body:
        inside = [n for n in walk((node,)) if isinstance(n, NodeCall) and "_was" in n.inputs]
        if isinstance(node, Loop) and any(n.inputs["_was"].container == room.numbers for n in inside):
            trip = next(n for n in node.body if isinstance(n, Loop))
            return seconds(trip.body, program)
    return 0.0


def choose(program: Program, found: Sequence[Region], limit: int) -> list[Option] | None:
    """Choose an option for each region, such that the program takes the least time within a limit."""
    whole = Footprint.of(program)
    live = whole.live.copy()
    for region in found:  # what loops keep is counted by their options
        for c in (*region.room.states, *region.room.tapes):
            first, last = whole.ranges.spans.get(c.name, (0, -1))
            live[first : last + 1] -= size_in_arena(c)
    free = limit - whole.always - live
    if not found:
        return [] if free.min(initial=0) >= 0 else None
    rows, bounds = _rows(found, free)
    cost = np.array([o.seconds + 1e-15 * o.bytes for r in found for o in r.options])
    one = np.zeros((len(found), len(cost)))
    start = 0
    for k, region in enumerate(found):
        one[k, start : start + len(region.options)] = 1
        start += len(region.options)
    constraints = [LinearConstraint(rows, -np.inf, bounds), LinearConstraint(one, 1, 1)]
    answer = milp(cost, integrality=np.ones(len(cost)), bounds=Bounds(0, 1), constraints=constraints)
    if answer.x is None:
        return None
    taken = iter(answer.x > 0.5)
    return [next(o for o, t in [(o, next(taken)) for o in r.options] if t) for r in found]


def _rows(found: Sequence[Region], free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a row of bytes for each set of regions that are live at once, and the bytes that are free there."""
    tightest: dict[tuple[bool, ...], int] = {}
    for point, left in enumerate(free):
        alive = tuple(r.span[0] <= point <= r.span[1] for r in found)
        tightest[alive] = min(tightest.get(alive, int(left)), int(left))
    rows = [[o.bytes * a for r, a in zip(found, alive, strict=True) for o in r.options] for alive in tightest]
    return np.array(rows, float), np.array([*tightest.values()], float)


def placed(program: Program, found: Sequence[Region], chosen: Sequence[Option]) -> MemoryPlan:
    """Return the program with rooms as chosen, and its arrays in arenas."""
    own = program
    for region, option in zip(found, chosen, strict=True):
        own = region.room.placed(own, option.units)
    ranges = LiveRanges.of(own)
    places = placements(own, ranges)
    total = Footprint.of(own).always + sum(p.bytes for p in places)
    time = sum(o.seconds for o in chosen)
    units = {r.room.numbers: o.units for r, o in zip(found, chosen, strict=True)}
    return MemoryPlan(in_arenas(own, places), tuple(places), ranges, total, time, units)
