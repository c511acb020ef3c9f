"""Lock files between processes: the first process builds what they share on disk, the others wait."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from sdgrad.runtime.compile.cache_folder import writing

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


@contextlib.contextmanager
def unless_locked(path: Path) -> Iterator[bool]:
    """Hold the lock of a path, if there is one; False if another process or thread has it, for which nobody waits."""
    with contextlib.ExitStack() as held:
        free = True
        with contextlib.suppress(FileNotFoundError):
            handle = held.enter_context(open(f"{path}.lock", "r+"))
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                free = False
        yield free


def make_once(target: Path, lock: Path, write: Callable[[Path], None]) -> None:
    """Make a file unless it exists: it appears under its name when it is complete.

    All programs need it: it is made again where it is not as long as it was, as a power cut may leave a part of it.

    :param lock: the path that is locked meanwhile.
    :param write: writes the file under the name that it is given.
    """
    if is_whole(target):
        return
    with writing(), locked(lock):
        if not is_whole(target):
            for left in target.parent.glob(f"{target.stem}.*.part"):  # by processes that ended meanwhile
                left.unlink(missing_ok=True)
            part = target.with_suffix(f".{os.getpid()}.part")
            write(part)
            _size(target).write_text(str(part.stat().st_size))
            part.replace(target)


def is_whole(target: Path) -> bool:
    """True if a file that is made once exists, and is as long as it was."""
    try:
        return target.stat().st_size == int(_size(target).read_text())
    except (OSError, ValueError):
        return False


def _size(target: Path) -> Path:
    """Return the file that says how long one is."""
    return Path(f"{target}.size")


def _let_go() -> None:
    """Close the parent's handles in a forked process, which has no thread to close them: it would wait for itself."""
    for handle in _held:
        handle.close()
    _held.clear()


os.register_at_fork(after_in_child=_let_go)
