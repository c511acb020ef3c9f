"""Make programs one after the other, without the garbage collector."""

from __future__ import annotations

import gc
import threading

SELDOM = (50_000, 50)
"""New objects after which the collector looks at the youngest, and how often until it looks at the next older ones."""


class Making:
    """Lock the making of programs; a thread that holds the lock may enter again.

    DaCe's frontend and its settings are one for the whole process. Most objects that are made live until the program is
    complete: collecting garbage meanwhile takes a tenth of the time.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._before = gc.get_threshold()

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._before = gc.get_threshold()
            young, older, oldest = self._before
            if young:  # zero: the user has switched it off
                gc.set_threshold(max(young, SELDOM[0]), max(older, SELDOM[1]), oldest)

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            gc.set_threshold(*self._before)
        self._lock.release()


making = Making()
