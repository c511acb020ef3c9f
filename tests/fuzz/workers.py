"""Checks in a process of their own: one that dies or hangs is one failure, not the end of the run."""

from __future__ import annotations

import gc
import multiprocessing
import shutil
import tempfile
import time
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

LIFETIME = 150
"""Programs a process checks before a new one takes over: loaded libraries are not given back."""


@dataclass(frozen=True)
class Outcome:
    """What a check found: ``ok``, ``unusable`` or ``failed``, and how."""

    status: str
    message: str
    seconds: float


class Worker:
    """One process at a time, that checks one program at a time."""

    def __init__(self, timeout: float, level: int = 0, way: str = "function") -> None:
        self.timeout, self.level, self.way = timeout, level, way
        self.folder = tempfile.mkdtemp(prefix="sdgrad_fuzz_cache_")
        self.process: multiprocessing.process.BaseProcess | None = None
        self.checked = 0

    def check(self, program: str, way: str | None = None) -> Outcome:
        """The outcome of one program, asked in some way, or in the worker's own."""
        if self.process is None or self.checked >= LIFETIME:
            self.restart()
        self.checked += 1
        begin = time.perf_counter()
        self.pipe.send((program, way or self.way))
        if not self.pipe.poll(self.timeout):
            self.stop()
            return Outcome("failed", f"timeout: not done after {self.timeout} s", time.perf_counter() - begin)
        try:
            status, message = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            code = self.stop()
            return Outcome("failed", f"crash: the process ended with {code}", time.perf_counter() - begin)
        return Outcome(status, message, time.perf_counter() - begin)

    def restart(self) -> None:
        self.stop()
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, self.folder, self.level), daemon=True)
        self.process.start()
        theirs.close()
        self.checked = 0

    def stop(self) -> int | None:
        """End the process; its exit code."""
        if self.process is None:
            return None
        self.process.join(1.0)
        self.process.kill()
        self.process.join()
        code, self.process = self.process.exitcode, None
        self.pipe.close()
        return code

    def close(self) -> None:
        if self.process is not None:
            self.pipe.send(None)
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def serve(pipe: Connection, folder: str, level: int) -> None:
    """Check what comes through the pipe, a program and its way, until it is None."""
    from fuzz.check import failure, quick_builds
    from fuzz.ways import WAYS, Unusable

    warnings.simplefilter("ignore")
    with quick_builds(folder, level):
        while (asked := pipe.recv()) is not None:
            program, way = asked
            try:
                message = failure(program, way=WAYS[way])
                pipe.send(("failed" if message else "ok", message or ""))
            except Unusable as reason:
                pipe.send(("unusable", str(reason)))
            _tidy(Path(folder))


def _tidy(folder: Path) -> None:
    """Remove compiled programs, but not what all of them share, which is in the folder for this processor."""
    from fresh_cache import SHARED, kind_of

    from sdgrad.config import config

    own = config.cache_folder
    for path in (*folder.iterdir(), *own.iterdir()):
        if path == own or path.parent == own and kind_of(path.name) in SHARED:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    gc.collect()
