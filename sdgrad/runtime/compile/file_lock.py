"""Lock files between processes: the first process builds what they share on disk, the others wait."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_held: set[IO[str]] = set()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a path; other processes and threads wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{path}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        _held.add(handle)
        try:
            yield
        finally:
            _held.discard(handle)


def _let_go() -> None:
    """Close the parent's handles in a forked process, which has no thread to close them: it would wait for itself."""
    for handle in _held:
        handle.close()
    _held.clear()


os.register_at_fork(after_in_child=_let_go)
