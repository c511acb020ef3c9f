"""Shared libraries, loaded so that threads which have nothing to do let others run."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

PATIENCE = "OPENBLAS_THREAD_TIMEOUT"
SHORTEST = "4"  # 2^4 cycles; OpenBLAS takes no less
RELEASE = "sdgrad_free_memory"
"""What libraries have to give back memory that waits to be used again; one of them does it for all."""
_releasing: list[Any] = []
LIMIT = "omp_set_num_threads"
_pools: list[Any] = []
_lock = threading.Lock()


def load_library(path: str) -> ctypes.CDLL:
    """A library and what it needs.

    OpenBLAS's threads look for work for 2^26 cycles before they sleep. Those of OpenMP, which run the next map, wait
    for the same cores in the meantime: a step of a recurrent network took a hundred times as long on two threads.
    OpenBLAS reads how long from the environment when it is loaded; what the user has set there stays.
    """
    with _lock:
        own = PATIENCE not in os.environ
        if own:
            os.environ[PATIENCE] = SHORTEST
        try:
            library = ctypes.CDLL(path)
        finally:
            if own:
                del os.environ[PATIENCE]
        if not _pools and (limit := getattr(library, LIMIT, None)) is not None:
            _pools.append(limit)
            os.register_at_fork(after_in_child=_without_threads)
        if not _releasing and (release := getattr(library, RELEASE, None)) is not None:
            _releasing.append(release)
        return library


def _without_threads() -> None:
    """In a process that was forked: its thread runs maps alone. GNU's OpenMP would wait for threads left behind."""
    for limit in _pools:
        limit(1)


def release_memory() -> None:
    """Give back memory of generated code that waits to be used again."""
    for release in _releasing:
        release()
