"""Find the fastest plan within a number of bytes.

A plan chooses one option for each region of the program: for a loop with checkpoints its room, the larger, the fewer
trips run again; for a segment of nodes whether what it makes is kept, or made again. The choice is a mixed-integer
program, solved by HiGHS: one binary for each region and option, one row for each point of the program, where all that
is live has to fit. Segments are tried in several lengths, and cut again where that is not enough.

The bytes of a plan are those of the arrays in their places, and not what the rows say: if gaps between arrays lead
beyond the limit, the rows are tightened by how much more that is.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from sdgrad.memory.arena import Placement, in_arenas, placements, size_in_arena
from sdgrad.memory.footprint import Footprint
from sdgrad.memory.options import Option, Region, region_of, seconds_again, seconds_of_trips
from sdgrad.memory.rematerialization import Flow, Segment, changes_by, seconds_of, segments, with_segments
from sdgrad.optimize.dataflow.checkpoint_memory import rooms
from sdgrad.program.tree import Program
from sdgrad.tape.split import between

COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of segments that are tried."""
ATTEMPTS = 4
ROUNDS = 3
SECONDS = 2.0
"""Longest search for one choice; the best one found until then is taken."""
ENDED = 1
"""What HiGHS says if it ends there."""


@dataclass(frozen=True)
class Choice:
    """An option for each region.

    :param gap: by how much it may be slower than the best one, as a part of its time.
    """

    options: tuple[Option, ...]
    gap: float = 0.0

    @property
    def seconds(self) -> float:
        """Return the time that it takes beside a run with all tapes."""
        return sum(o.seconds for o in self.options)


@dataclass(frozen=True)
class MemoryPlan:
    """A program with its arrays in their places.

    :param bytes: that it takes at most while it runs, without what the caller has before.
    :param seconds: that it takes beside a run with all tapes, estimated.
    :param units: of the rooms of loops with checkpoints, by the names of their schedules.
    :param segments: how many segments run again.
    :param disk: bytes of files.
    :param gap: by how much the choice may be slower than the best one, as a part of its time.
    :param apart: the program with arrays of their own.
    :param tables: bytes by which loops with checkpoints choose what runs again.
    """

    apart: Program
    placements: tuple[Placement, ...] = field(repr=False)
    bytes: int
    seconds: float
    units: Mapping[str, int]
    segments: int = 0
    disk: int = 0
    gap: float = 0.0
    tables: int = 0

    @cached_property
    def program(self) -> Program:
        """Return the program with its arrays in their places."""
        return in_arenas(self.apart, self.placements)


def as_given(program: Program) -> MemoryPlan:
    """Return the plan with the rooms that loops have been given."""
    found = rooms(program)
    trips = seconds_of_trips(found, program)
    chosen = tuple(Option(seconds_again(r, r.given, trips[r.numbers]), units=r.given) for r in found)
    return placed(program, [Region((), r) for r in found], Choice(chosen))


class Division(Protocol):
    """How a program runs as two: what the second half uses of the first one stays until the end."""

    def second(self, program: Program) -> int | None:
        """Return the node of the body where the second half begins."""
        ...

    def bytes(self, program: Program) -> int:
        """Return what both halves take, with their arrays in their places."""
        ...


