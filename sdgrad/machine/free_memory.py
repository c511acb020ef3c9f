"""Ask the system how much memory a program may take."""

from __future__ import annotations

import os
from pathlib import Path

SYSTEM = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")


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
