"""Say what takes so long: after two seconds one line, with what is being made and how long each step took."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

from sdgrad.config import config

PATIENCE = 2.0  # seconds before the first word
_state = threading.local()


@contextlib.contextmanager
def step(what: str, name: str) -> Iterator[None]:
    """Name what is done inside, for the line that appears once the work on a function takes long.

    :param what: like "recording".
    :param name: of the function.
    """
    if getattr(_state, "inside", False) or not shown():
        yield
        return
    _state.inside = True
    begin = time.perf_counter()
    said = threading.Event()

    def say() -> None:
        said.set()
        print(f"sdgrad: {what} {name} ..", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _state.inside = False
        if said.is_set():
            print(f" {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)


def shown() -> bool:
    """True if there is somebody to tell."""
    return config.progress and sys.stderr.isatty()