@dataclass
class Planner:
    """Find plans of one program for any number of limits.

    :param program: scheduled, with states and tapes of loops in arrays of their own.
    :param before: the plan that it goes on from, whose segments it has already.
    :param rounds: how often it may be cut into segments.
    :param disk: bytes that files may have.
    :param division: how it runs as two; None if it runs as one.
    :param slower: seconds that it takes beside the fastest program for the same.
    """

    program: Program
    before: MemoryPlan | None = None
    rounds: int = ROUNDS
    disk: int = 0
    division: Division | None = None
    slower: float = 0.0

    def fastest(self, limit: int) -> MemoryPlan | None:
        """Return the fastest plan within some bytes; None if none is found."""
        waiting: list[tuple[float, int, int]] = []  # seconds, attempts, and what may be chosen from
        made: dict[tuple[int, int], Choice] = {}

        def ask(which: int, most: int, attempts: int) -> None:
            chosen = self.base.choose(self.sets[which], most)
            if chosen is not None:
                made[which, attempts] = chosen
                heapq.heappush(waiting, (chosen.seconds, attempts, which))

        for which in range(len(self.sets)):
            ask(which, limit, ATTEMPTS)
        while waiting:
            _, attempts, which = heapq.heappop(waiting)
            chosen = made[which, attempts]
            plan = self.placed(which, chosen)
            if plan.bytes <= limit:
                return plan
            if attempts > 1:
                ask(which, limit - (plan.bytes - self.base.peak(chosen)), attempts - 1)
        for peak, which, chosen in self.least:
            if peak <= limit and (plan := self.placed(which, chosen)).bytes <= limit:
                return plan
        return self.deeper.fastest(limit) if self.deeper is not None else None

    @cached_property
    def base(self) -> Base:
        """Return what is live, and where."""
        return Base.of(self.program, self.disk, None if self.division is None else self.division.second(self.program))

    @cached_property
    def sets(self) -> list[list[Region]]:
        """Return the regions that are chosen for: loops alone, and with more and more segments."""
        found = [self.base.segmented(at, count) for at in self.base.full for count in COUNTS]
        several = {tuple(o.segment for r in f for o in r.options): f for f in found if f}
        return [self.base.rooms, *([*self.base.rooms, *f] for f in several.values())]

    def placed(self, which: int, chosen: Choice) -> MemoryPlan:
        """Return the plan of a choice."""
        plan = placed(self.program, self.sets[which], chosen, self.division)
        others = self.before.seconds if self.before is not None else self.slower
        return replace(plan, seconds=plan.seconds + others)

    @cached_property
    def least(self) -> list[tuple[int, int, Choice]]:
        """Return the choices with the fewest bytes by the rows, one of each set: bytes, which set, and choice."""
        chosen = ((k, self.base.choose(regions, None)) for k, regions in enumerate(self.sets))
        return sorted(((self.base.peak(c), k, c) for k, c in chosen if c is not None), key=lambda f: f[:2])

    @cached_property
    def leanest(self) -> MemoryPlan:
        """Return the plan with the fewest bytes by the rows."""
        return self.placed(*self.least[0][1:])

    @cached_property
    def smallest_here(self) -> MemoryPlan:
        """Return the plan with the fewest bytes, of one round of segments."""
        best = self.leanest
        for peak, which, choice in self.least[1:]:
            if peak > best.bytes:  # its arrays take no less in their places
                break
            best = min(best, self.placed(which, choice), key=lambda p: (p.bytes, p.seconds))
        return best

    @cached_property
    def deeper(self) -> Planner | None:
        """Return the planner that cuts the program again, at the peak that is left."""
        best = self.leanest
        if self.rounds <= 1 or not best.segments:
            return None
        return Planner(best.apart, best, self.rounds - 1, division=self.division)

    @property
    def smallest(self) -> MemoryPlan:
        """Return the plan with the fewest bytes that is found."""
        here = self.smallest_here
        return min(here, self.deeper.smallest, key=lambda p: p.bytes) if self.deeper is not None else here


