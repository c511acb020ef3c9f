"""Threads, times and memory of what is measured."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LEAST = 0.02
"""Seconds that a sample lasts at least: what is quicker is called several times."""


def limit_threads(threads: int) -> list[int]:
    """Give this process that many cores and threads. It comes before NumPy, JAX and DaCe are imported."""
    if "numpy" in sys.modules:
        raise RuntimeError("the number of threads has to be set before NumPy is imported")
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(threads)
    os.environ.pop("OPENBLAS_CORETYPE", None)  # every engine runs the kernels that the machine has
    if threads == 1:  # XLA reads a file of flags unless the variable starts with "--"
        single = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{single} {os.environ.get('XLA_FLAGS', '')}".strip()
    os.environ["JAX_PLATFORMS"] = "cpu"
    cores = sorted(os.sched_getaffinity(0))
    if threads > len(cores):
        raise SystemExit(f"--threads {threads}: this process has {len(cores)} cores")
    os.sched_setaffinity(0, cores[-threads:])
    return cores[-threads:]


def seconds(call: Callable[[], Any], times: int = 1) -> float:
    """The mean time of some calls in a row."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def enough(call: Callable[[], Any]) -> int:
    """How often a call has to be repeated to last as long as a sample."""
    return max(1, math.ceil(LEAST / max(seconds(call), 1e-7)))


def medians(calls: dict[Any, Callable[[], Any]], reps: int) -> dict[Any, float]:
    """The median time of each call; in each repetition all of them run."""
    times = {key: enough(call) for key, call in calls.items()}
    samples: dict[Any, list[float]] = {key: [] for key in calls}
    for _ in range(reps):
        for key, call in calls.items():
            samples[key].append(seconds(call, times[key]))
    return {key: statistics.median(values) for key, values in samples.items()}


def peak_memory(call: Callable[[], Any]) -> int | None:
    """Bytes by which the memory of this process grew while it ran a call, at most; None where Linux does not tell."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        return None

    def kilobytes(entry: str) -> int:
        (line,) = (x for x in status.read_text().splitlines() if x.startswith(entry))
        return int(line.split()[1])

    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    try:
        reset.write_text("5")
    except OSError:
        return None
    before = kilobytes("VmRSS:")
    held = call()
    grown = 1024 * max(0, kilobytes("VmHWM:") - before)
    del held
    return grown
