"""Measure calls: the first one, the median of later ones, and by how much the process grows."""

from __future__ import annotations

import ctypes
import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdgrad.runtime.call.result_pool import free_memory

SAMPLE = 0.02
"""Seconds that a sample lasts at least: what is quicker is called several times."""
MOST = 10.0
"""Seconds that the samples of one call take together at most, unless one takes longer."""
UNITS = ((1.0, "s"), (1e-3, "ms"), (0.0, "us"))
STATUS, PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Measured:
    """What was measured of a call.

    :param first: seconds of the first call.
    :param seconds: the median of later ones.
    :param samples: how many samples that is the median of.
    :param memory: bytes by which the process grows in a call, at most, with what the call returns; None where Linux
        does not tell.
    """

    first: float
    seconds: float
    samples: int
    memory: int | None


def measured(
    calls: Mapping[str, Callable[[], Any]], samples: int, note: Callable[[str], object]
) -> dict[str, Measured]:
    """Measure calls, by turns: what else the machine does meets all of them alike.

    :param note: is told what is measured just now.
    """
    first, memory, once = {}, {}, {}
    for name, call in calls.items():
        note(f"{name}: the first call")
        first[name] = _seconds(call)
        note(f"{name}: memory")
        memory[name] = peak_memory(call)
        once[name] = _seconds(call)
    repeated = {name: max(1, math.ceil(SAMPLE / max(t, 1e-7))) for name, t in once.items()}
    counts = {name: max(1, min(samples, int(MOST / max(t, SAMPLE)))) for name, t in once.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for k in range(samples):
        note(f"sample {k + 1} of {samples}")
        for name, call in calls.items():
            if k < counts[name]:
                times[name].append(_seconds(call, repeated[name]))
    medians = {name: statistics.median(found) for name, found in times.items()}
    return {n: Measured(first[n], medians[n], counts[n], memory[n]) for n in calls}


def peak_memory(call: Callable[[], Any]) -> int | None:
    """Return the bytes by which this process grows while a call runs, at most; None where Linux does not tell."""
    gc.collect()
    free_memory()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        PEAK.write_text("5")  # the largest size so far is forgotten
        before = _bytes("VmRSS:")
        held = call()
        grown = _bytes("VmHWM:") - before
    except (OSError, AttributeError):
        return None
    del held
    return max(0, grown)


def time_text(seconds: float) -> str:
    """Return a time with three digits, for people."""
    unit, name = next(pair for pair in UNITS if seconds >= pair[0])
    return f"{seconds / (unit or 1e-6):.3g} {name}"


def _seconds(call: Callable[[], Any], times: int = 1) -> float:
    """Return the mean time of some calls in a row."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def _bytes(entry: str) -> int:
    """Return an entry of what Linux says of this process."""
    return next(1024 * int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith(entry))
