"""Give a loop with checkpoints that does not know its trips places for states, and for tapes of a block of trips."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from sdgrad.config import config
from sdgrad.optimize.dataflow.checkpoint_places import bytes_of_place, is_own, kept_by, with_places, with_start
from sdgrad.program.tree import Block, Container, Loop, NodeCall, Program
from sdgrad.runtime.libraries.checkpoint_schedule import CheckpointSchedule, count_of_online_numbers
from sdgrad.tape.schedule_counts import online_runs

GROWTH = 1.1
"""Factor from one block of trips that is tried to the next one."""


@dataclass(frozen=True)
class OnlineRoom:
    """The room of one loop: arrays of states, and arrays of tapes.

    A unit of the room has the bytes of a state and of the tape of a trip. Of all ways to divide a room, the one that
    runs the fewest trips is taken, if there are as many as there may be.

    :param start: the call that starts the loop's schedule.
    :param numbers: the container of that schedule.
    :param places: for states, and for tapes, that it has been given so far.
    :param trips: as many as there may be.
    :param fixed: it cannot be given others.
    """

    start: NodeCall
    numbers: str
    states: tuple[Container, ...]
    tapes: tuple[Container, ...]
    places: tuple[int, int]
    trips: int
    fixed: bool

    @staticmethod
    def of(start: NodeCall, program: Program) -> OnlineRoom:
        """Find what a loop keeps, from the start of its schedule."""
        states, tapes = kept_by(start, program)
        places, block, trips = start.node.given
        fixed = not states or not tapes or not all(is_own(c, program) for c in (*states, *tapes))
        return OnlineRoom(start, start.outputs["_numbers"].container, states, tapes, (places, block), trips, fixed)

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
        return 0 if self.fixed else math.isqrt(self.trips) + 1

    def divided(self, given: int) -> tuple[int, int]:
        """Return for how many states and tapes there are places."""
        if given == 0:
            return self.places
        state, tape = self.sizes
        room, best, block = given * (state + tape), (1, 1), 1
        while block * tape + state <= room:
            found = (room - block * tape) // state, block
            best = min(best, found, key=lambda places: online_runs(self.trips, *places))
            block = max(block + 1, int(block * GROWTH))
        return best

    def bytes(self, given: int) -> int:
        """Return the bytes of so many units."""
        return sum(n * size for n, size in zip(self.divided(given), self.sizes, strict=True))

    def again(self, given: int) -> float:
        """Estimate how many trips run again, of as many as the cost model reckons with."""
        return 0.0 if self.fixed else self.reckoned * (online_runs(self.trips, *self.divided(given)) / self.trips - 1)

    @property
    def reckoned(self) -> int:
        """Return for how many trips the cost model takes the loop."""
        return self.trips if self.trips < config.machine.open_loop_trips else config.machine.unknown_size

    def table(self, given: int) -> int:
        """Return the bytes of the schedule's table: it has none."""
        return 0

    def trip(self, program: Program) -> Block:
        """Return what runs in one trip forwards."""
        for loop in (n for n in program.body if isinstance(n, Loop)):
            calls = [n for n in loop.body if isinstance(n, NodeCall) and "_was" in n.inputs]
            if any(n.inputs["_was"].container == self.numbers for n in calls):
                return loop.body
        return ()

    def placed(self, program: Program, given: int = 0) -> Program:
        """Return the program with the room in its place.

        :param given: units of the room; 0: it stays as it is.
        """
        found, numbers = self.divided(given), program.containers[self.numbers]
        begins = CheckpointSchedule("start_online", [*found, self.trips])
        if given == 0:
            return with_start(program, self.start, begins, numbers)
        made = with_places(self.states, found[0]) | with_places(self.tapes, found[1])
        program = replace(program, containers={**program.containers, **made})
        return with_start(program, self.start, begins, numbers, count_of_online_numbers(found[0]))
