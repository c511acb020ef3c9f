"""DaCe's header, precompiled: once for each machine and set of flags, for all programs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dace

from sdgrad.config import config, device
from sdgrad.errors import CompilationFailed
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.compiler import DACE_INCLUDE, compiler_name, flags, run
from sdgrad.runtime.compile.file_lock import locked
from sdgrad.runtime.compile.progress import working

SOURCE = INCLUDE / "sdgrad_dace.h"  # what is precompiled as <dace/dace.h>
AGAIN = f'#include "{SOURCE.name}"\n'  # what a file that includes <dace/dace.h> once more gets
# Guards of headers of DaCe's runtime that most programs need nothing of: without them a compilation takes a third less
STREAMS, INSTRUMENTS = ("__DACE_STREAM_H",), ("__DACE_PERF_REPORTING_H", "__DACE_SERIALIZATION_H", "__DACE_COMM_H")
NO_SPECIAL = "SDGRAD_NO_SPECIAL_FUNCTIONS"  # see sdgrad_dace.h

_begun: set[Path] = set()  # what this process has begun beside its own work


def without_parts(streams: bool = False, instruments: bool = False, special: bool = False) -> list[str]:
    """Flags that leave out the parts of the header that a program has no use for.

    :param special: it calls special functions, as Bessel's.
    """
    guards = (() if streams else STREAMS) + (() if instruments else INSTRUMENTS) + (() if special else (NO_SPECIAL,))
    return [f"-D{name}" for name in guards]


@dataclass(frozen=True)
class Header:
    """The header for programs that are compiled with ``options``; ``folder`` is where it lies."""

    compiler: str
    options: tuple[str, ...]
    folder: Path

    @staticmethod
    def of(spared: Sequence[str]) -> Header:
        """The header as the settings want it, without what ``without_parts`` says."""
        compiler, options = compiler_name(), (*flags(), *spared)
        own = [h.read_text() for h in sorted(INCLUDE.glob("*.h"))]
        key = hashlib.sha256(" ".join([compiler, dace.__version__, AGAIN, *own, *options]).encode()).hexdigest()[:16]
        return Header(compiler, options, config.cache_folder / f"header_{key}")

    @property
    def target(self) -> Path:
        return self.folder / "dace" / "dace.h.gch"

    @property
    def include(self) -> str:
        """The flag by which the compiler takes it."""
        return f"-I{self.folder}"

    def make(self) -> None:
        """Precompile it, where nobody has done so before.

        :raises CompilationFailed: the compiler does not accept it.
        """
        if self.target.exists():
            return
        with locked(self.folder):
            if not self.target.exists():
                self._compile()

    def _compile(self) -> None:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        # Of a process that ended meanwhile; should its compiler still write, it writes to a file without a name
        for left in self.target.parent.glob("*.part"):
            left.unlink(missing_ok=True)
        self.target.with_suffix("").write_text(AGAIN)
        part = self.target.with_suffix(f".{os.getpid()}.part")
        given = [*self.options, f"-I{DACE_INCLUDE}", "-x", "c++-header", str(SOURCE), "-o", str(part)]
        run([self.compiler, *given], "dace.h")
        part.replace(self.target)


def begin() -> None:
    """Have the header that most programs take made beside what this process does next, if there is a core for it.

    Who needs it waits for the lock. What goes wrong here is not told: it goes wrong there once more.
    """
    if device() != "cpu" or _cores() < 2:
        return
    try:
        header = Header.of(without_parts())
    except CompilationFailed:
        return
    if header.folder in _begun or header.target.exists():
        return
    _begun.add(header.folder)
    threading.Thread(target=_make_quietly, args=[header], name="sdgrad header", daemon=True).start()


def _make_quietly(header: Header) -> None:
    with contextlib.suppress(CompilationFailed, OSError):
        header.make()


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def preparations() -> Iterator[tuple[str, Header]]:
    """What programs share under the settings in force, and what it is for."""
    if device() == "cpu":  # kernels for a GPU are compiled by a compiler that takes no such header
        yield "programs", Header.of(without_parts())
        yield "programs with special functions", Header.of(without_parts(special=True))


def prepare() -> None:
    """Compile now what the first gradient on a machine would wait for: the C++ header that all programs include.

    It takes a few seconds, and is kept in :attr:`sdgrad.config.cache_folder` for these settings (``debug``,
    ``optimization_level``) and this compiler; where it is there already, this does nothing. On the command line this is
    ``sdgrad prepare``.

    :raises CompilationFailed: there is no compiler, or it does not accept the header.
    """
    for what, header in preparations():
        with working(f"preparing the header for {what}"):
            header.make()
