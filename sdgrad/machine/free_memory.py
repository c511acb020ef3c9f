"""Ask the system how much memory a program may take."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SYSTEM = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")


@dataclass
class Answers:
    """What has been decided by the memory that is free: the same is decided while :meth:`hold` is true.

    :param fitted: the most bytes that there was room for.
    :param refused: the fewest that there was none for.
    """

    fitted: int = 0
    refused: float = math.inf

    def hold(self, room: int) -> bool:
        """True if as much room gives the same answers."""
        return self.fitted <= room < self.refused

    def note(self, asked: int, room: int) -> None:
        """Note that there was room for some bytes, or none."""
        if asked <= room:
            self.fitted = max(self.fitted, asked)
        else:
            self.refused = min(self.refused, asked)


_listening: list[Answers] = []


@contextlib.contextmanager
def noting(answers: Answers) -> Iterator[None]:
    """Note what is decided by the memory that is free."""
    _listening.append(answers)
    try:
        yield
    finally:
        _listening.pop()


def is_room(asked: int, room: int) -> bool:
    """True if some bytes fit into the room that there is; decisions by what is free are made by this function."""
    for heard in _listening:
        heard.note(asked, room)
    return asked <= room


def all_of(room: int) -> int:
    """Return the room that there is, for what takes all of it: with any other there would be another program."""
    is_room(room, room)
    is_room(room + 1, room)
    return room


def free_memory() -> int:
    """Return the bytes that can be allocated without swapping: of the machine, and of the process's control group.

    Linux says so (``MemAvailable``, ``memory.max`` less ``memory.current``); elsewhere half of the memory counts as
    free.
    """
    free = _available()
    try:
        most, used = ((GROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return free if most == "max" else max(0, min(free, int(most) - int(used)))
    except (OSError, ValueError):
        return free


def _available() -> int:
    try:
        lines = SYSTEM.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
