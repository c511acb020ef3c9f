"""Define the library node that drives loops with checkpoints: it says what runs next.

The schedules of loops with a known number of trips are in ``sdgrad_schedule.h``, those of others in
``sdgrad_online_schedule.h``. Their tables are compiled once for all programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import dace
import dace.library
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.program.tree import Node, NodeCall
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.checkpoint_tables import table_object
from sdgrad.runtime.libraries.environment import NeedsNothing
from sdgrad.runtime.libraries.triangular_solve import LOOPS, cpp_tasklet

HEADER = str(INCLUDE / "sdgrad_online_schedule.h")
HEADER_OF_FILES = str(INCLUDE / "sdgrad_disk.h")
FORWARDS = ("save", "first", "taped", "last", "into", "into_unit")
BACKWARDS = ("until", "back", "out_of", "out_of_unit")
PARTS = ("ahead", "left", "restore", *FORWARDS, *BACKWARDS)
"""The numbers that say what runs next, in the order of ``CheckpointSchedule``."""

BEFORE_ITEMS = len(PARTS) + 12
BYTES_OF_AN_ITEM = 4 * 8
"""Of what a schedule notes of a state; less if it does not know its trips."""

SEVERAL_TYPES = "several types"
"""The implementation of a start where what the loop keeps shares memory, and has several types."""

STATE, TAPE, DISK = "_state", "_tape", "_disk"
"""How the connectors of what a loop keeps begin."""

CODE = {
    "start": "sdgrad::start_schedule({numbers}, _numbers);",
    "forwards": "reinterpret_cast<sdgrad::CheckpointSchedule *>(_numbers)->next(false);",
    "backwards": "reinterpret_cast<sdgrad::CheckpointSchedule *>(_numbers)->next(true);",
    "start_states": "sdgrad::start_schedule_of_states({given[0]}, {given[2]}, {given[4]}, {given[5]}, _numbers);",
    "start_online": "sdgrad::start_online_schedule({given[0]}, {given[1]}, {given[5]} > 0, _numbers);",
    "trip": "reinterpret_cast<sdgrad::OnlineSchedule *>(_numbers)->trip();",
    "end": "reinterpret_cast<sdgrad::OnlineSchedule *>(_numbers)->end();",
    "backwards_online": "reinterpret_cast<sdgrad::OnlineSchedule *>(_numbers)->next();",
}
STARTS = ("start", "start_states", "start_online")
ASKING = ("forwards", "backwards", "trip", "backwards_online")  # once in each trip of a loop that a schedule drives


class Disk(NamedTuple):
    """Places for states on the disk, and the trips of a block: such states are between two of them."""

    places: int = 0
    block: int = 0


NO_DISK = Disk()


def count_of_numbers(trips: int, state: int, room: int, disk: Disk = NO_DISK) -> int:
    """Return how many numbers a schedule has: as ``schedule_items`` counts them, with those before the items."""
    each = min(trips, disk.block) if disk.block else trips
    return BEFORE_ITEMS + 4 * (disk.places + 2 * min(each, room // state if state else each) + 2)


def count_of_online_numbers(places: int) -> int:
    """Return how many numbers a schedule has that keeps some states of a loop with any number of trips."""
    return len(PARTS) + 7 + 3 * places


@dace.library.environment
class Tables(NeedsNothing):
    """The object that programs with schedules are linked with."""

    @staticmethod
    def cmake_libraries() -> list[str]:
        """Return the object to link, compiled first if it does not exist."""
        return [str(table_object().make())]


@dace.library.environment
class OneMemory(NeedsNothing):
    """Tell the compiler that numbers of different types may take the same memory; loops of gathers get slower by it."""

    cmake_compile_flags: ClassVar[list[str]] = ["-fno-strict-aliasing"]


@dace.library.expansion
class ExpandCall(ExpandTransformation):
    """Expand to a call."""

    environments: ClassVar[list] = [Tables]

    @staticmethod
    def expansion(node: CheckpointSchedule, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        code = CODE[node.kind].format(numbers=", ".join(map(str, node.given)), given=node.given)
        made = {e.src_conn: dace.pointer(sdfg.arrays[e.data.data].dtype) for e in state.out_edges(node)}
        given = {e.dst_conn: made["_numbers"] for e in state.in_edges(node)}
        return cpp_tasklet(node, given, made, code, HEADER_OF_FILES if node.is_start and node.given[-1] else HEADER)


@dace.library.expansion
class ExpandOfSeveralTypes(ExpandCall):
    """Expand to a call, of a program whose states and tapes share memory and are of several types."""

    environments: ClassVar[list] = [Tables, OneMemory]


@dace.library.node
class CheckpointSchedule(nd.LibraryNode):
    """Say what runs next, in the array ``_numbers`` that holds the schedule: the first are :data:`PARTS`.

    ``start`` begins with the numbers ``given``: trips, units of a state, units of a tape, units of room, 1 if states
    and tapes have arrays of their own, and trips of a block and places on the disk, 0 if there is none. What the loop
    keeps stands among its outputs. ``forwards`` and
    ``backwards`` find the next part of the way; ``_was`` is the same array.

    The others are given places for states, and for tapes of trips, as many trips as there may be, the most places for
    tapes that they may be given, trips of a block, and places on the disk. ``start_states`` keeps the tape of one trip
    at a time, ``start_online`` begins a loop with any number of trips: all its places for states are on the disk, or
    none. There ``trip`` finds where the state of the next trip is
    kept, ``end`` comes after the last one, and ``backwards_online`` finds the next part of the way backwards.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandCall, SEVERAL_TYPES: ExpandOfSeveralTypes}
    default_implementation: ClassVar[str] = LOOPS

    kind = properties.Property(dtype=str, default="start", choices=list(CODE))
    given = properties.ListProperty(element_type=int, default=[])

    def __init__(self, kind: str = "start", given: Sequence[int] = (), kept: Sequence[str] = ()) -> None:
        inputs = set() if kind in STARTS else {"_was"}
        super().__init__(f"schedule_{kind}", inputs=inputs, outputs={"_numbers", *kept})
        self.kind, self.given = kind, list(given)

    @property
    def is_start(self) -> bool:
        """True if it begins a schedule."""
        return self.kind in STARTS


def schedule_calls(nodes: Iterable[Node]) -> Iterator[NodeCall]:
    """Yield the calls of schedules among some nodes."""
    return (n for n in nodes if isinstance(n, NodeCall) and isinstance(n.node, CheckpointSchedule))
