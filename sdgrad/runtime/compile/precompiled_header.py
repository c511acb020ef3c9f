"""Precompile DaCe's header: once for each set of flags on a machine, for all programs."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dace

from sdgrad.config import config, device
from sdgrad.errors import CompilationFailed
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.cache_folder import cache_folder
from sdgrad.runtime.compile.call_library import CallLibrary
from sdgrad.runtime.compile.checkpoint_tables import table_object
from sdgrad.runtime.compile.compiler import DACE_INCLUDE, compiler_name, cores, flags, run
from sdgrad.runtime.compile.file_lock import is_whole, make_once
from sdgrad.runtime.compile.native_object import NativeObject
from sdgrad.runtime.compile.openblas_wheel import include_folders, is_installed
from sdgrad.runtime.compile.program_objects import blas_object, memory_object
from sdgrad.runtime.compile.progress import working

SOURCE = INCLUDE / "sdgrad_dace.h"
"""The header that is precompiled as ``<dace/dace.h>``."""
AGAIN = f'#include "{SOURCE.name}"\n'
"""The content of ``<dace/dace.h>`` for files that include it after other headers."""
STREAMS, INSTRUMENTS = ("__DACE_STREAM_H",), ("__DACE_PERF_REPORTING_H", "__DACE_SERIALIZATION_H", "__DACE_COMM_H")
"""Include guards of headers in DaCe's runtime that most programs do not use: a third of the compile time."""
NO_SPECIAL = "SDGRAD_NO_SPECIAL_FUNCTIONS"
"""The macro that leaves out special functions (``sdgrad_dace.h``)."""
WITH_BLAS = "SDGRAD_WITH_BLAS"
"""The macro that takes the declarations of OpenBLAS into the header."""
_begun: set[Path] = set()
"""Folders of headers that this process has begun to precompile in the background."""


def without_parts(streams: bool = False, instruments: bool = False, special: bool = False) -> list[str]:
    """Return the flags that leave out the parts of the header that a program does not use, and take in BLAS.

    :param special: True if it calls special functions, such as Bessel's.
    """
    guards = (() if streams else STREAMS) + (() if instruments else INSTRUMENTS) + (() if special else (NO_SPECIAL,))
    blas = (WITH_BLAS,) if _with_openblas() else ()
    return [f"-D{name}" for name in (*guards, *blas)]


@dataclass(frozen=True)
class Header:
    """The precompiled header of programs with these compiler options, in a folder of its own."""

    compiler: str
    options: tuple[str, ...]
    folder: Path

    @staticmethod
    def of(spared: Sequence[str]) -> Header:
        """Return the header for the current settings.

        :param spared: the flags of :func:`without_parts`.
        """
        compiler, options = compiler_name(), (*flags(), *spared)
        own = [h.read_text() for h in sorted(INCLUDE.glob("*.h"))]
        key = hashlib.sha256(" ".join([compiler, dace.__version__, AGAIN, *own, *options]).encode()).hexdigest()[:16]
        return Header(compiler, options, cache_folder() / f"header_{key}")

    @property
    def target(self) -> Path:
        """Return the path of the precompiled header."""
        return self.folder / "dace" / "dace.h.gch"

    @property
    def include(self) -> str:
        """Return the compiler flag that selects it."""
        return f"-I{self.folder}"

    def make(self) -> None:
        """Precompile it, unless it exists.

        :raises CompilationFailed: the compiler does not accept it.
        """
        make_once(self.target, self.folder, self._compile)

    def _compile(self, part: Path) -> None:
        """Let the compiler write the header to a file.

        Unfinished files of processes that ended are removed. A compiler that still writes to one does no harm: the file
        has no name any more.
        """
        self.target.parent.mkdir(parents=True, exist_ok=True)
        for left in self.target.parent.glob("*.part"):
            left.unlink(missing_ok=True)
        self.target.with_suffix("").write_text(AGAIN)
        blas = include_folders() if f"-D{WITH_BLAS}" in self.options else []
        folders = [f"-I{folder}" for folder in (DACE_INCLUDE, *blas)]
        given = [*self.options, *folders, "-x", "c++-header", str(SOURCE), "-o", str(part)]
        run([self.compiler, *given], "dace.h")


def begin() -> None:
    """Precompile the most common header in a background thread, if there is a second core.

    A program that needs it waits for the lock. Errors are not reported here: they occur there once more.
    """
    if device() != "cpu" or cores() < 2:
        return
    try:
        header = Header.of(without_parts())
    except CompilationFailed:
        return
    if header.folder in _begun or is_whole(header.target):
        return
    _begun.add(header.folder)
    made = [header, CallLibrary.of(), *_objects()]  # here: each thread reads settings of DaCe's of its own, from files
    threading.Thread(target=_make_quietly, args=[made], name="sdgrad header", daemon=True).start()


def _make_quietly(made: Sequence[Header | CallLibrary | NativeObject]) -> None:
    """Compile what all programs share; ignore errors."""
    with contextlib.suppress(CompilationFailed, OSError):
        for common in made:
            common.make()


def _objects() -> list[NativeObject]:
    """List the objects that most programs are linked with."""
    return [memory_object(), *([blas_object()] if _with_openblas() else []), table_object()]


def _with_openblas() -> bool:
    return config.blas == "openblas" and is_installed()


def preparations() -> Iterator[tuple[str, Header | CallLibrary | NativeObject]]:
    """List what is compiled once for the current settings, with what it is; nothing for GPUs (nvcc has no headers)."""
    if device() == "cpu":
        yield "header for programs", Header.of(without_parts())
        yield "header for programs with special functions", Header.of(without_parts(special=True))
        yield "library for calls", CallLibrary.of()
        yield from ((common.what, common) for common in _objects())


def prepare() -> None:
    """Compile what all programs share, so that the first gradient does not wait for it: a C++ header, most of all.

    It takes a few seconds, and is kept in :attr:`sdgrad.config.cache_folder` for these settings (``debug``,
    ``optimization_level``) and this compiler. If it exists, this does nothing. On the command line: ``sdgrad prepare``.

    :raises CompilationFailed: there is no compiler, or it does not accept the header.
    """
    for what, shared in preparations():
        with working(f"preparing the {what}"):
            shared.make()
