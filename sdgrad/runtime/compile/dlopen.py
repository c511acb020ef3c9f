"""Load shared libraries such that idle threads of OpenBLAS yield the cores to OpenMP."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

PATIENCE = "OPENBLAS_THREAD_TIMEOUT"
"""The environment variable with the logarithm of the cycles for which idle threads of OpenBLAS spin."""
SHORTEST = "4"
"""The least value that OpenBLAS accepts: 2^4 cycles."""
RELEASE = "sdgrad_free_memory"
"""The function of generated libraries that frees pooled memory; one library does it for all."""
_releasing: list[Any] = []
LIMIT = "omp_set_num_threads"
_pools: list[Any] = []
_lock = threading.Lock()


def load_library(path: str) -> ctypes.CDLL:
    """Load a library and its dependencies.

    By default idle threads of OpenBLAS spin for 2^26 cycles before they sleep. Meanwhile the threads of OpenMP, which
    run the next map, wait for the same cores: on two threads a recurrent network took a hundred times as long.
    OpenBLAS reads the number from the environment when it is loaded. A value that the user has set stays.
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
    """Limit OpenMP to one thread in a forked process: GNU's OpenMP would wait for the threads of the parent."""
    for limit in _pools:
        limit(1)


def release_memory() -> None:
    """Free the pooled memory of generated code."""
    for release in _releasing:
        release()
