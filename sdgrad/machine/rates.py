"""Measure how fast a machine is, once, and keep that in a file: what memory plans reckon with."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sdgrad.machine.model import Machine

FILE = "machine.json"
RATES = (
    "bytes_per_second",
    "instructions_per_second",
    "flops_per_second",
    "seconds_per_call",
    "disk_bytes_per_second",
)
"""The fields of :class:`Machine` that are measured."""
REPEATS = 5
LARGE, SMALL, SIDE = 1 << 23, 1 << 14, 1024
"""Numbers of an array that is in no cache, and of one that is, and rows of a matrix."""


def measured(disk: Path) -> dict[str, float]:
    """Return the fields of :class:`Machine` that are rates of this machine, with the threads of this process.

    :param disk: the folder of files for states.
    """
    a, b = np.ones(LARGE), np.ones(LARGE)
    x, y, z = (np.ones(SMALL) for _ in range(3))
    one, matrix = np.ones(1), np.ones((SIDE, SIDE))
    found = {
        "bytes_per_second": 2 * a.nbytes / _seconds(lambda: np.copyto(b, a)),
        "instructions_per_second": SMALL / _seconds(lambda: np.add(x, y, out=z), 200),
        "flops_per_second": 2 * SIDE**3 / _seconds(lambda: matrix @ matrix),
        "seconds_per_call": _seconds(lambda: np.negative(one, out=one), 2000),
    }
    with contextlib.suppress(OSError):  # that folder cannot be written
        found["disk_bytes_per_second"] = a.nbytes / _seconds(lambda: _through_a_file(a, disk))
    return found


def keep(found: Mapping[str, float], folder: Path) -> Path:
    """Write rates to the file of a folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{FILE}.{os.getpid()}"
    made.write_text(json.dumps(dict(found)))
    made.replace(folder / FILE)
    return folder / FILE


def of_this_machine(folder: Path) -> Machine:
    """Return a machine with the rates that a folder's file has; without one, the usual machine."""
    try:
        found = json.loads((folder / FILE).read_text())
        known: dict[str, Any] = {n: float(found[n]) for n in RATES if n in found}
        return replace(Machine(), **{n: v for n, v in known.items() if 0 < v < float("inf")})
    except (OSError, ValueError, TypeError, AttributeError):  # there is none, or another program has written it
        return Machine()


def _seconds(call: Callable[[], object], times: int = 1) -> float:
    """Return the least time of a call."""
    found = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(times):
            call()
        found.append((time.perf_counter() - start) / times)
    return min(found)


def _through_a_file(values: np.ndarray, folder: Path) -> None:
    """Write an array to a file, and see that it is on the disk."""
    with tempfile.TemporaryFile(dir=folder) as file:
        values.tofile(file)
        file.flush()
        os.fsync(file.fileno())
