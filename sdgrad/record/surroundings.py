"""Notice what a function asks of its surroundings: files, the environment, contexts, clocks.

A program is for what files and the environment hold when it is made; clocks are asked at each call.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import stat
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.table import full_name
from sdgrad.record.random_numbers import HINT
from sdgrad.record.reads import Read, Reads, is_numeric

CLOCKS: tuple[Callable[[], float], ...] = (
    *(time.time, time.perf_counter, time.monotonic, time.process_time, time.thread_time),
    *(time.time_ns, time.perf_counter_ns, time.monotonic_ns, time.process_time_ns, time.thread_time_ns),
)
ASKED: tuple[Callable, ...] = (
    *(os.getenv, os.getcwd, os.path.exists, os.path.isfile, os.path.isdir, os.path.getsize, os.path.getmtime),
    *(logging.Logger.isEnabledFor, logging.Logger.getEffectiveLevel),
)
"""What answers with numbers and texts that may be others at another call."""
DRAWING = (
    os.urandom,
    uuid.uuid1,
    uuid.uuid4,
    secrets.randbelow,
    secrets.token_bytes,
    secrets.token_hex,
    secrets.choice,
)
HELD = ((os, "environ"), (sys, "argv"))
"""Collections of Python's own that programs change."""


@dataclass(frozen=True)
class FileRead:
    """A file that was read, and when it was written."""

    path: str | bytes
    stamp: tuple[int, int, int] | None

    @staticmethod
    def of(path: str | bytes) -> FileRead:
        return FileRead(path, _stamp(path))

    def holds(self) -> bool:
        """True if it is the same file, and nobody has written it since."""
        return _stamp(self.path) == self.stamp


def _stamp(path: str | bytes) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


_opened: list[list[str | bytes]] = []  # by the calls that are looked at, the innermost last


def _notice(event: str, args: tuple) -> None:
    if _opened and event == "open" and isinstance(args[0], (str, bytes)) and not _writes(args[1], args[2]):
        _opened[-1].append(args[0])


def _writes(mode: str | None, flags: int) -> bool:
    return bool(flags & (os.O_WRONLY | os.O_RDWR)) if mode is None else not mode.startswith("r")


sys.addaudithook(_notice)


@contextlib.contextmanager
def files_noted(reads: Reads) -> Iterator[None]:
    """Note the files that are opened to be read."""
    paths: list[str | bytes] = []
    _opened.append(paths)
    try:
        yield
    finally:
        _opened.remove(paths)
        reads.contents += map(FileRead.of, dict.fromkeys(paths))


def asked(recorder: Any, function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return what a function tells of the surroundings; NotImplemented for all other functions.

    :raises ParseError: it draws something else at each call.
    """
    if _is_one_of(function, CLOCKS):
        now = Read(lambda: np.array(function()), (), "called", np.array(function()))
        recorder.reads.arrays[id(now.value)] = now
        return recorder.outside(now.value)[()]
    if _is_one_of(function, DRAWING):
        raise ParseError(f"{full_name(function)} {HINT}")
    of_context = isinstance(getattr(function, "__self__", None), ContextVar) and function.__name__ == "get"
    if not kwargs and (_is_one_of(function, ASKED) or of_context):
        found = function(*args)
        recorder.reads.add(function, args, "called", found)
        return recorder.outside(found) if is_numeric(found) else found
    return NotImplemented


def _is_one_of(function: Any, functions: Sequence[Callable]) -> bool:
    return any(function is f for f in functions)  # users' objects may be equal to anything


def note_held(reads: Reads, owner: Any, name: str, value: Any) -> None:
    """Note what a collection of Python's own holds, if an attribute of a module is one that programs change."""
    if any(owner is module and name == held for module, held in HELD):
        reads.add(owner, name, "attribute", value)
