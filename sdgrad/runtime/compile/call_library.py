"""Compile the functions that compare and run prepared calls: once on a machine."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from sdgrad.runtime.compile.cache_folder import cache_folder
from sdgrad.runtime.compile.compiler import compiler_name, run
from sdgrad.runtime.compile.file_lock import make_once

SOURCE = Path(__file__).parent.parent / "native" / "prepared_call.cpp"


@dataclass(frozen=True)
class CallLibrary:
    """The library of ``prepared_call.cpp``."""

    command: tuple[str, ...]
    target: Path

    @staticmethod
    def of() -> CallLibrary:
        """Return the library for the current compiler and folder of programs."""
        links = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()  # Python's functions are there
        command = (compiler_name(), "-O2", "-std=c++17", "-fPIC", "-shared", "-w", *links)
        key = hashlib.sha256(" ".join([SOURCE.read_text(), *command]).encode()).hexdigest()[:16]
        return CallLibrary(command, cache_folder() / f"prepared_call_{key}.so")

    def make(self) -> None:
        """Compile it, unless it exists.

        :raises CompilationFailed: the compiler fails.
        """
        compiled = [*self.command, str(SOURCE), "-o"]
        make_once(self.target, self.target, lambda part: run([*compiled, str(part)], SOURCE.name))
