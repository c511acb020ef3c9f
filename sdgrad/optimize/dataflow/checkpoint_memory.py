"""Lay the states and the tapes that a loop with checkpoints keeps over each other, in one array.

A schedule says while the program runs which places hold states and which hold tapes
(:mod:`sdgrad.tape.scheduled_loops`). Where each has an array of its own, half of the memory is free at any time. Here
both are views of one array of units, and the schedule gets as much room as the arrays took::

    checkpoint_y[20, n], tape_v[20, 1, n]     -->     room[40 units];  checkpoint_y[40, n], tape_v[40, 1, n] views of it

A state takes some units, and a tape some. The first dimension of a view steps over one unit of a state; that of a tape
over a whole tape, and its second one over a unit. The pass declines where an array is an argument, as between the
halves of a pullback, or has no known size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import dace
import sympy
from dace import data as dt

from sdgrad.optimize.dataflow.checkpoint_places import (
    asked_in,
    bytes_of_place,
    is_own,
    kept_by,
    on_disk_by,
    with_disk,
    with_places,
    with_start,
)
from sdgrad.optimize.dataflow.room_apart import RoomApart
from sdgrad.program.descriptors import dense
from sdgrad.program.names import Names
from sdgrad.program.own_memory import ALIGNED, aligned
from sdgrad.program.tree import Block, Container, Loop, NodeCall, Program, children, walk
from sdgrad.runtime.libraries.checkpoint_schedule import (
    NO_DISK,
    SEVERAL_TYPES,
    CheckpointSchedule,
    Disk,
    count_of_numbers,
    schedule_calls,
)
from sdgrad.tape.room import Units, units_for
from sdgrad.tape.schedule_counts import divisions, growing, runs, runs_in_blocks, table_bytes

BYTES = {dace.uint8, dace.int8}  # may lie over numbers of any type (C++20, 7.2.1)


def share_room(program: Program) -> Program:
    """Lay states and tapes over each other, for each loop with checkpoints, in the memory that they take apart."""
    for room in rooms(program):
        program = room.placed(program)
    return program


def rooms(program: Program) -> list[LoopRoom | RoomApart]:
    """Return the rooms of all loops with checkpoints whose states and tapes still have arrays of their own."""
    calls = schedule_calls(walk(program.body))
    starts = {n.outputs["_numbers"].container: n for n in calls if n.node.is_start and len(n.outputs) > 1}
    return [(LoopRoom if n.node.kind == "start" else RoomApart).of(n, program) for n in starts.values()]


def begun(found: Sequence[LoopRoom | RoomApart], program: Program) -> dict[str, int]:
    """Return how often the schedules of loops begin on the way backwards, by their names: of loops inside of others."""
    reckoned = {r.numbers: r.reckoned for r in found}
    times = dict.fromkeys(reckoned, 1)

    def visit(block: Block, around: int) -> None:
        """Note how often what is in a block runs."""
        for node in block:
            inner = around
            for name in asked_in(node) & reckoned.keys() if isinstance(node, Loop) else ():
                times[name] = max(times[name], around)
                inner = around * reckoned[name]
            for part in children(node):
                visit(part, inner)

    visit(program.body, 1)
    return times


@dataclass(frozen=True)
class LoopRoom:
    """The room of one loop: its states and tapes in one array, or in arrays of their own (``apart``).

    What the loop keeps stands among the outputs of its start to be found here, and stands there no longer where it has
    its place.

    :param numbers: the container of the loop's schedule.
    :param units: of the room; those of arrays apart have no size.
    :param given: units that the room has been given so far.
    :param fixed: it cannot be given others.
    :param disk: arrays for states on the disk.
    """

    numbers: str
    trips: int
    states: tuple[Container, ...]
    tapes: tuple[Container, ...]
    units: Units
    given: int
    apart: bool = True
    fixed: bool = True
    disk: tuple[Container, ...] = ()

    @staticmethod
    def of(start: NodeCall, program: Program) -> LoopRoom:
        """Find what a loop keeps, from the start of its schedule."""
        trips, state_units, tape_units, given = start.node.given[:4]
        states, tapes = kept_by(start, program)
        apart = Units(0, state_units, tape_units)
        numbers, disk = start.outputs["_numbers"].container, on_disk_by(start, program)
        own = LoopRoom(numbers, trips, states, tapes, apart, given, disk=disk)
        if not states or not tapes or not all(is_own(c, program) for c in (*states, *tapes)):
            return own
        return own._shared() or replace(own, fixed=False)

    def _shared(self) -> LoopRoom | None:
        """Return the room in one array of as many bytes as the arrays apart take; None if that cannot be."""
        if self.units.state == 0:
            return None
        state, tape = (sum(aligned(bytes_of_place(c)) for c in found) for found in (self.states, self.tapes))
        units = units_for(state, tape, ALIGNED)
        room = min(self.bytes(self.given) // units.size, self.trips * units.tape)
        if room < units.state + units.tape:  # of small arrays, which would begin where no cache line does
            return None
        return replace(self, units=units, given=room, apart=False, fixed=False)

    @property
    def least(self) -> int:
        """Return the units for one state and one tape."""
        return self.given if self.fixed else self.units.state + self.units.tape

    @property
    def most(self) -> int:
        """Return the units with which no trip runs twice: of a few trips less than for one state."""
        return self.given if self.fixed else max(self.least, self.trips * self.units.tape)

    def bytes(self, given: int, disk: Disk = NO_DISK) -> int:
        """Return the bytes of so many units."""
        if not self.apart:
            return given * self.units.size
        pairs = zip((self.states, self.tapes), self._places(given), strict=True)
        return sum(places * sum(map(bytes_of_place, found)) for found, places in pairs)

    def again(self, given: int, disk: Disk = NO_DISK) -> float:
        """Estimate how many trips run again."""
        if self.fixed:
            return 0.0
        state, tape = self.units.state, self.units.tape
        return runs_in_blocks(self.trips, disk, lambda n: runs(n, state, tape, given, self.trips)) - self.trips

    def on_disk(self, bytes: int) -> list[tuple[int, Disk]]:
        """Return units, and what is on the disk, that are worth trying within some bytes of it."""
        if self.fixed or not self.disk or self.units.state == 0:
            return []
        found = divisions(self.trips, bytes // sum(map(bytes_of_place, self.disk)))
        return [(units, disk) for units in growing(self.least, self.most) for disk in found]

    @property
    def reckoned(self) -> int:
        """Return for how many trips the cost model takes the loop."""
        return self.trips

    def table(self, given: int, disk: Disk = NO_DISK) -> int:
        """Return the bytes of the table by which the schedule decides."""
        return table_bytes(disk.block or self.trips, self.units.state, self.units.tape, given)

    def _places(self, given: int) -> tuple[int, int]:
        """Return for how many states and tapes there are places apart."""
        return given // self.units.state if self.units.state else self.trips, given // self.units.tape

    def placed(self, program: Program, given: int | None = None, disk: Disk = NO_DISK) -> Program:
        """Return the program with the room in its place.

        :param given: units of the room; None: as many as it has been given.
        """
        units, room = self.units, self.given if given is None else given
        program = with_disk(program, self.disk, disk.places)
        numbers = program.containers[self.numbers]
        begins = CheckpointSchedule(
            "start", [self.trips, units.state, units.tape, room, int(self.apart), *reversed(disk)]
        )
        if self.apart and room == self.given and not disk.block:
            return with_start(program, begins, numbers)
        made = self._resized(room) if self.apart else self._in_one(Names(program.containers).fresh("room"), room)
        if not self.apart and len({c.dtype for c in (*self.states, *self.tapes)} - BYTES) > 1:
            begins.implementation = SEVERAL_TYPES
        count = count_of_numbers(self.trips, units.state, room, disk)
        program = replace(program, containers={**program.containers, **made})
        return with_start(program, begins, numbers, count)

    def _in_one(self, name: str, room: int) -> dict[str, Container]:
        """Return the array of the room, and states and tapes as views of it."""
        units = self.units
        whole = Container(name, dense(dace.uint8, [sympy.Integer(room * units.size)], transient=True))
        states = _laid(self.states, whole, [(room, 1)], units.size)
        tapes = _laid(self.tapes, whole, [(-(-room // units.tape), units.tape), (units.tape, 1)], units.size)
        return {name: whole, **states, **tapes}

    def _resized(self, room: int) -> dict[str, Container]:
        """Return states and tapes with other numbers of places."""
        states, tapes = self._places(room)
        return with_places(self.states, states) | with_places(self.tapes, tapes)


def _laid(
    containers: Sequence[Container], whole: Container, leading: Sequence[tuple[int, int]], unit: int
) -> dict[str, Container]:
    """Return containers as views of the room, by name: in each place one follows the other.

    :param leading: extents of their first dimensions, and units from one place to the next.
    :param unit: bytes of a unit.
    """
    made: dict[str, Container] = {}
    offset, inner = 0, len(leading)
    for container in containers:
        desc, elements = container.desc, unit // container.dtype.bytes
        shape = [sympy.Integer(n) for n, _ in leading]
        strides = [sympy.Integer(step * elements) for _, step in leading]
        view = dt.ArrayView(
            desc.dtype, [*shape, *desc.shape[inner:]], strides=[*strides, *desc.strides[inner:]], transient=True
        )
        part = dace.subsets.Range([(offset, int(whole.shape[0]) - 1, 1)])
        made[container.name] = replace(container, desc=view, view_of=whole.name, view_subset=part)
        offset += aligned(bytes_of_place(container))
    return made
