"""Give a loop with checkpoints places for states, and for tapes of a block of trips, in arrays of their own.

For loops that do not know their trips, and for those that keep the tape of one trip at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from sdgrad.optimize.dataflow.checkpoint_places import (
    bytes_of_place,
    is_own,
    kept_by,
    on_disk_by,
    with_disk,
    with_places,
    with_start,
    without_copies,
)
from sdgrad.program.tree import Container, NodeCall, Program
from sdgrad.runtime.libraries.checkpoint_schedule import (
    NO_DISK,
    CheckpointSchedule,
    Disk,
    count_of_numbers,
    count_of_online_numbers,
)
from sdgrad.tape.room import Room
from sdgrad.tape.schedule_counts import divisions, growing, online_runs, runs_in_blocks, runs_of_states, table_bytes

RECKONED = 1 << 10
"""Trips of a loop that may end at any, for estimates of its time."""
GROWTH = 1.1
"""Factor from one block of trips that is tried to the next one."""


@dataclass(frozen=True)
class RoomApart:
    """The room of one loop: arrays of states, and arrays of tapes.

    A unit of the room has the bytes of a state and of the tape of a trip. Of all ways to divide a room, the one that
    runs the fewest trips is taken, if there are as many as there may be.

    :param kind: how the loop's schedule begins.
    :param numbers: the container of that schedule.
    :param places: for states, and for tapes, that it has been given so far.
    :param trips: as many as there may be.
    :param most_tapes: the most places for tapes that it may be given.
    :param fixed: it cannot be given others.
    :param disk: arrays for states on the disk. A loop that does not know its trips keeps all states there, or none: a
        unit is the tape of a trip then.
    """

    kind: str
    numbers: str
    states: tuple[Container, ...]
    tapes: tuple[Container, ...]
    places: tuple[int, int]
    trips: int
    most_tapes: int
    fixed: bool
    disk: tuple[Container, ...] = ()

    @staticmethod
    def of(start: NodeCall, program: Program) -> RoomApart:
        """Find what a loop keeps, from the start of its schedule."""
        states, tapes = kept_by(start, program)
        places, block, trips, most = start.node.given[:4]
        fixed = not states or not all(is_own(c, program) for c in (*states, *tapes)) or (not tapes and most > 1)
        numbers = start.outputs["_numbers"].container
        disk = on_disk_by(start, program)
        return RoomApart(start.node.kind, numbers, states, tapes, (places, block), trips, most, fixed, disk)

    @property
    def given(self) -> int:
        """Return units for which the room stays as it is."""
        return 0

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """Return the bytes of a state and of the tape of a trip."""
        state, tape = (sum(map(bytes_of_place, found)) for found in (self.states, self.tapes))
        return state, tape

    @property
    def least(self) -> int:
        """Return the units for one state and one tape."""
        return 0 if self.fixed else 1

    @property
    def most(self) -> int:
        """Return the units with which no trip runs more than twice."""
        if self.fixed:
            return 0
        return self.trips if self.most_tapes == 1 else math.isqrt(self.trips) + 1

    def divided(self, given: int, disk: Disk = NO_DISK) -> tuple[int, int]:
        """Return for how many states and tapes there are places in memory."""
        if given == 0:
            return self.places
        if self.all_on_disk(disk):
            return 0, given
        if self.most_tapes == 1:
            return given, 1
        state, tape = self.sizes
        room, best, block = given * (state + tape), (1, 1), 1
        while block * tape + state <= room and block <= self.most_tapes:
            found = (room - block * tape) // state, block
            best = min(best, found, key=lambda places: online_runs(self.trips, *places))
            block = max(block + 1, int(block * GROWTH))
        return best

    def all_on_disk(self, disk: Disk) -> bool:
        """True if there is no state in memory."""
        return disk.places > 0 and self.kind == "start_online"

    def bytes(self, given: int, disk: Disk = NO_DISK) -> int:
        """Return the bytes of so many units."""
        return sum(n * size for n, size in zip(self.divided(given, disk), self.sizes, strict=True))

    def again(self, given: int, disk: Disk = NO_DISK) -> float:
        """Estimate how many trips run again, of as many as the cost model reckons with."""
        if self.fixed:
            return 0.0
        if self.kind == "start_states":
            states = self.divided(given)[0]
            return runs_in_blocks(self.trips, disk, lambda n: runs_of_states(n, states)) - self.trips
        states, block = self.divided(given, disk)
        return online_runs(self.reckoned, disk.places or states, block) - self.reckoned

    def on_disk(self, bytes: int) -> list[tuple[int, Disk]]:
        """Return units, and what is on the disk, that are worth trying within some bytes of it."""
        if self.fixed or not self.disk:
            return []
        most = bytes // sum(map(bytes_of_place, self.disk))
        if self.kind == "start_states":
            return [(units, disk) for units in growing(self.least, self.most) for disk in divisions(self.trips, most)]
        blocks = growing(1, min(self.most_tapes, RECKONED))
        return [(n, Disk(min(most, math.isqrt(2 * self.trips // n) + 1), n)) for n in blocks if most]

    @property
    def reckoned(self) -> int:
        """Return for how many trips the cost model takes the loop."""
        return self.trips if self.kind == "start_states" else min(self.trips, RECKONED)

    def table(self, given: int, disk: Disk = NO_DISK) -> int:
        """Return the bytes of the schedule's table: one that asks after each trip has none."""
        if self.kind == "start_online":
            return 0
        room = Room.of_states(self.divided(given)[0])
        return table_bytes(disk.block or self.trips, room.state_units, room.tape_units, room.units, mixed=False)

    def placed(self, program: Program, given: int = 0, disk: Disk = NO_DISK) -> Program:
        """Return the program with the room in its place.

        :param given: units of the room; 0: it stays as it is.
        """
        states, tapes = self.divided(given, disk)
        program, numbers = with_disk(program, self.disk, disk.places), program.containers[self.numbers]
        begins = CheckpointSchedule(
            self.kind, [states or disk.places, tapes, self.trips, self.most_tapes, disk.block, disk.places]
        )
        if given == 0:
            return with_start(program, begins, numbers)
        made = with_places(self.tapes, tapes) | (with_places(self.states, states) if states else {})
        program = replace(program, containers={**program.containers, **made})
        program = program if states else without_copies(program, self.states)
        return with_start(program, begins, numbers, self._count_of_numbers(states, disk))

    def _count_of_numbers(self, states: int, disk: Disk) -> int:
        """Return how many numbers the schedule has with places for some states, and others on the disk."""
        if self.kind == "start_online":
            return count_of_online_numbers(states or disk.places)
        room = Room.of_states(states)
        return count_of_numbers(self.trips, room.state_units, room.units, disk)
