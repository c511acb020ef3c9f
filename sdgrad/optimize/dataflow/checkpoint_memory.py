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

from sdgrad.program.descriptors import dense
from sdgrad.program.names import Names
from sdgrad.program.own_memory import ALIGNED, aligned, has_own_memory
from sdgrad.program.tree import Block, Container, Node, NodeCall, Program, rewritten, walk, whole_region
from sdgrad.runtime.libraries.checkpoint_schedule import (
    SEVERAL_TYPES,
    STATE,
    TAPE,
    CheckpointSchedule,
    count_of_numbers,
)
from sdgrad.tape.room import Units, units_for

BYTES = {dace.uint8, dace.int8}  # may lie over numbers of any type (C++20, 7.2.1)


def share_room(program: Program) -> Program:
    """Lay states and tapes over each other, for each loop with checkpoints, in the memory that they take apart."""
    for room in rooms(program):
        program = room.placed(program)
    return program


def rooms(program: Program) -> list[LoopRoom]:
    """Return the rooms of all loops with checkpoints whose states and tapes still have arrays of their own."""
    calls = (n for n in walk(program.body) if isinstance(n, NodeCall) and isinstance(n.node, CheckpointSchedule))
    return [LoopRoom.of(n, program) for n in calls if n.node.is_start and len(n.outputs) > 1]


@dataclass(frozen=True)
class LoopRoom:
    """The room of one loop: its states and tapes in one array, or in arrays of their own (``apart``).

    What the loop keeps stands among the outputs of its start to be found here, and stands there no longer where it has
    its place.

    :param start: the call that starts the loop's schedule.
    :param numbers: the container of that schedule.
    :param units: of the room; those of arrays apart have no size.
    :param given: units that the room has been given so far.
    :param fixed: it cannot be given others.
    """

    start: NodeCall
    numbers: str
    trips: int
    states: tuple[Container, ...]
    tapes: tuple[Container, ...]
    units: Units
    given: int
    apart: bool = True
    fixed: bool = True

    @staticmethod
    def of(start: NodeCall, program: Program) -> LoopRoom:
        """Find what a loop keeps, from the start of its schedule."""
        trips, state_units, tape_units, given = start.node.given[:4]
        kept = {c: program.containers[r.container] for c, r in start.outputs.items()}
        states, tapes = (tuple(c for n, c in kept.items() if n.startswith(kind)) for kind in (STATE, TAPE))
        apart = Units(0, state_units, tape_units)
        own = LoopRoom(start, kept["_numbers"].name, trips, states, tapes, apart, given)
        if not states or not tapes or not all(_is_own(c, program) for c in (*states, *tapes)):
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
        """Return the units with which no trip runs twice."""
        return self.given if self.fixed else self.trips * self.units.tape

    def bytes(self, given: int) -> int:
        """Return the bytes of so many units."""
        if not self.apart:
            return given * self.units.size
        pairs = zip((self.states, self.tapes), self._places(given), strict=True)
        return sum(places * sum(map(bytes_of_place, found)) for found, places in pairs)

    def _places(self, given: int) -> tuple[int, int]:
        """Return for how many states and tapes there are places apart."""
        return given // self.units.state if self.units.state else self.trips, given // self.units.tape

    def placed(self, program: Program, given: int | None = None) -> Program:
        """Return the program with the room in its place.

        :param given: units of the room; None: as many as it has been given.
        """
        units, room = self.units, self.given if given is None else given
        numbers = program.containers[self.numbers]
        if self.apart and room == self.given:
            return _with_start(program, self.start, CheckpointSchedule("start", self.start.node.given), numbers)
        made = self._resized(room) if self.apart else self._in_one(Names(program.containers).fresh("room"), room)
        begins = CheckpointSchedule("start", [self.trips, units.state, units.tape, room, int(self.apart)])
        if not self.apart and len({c.dtype for c in (*self.states, *self.tapes)} - BYTES) > 1:
            begins.implementation = SEVERAL_TYPES
        count = sympy.Integer(count_of_numbers(self.trips, units.state, room))
        numbers = replace(numbers, desc=dense(dace.int64, [count], transient=True))
        return _with_start(replace(program, containers={**program.containers, **made}), self.start, begins, numbers)

    def _in_one(self, name: str, room: int) -> dict[str, Container]:
        """Return the array of the room, and states and tapes as views of it."""
        units = self.units
        whole = Container(name, dense(dace.uint8, [sympy.Integer(room * units.size)], transient=True))
        states = _laid(self.states, whole, [(room, 1)], units.size)
        tapes = _laid(self.tapes, whole, [(-(-room // units.tape), units.tape), (units.tape, 1)], units.size)
        return {name: whole, **states, **tapes}

    def _resized(self, room: int) -> dict[str, Container]:
        """Return states and tapes with other numbers of places."""
        pairs = zip((self.states, self.tapes), self._places(room), strict=True)
        sizes = {c.name: (c, sympy.Integer(places)) for found, places in pairs for c in found}
        return {
            n: replace(c, desc=dense(c.dtype, [places, *c.desc.shape[1:]], True)) for n, (c, places) in sizes.items()
        }


def _is_own(container: Container, program: Program) -> bool:
    """True for a temporary with memory of its own and a known size, row by row."""
    own = has_own_memory(container) and container.name not in program.arguments
    return own and container.desc.is_packed_c_strides()


def bytes_of_place(container: Container) -> int:
    """Return the bytes of one place."""
    return int(container.desc.total_size) // int(container.shape[0]) * container.dtype.bytes


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


def _with_start(program: Program, start: NodeCall, begins: CheckpointSchedule, numbers: Container) -> Program:
    """Give a schedule another start, with no outputs but its numbers, and all its calls these numbers."""
    whole = whole_region(numbers.name, numbers.shape)

    def changed(node: Node) -> Block:
        """Change a call of this schedule; return another node as it is."""
        if not isinstance(node, NodeCall) or not isinstance(node.node, CheckpointSchedule):
            return (node,)
        if node.outputs["_numbers"].container != numbers.name:
            return (node,)
        inputs = dict.fromkeys(node.inputs, whole)
        return (replace(node, node=begins if node is start else node.node, inputs=inputs, outputs={"_numbers": whole}),)

    containers = {**program.containers, numbers.name: numbers}
    return replace(program, containers=containers, body=rewritten(program.body, changed))
