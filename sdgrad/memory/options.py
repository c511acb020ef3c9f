"""What a plan chooses from: the options of a loop with checkpoints, or of a segment that may run again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sdgrad.analysis.live_ranges import LiveRanges, Span
from sdgrad.config import config
from sdgrad.memory.durations import seconds
from sdgrad.memory.rematerialization import Segment
from sdgrad.optimize.dataflow.checkpoint_memory import LoopRoom, begun
from sdgrad.optimize.dataflow.checkpoint_places import bytes_of_place, trip_of
from sdgrad.optimize.dataflow.room_apart import RoomApart
from sdgrad.program.tree import Program
from sdgrad.runtime.libraries.checkpoint_schedule import BYTES_OF_AN_ITEM, NO_DISK, Disk
from sdgrad.tape.schedule_counts import growing

Room = LoopRoom | RoomApart

GROWTH = 1.1
"""Factor from one room that is tried to the next one."""


@dataclass(frozen=True)
class Option:
    """One way to run a region.

    :param seconds: that it takes beside a run with all tapes.
    :param changes: bytes that it adds to points of the program, from one to another.
    :param units: of the room of a loop with checkpoints.
    :param disk: what such a loop has on the disk.
    :param files: bytes of that.
    """

    seconds: float
    changes: tuple[tuple[Span, int], ...] = ()
    units: int | None = None
    disk: Disk = NO_DISK
    files: int = 0
    segment: Segment | None = None


@dataclass(frozen=True)
class Region:
    """A loop with checkpoints, or a segment, and its options."""

    options: tuple[Option, ...]
    room: Room | None = None


def region_of(room: Room, trip: float, ranges: LiveRanges, disk: int) -> Region:
    """Return a loop with checkpoints with rooms of growing sizes, from the least to that for all tapes.

    :param disk: bytes that files may have.
    """
    spans = [ranges.spans[c.name] for c in (*room.states, *room.tapes) if c.name in ranges.spans]
    span = min(s[0] for s in spans), max(s[1] for s in spans)
    sizes = [(units, NO_DISK) for units in growing(room.least, room.most, GROWTH)]
    found = [_room_of(room, units, given, span, trip) for units, given in [*sizes, *room.on_disk(disk)]]
    return Region(tuple(_without_slower(found)), room)


def _room_of(room: Room, units: int, disk: Disk, span: Span, trip: float) -> Option:
    """Return a room of some units, and what is on the disk, as an option, given the time of a trip."""
    time = seconds_again(room, units, trip, disk)
    change = span, room.bytes(units, disk) + room.table(units, disk) + BYTES_OF_AN_ITEM * disk.places
    return Option(time, (change,), units, disk, disk.places * _state_on_disk(room))


def _without_slower(options: list[Option]) -> Iterator[Option]:
    """Yield the options that no other one beats in time with as little memory and as few bytes of files."""
    before: list[tuple[int, float]] = []  # of options with no more memory
    for option in sorted(options, key=lambda o: (sum(n for _, n in o.changes), o.files, o.seconds)):
        if not option.files or all(files > option.files or time > option.seconds for files, time in before):
            before.append((option.files, option.seconds))
            yield option


def seconds_of_trips(found: Sequence[Room], program: Program) -> dict[str, float]:
    """Estimate the time of a trip of loops with checkpoints, by their schedules: of all trips around it."""
    times = begun(found, program)
    return {r.numbers: times[r.numbers] * seconds(trip_of(r.numbers, program), program) for r in found}


def seconds_again(room: Room, units: int, trip: float, disk: Disk = NO_DISK) -> float:
    """Estimate the time of the trips that a room of some units makes run again, given that of one."""
    if room.fixed:
        return 0.0
    traffic = 2 * room.reckoned // disk.block * _state_on_disk(room) if disk.block else 0  # written, and read
    return trip * room.again(units, disk) + traffic / config.machine.disk_bytes_per_second


def _state_on_disk(room: Room) -> int:
    """Return the bytes of a state on the disk."""
    return sum(map(bytes_of_place, room.disk))