@dataclass
class Base:
    """A program, its loops with checkpoints, and what is live without what these keep.

    :param disk: bytes that files may have.
    """

    program: Program
    whole: Footprint
    rooms: list[Region]
    live: np.ndarray
    flow: Flow
    disk: int

    @staticmethod
    def of(program: Program, disk: int = 0, second: int | None = None) -> Base:
        """Count what is live, and find the rooms.

        :param second: the node where the second half begins.
        """
        whole = Footprint.of(
            program, () if second is None else between(program, program.body[:second], program.body[second:])
        )
        made = rooms(program)
        trips = seconds_of_trips(made, program)
        found = [region_of(r, trips[r.numbers], whole.ranges, disk) for r in made]
        live = whole.live.copy()
        for region in found:  # what loops keep is counted by their options
            assert region.room is not None
            for c in (*region.room.states, *region.room.tapes):
                first, last = whole.ranges.spans.get(c.name, (0, -1))
                live[first : last + 1] -= size_in_arena(c)
        return Base(program, whole, found, live, Flow.of(program, whole.ranges, second), disk)

    @property
    def full(self) -> tuple[int, ...]:
        """Return the nodes where much is live: at the peak, and where a second half begins with what it keeps."""
        peak = int(np.argmax(self.whole.live))
        node = next((k for k, (a, b) in enumerate(self.whole.ranges.nodes) if a <= peak <= b), 0)
        return (node,) if self.flow.second is None else (self.flow.second - 1, node)

    def segmented(self, node: int, count: int) -> list[Region]:
        """Return segments of the nodes before one where much is live, with their options."""
        loops = [r.room for r in self.rooms if r.room is not None]
        kept = {c.name for r in loops for c in (*r.states, *r.tapes, *r.disk)}
        whole = segments(self.flow, node, count, kept)
        return [Region((Option(0.0), self.again(s))) for s in whole]

    def again(self, segment: Segment) -> Option:
        """Return the option to run a segment again."""
        return Option(seconds_of(segment, self.program), tuple(changes_by(segment, self.flow)), segment=segment)

    def choose(self, regions: Sequence[Region], limit: int | None) -> Choice | None:
        """Choose an option for each region: the least time within a limit, or the fewest bytes without one.

        If the search ends before it finds any, each region takes the fewest bytes.
        """
        if not regions:
            fits = limit is None or self.whole.always + int(self.live.max(initial=0)) <= limit
            return Choice(()) if fits else None
        from scipy.optimize import Bounds, LinearConstraint, milp  # a tenth of this package's own import

        options = [o for r in regions for o in r.options]
        rows, live = self.rows(options)
        one = np.zeros((len(regions), len(options) + 1))
        start = 0
        for k, region in enumerate(regions):
            one[k, start : start + len(region.options)] = 1
            start += len(region.options)
        unit = max(1.0, float(self.live.max(initial=0)))  # bytes of the last variable, the peak
        cost = np.array([o.seconds for o in options] + [0.0])
        if limit is None:
            cost = cost * (1e-6 / max(cost.max(), 1e-30))
            cost[-1] = 1.0
        top = np.inf if limit is None else (limit - self.whole.always) / unit
        table = np.hstack([rows / unit, -np.ones((len(rows), 1))])
        constraints = [LinearConstraint(table, -np.inf, -live / unit), LinearConstraint(one, 1, 1)]
        if any(o.files for o in options):
            files = np.array([o.files for o in options] + [0]) / self.disk
            constraints.append(LinearConstraint(files[None, :], -np.inf, 1))
        integers = np.array([1] * len(options) + [0])
        bounds = Bounds(np.zeros(len(cost)), np.array([1.0] * len(options) + [top]))
        if top < 0:
            return None
        answer = milp(
            cost, integrality=integers, bounds=bounds, constraints=constraints, options={"time_limit": SECONDS}
        )
        if answer.x is None:
            return _smallest(regions) if answer.status == ENDED else None
        taken = iter(answer.x[:-1] > 0.5)
        chosen = (next(o for o, t in [(o, next(taken)) for o in r.options] if t) for r in regions)
        return Choice(tuple(chosen), float(answer.mip_gap))

    def peak(self, chosen: Choice) -> int:
        """Return the bytes that a choice takes by the rows, at the point where most are live."""
        table, live = self.rows(chosen.options)
        return self.whole.always + int((table.sum(axis=1) + live).max(initial=0))

    def rows(self, options: Sequence[Option]) -> tuple[np.ndarray, np.ndarray]:
        """Return the bytes that each option adds at each point, and what is live without them.

        Of points where options add the same only the one with the most is kept.
        """
        table = np.zeros((len(self.live) + 1, len(options)))
        for k, option in enumerate(options):
            for (first, last), size in option.changes:
                table[first, k] += size
                table[last + 1, k] -= size
        table = np.cumsum(table, axis=0)[:-1]
        kinds, which = np.unique(table, axis=0, return_inverse=True)
        live = np.zeros(len(kinds))
        np.maximum.at(live, which.reshape(-1), self.live)
        return kinds, live


def _smallest(regions: Sequence[Region]) -> Choice:
    """Choose the fewest bytes for each region."""
    return Choice(tuple(min(r.options, key=lambda o: sum(n for _, n in o.changes)) for r in regions), np.inf)


def placed(program: Program, regions: Sequence[Region], chosen: Choice, division: Division | None = None) -> MemoryPlan:
    """Return the program with what is chosen, and its arrays in arenas; those of its halves if it runs as two."""
    own, units, tables = program, {}, 0
    for region, option in zip(regions, chosen.options, strict=True):
        if region.room is not None and option.units is not None:
            tables += region.room.table(option.units, option.disk)
            own = region.room.placed(own, option.units, option.disk)
            units[region.room.numbers] = option.units
    again = [o.segment for o in chosen.options if o.segment is not None]
    own = with_segments(own, again) if again else own
    places: list[Placement] = []
    if division is not None:
        total = division.bytes(own)
    else:
        whole = Footprint.of(own)
        places = placements(own, whole.ranges)
        total = whole.always + sum(p.bytes for p in places) + tables
    files = sum(o.files for o in chosen.options)
    return MemoryPlan(own, tuple(places), total, chosen.seconds, units, len(again), files, chosen.gap, tables)
