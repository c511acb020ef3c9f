"""Compile C++ of our own to an object file, once on a machine. Programs that need it are linked with it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.cache_folder import cache_folder
from sdgrad.runtime.compile.compiler import compiler_name, flags, run
from sdgrad.runtime.compile.file_lock import is_whole, make_once
from sdgrad.runtime.compile.progress import working


@dataclass(frozen=True)
class NativeObject:
    """An object file: the command that compiles it, without its files, and what it is for."""

    command: tuple[str, ...]
    source: Path
    target: Path
    what: str

    @staticmethod
    def of_source(source: Path, headers: Sequence[Path], options: Sequence[str], name: str, what: str) -> NativeObject:
        """Return the object of a file and its headers, for the current compiler, processor and folder of programs.

        :param options: beside those for the processor.
        :param name: how its file begins.
        """
        processor = [f for f in flags() if f.startswith("-m")]
        given = [*processor, *options, "-std=c++20", "-fPIC", "-fopenmp", "-fvisibility=hidden", "-w", f"-I{INCLUDE}"]
        command = (compiler_name(), *given)
        texts = [source.read_text(), *(h.read_text() for h in headers), *command]
        key = hashlib.sha256(" ".join(texts).encode()).hexdigest()[:16]
        return NativeObject(command, source, cache_folder() / f"{name}_{key}.o", what)

    def make(self) -> Path:
        """Compile it, unless it exists, and return its path.

        :raises CompilationFailed: the compiler fails.
        """
        if not is_whole(self.target):
            with working(f"compiling {self.what}"):
                make_once(self.target, self.target, self._compile)
        return self.target

    def library(self, *links: str) -> Path:
        """Return the path of a library of the object, linked if it does not exist.

        :param links: what it is linked with.
        :raises CompilationFailed: the compiler fails.
        """
        own = self.make()
        linked = hashlib.sha256(" ".join(links).encode()).hexdigest()[:8]
        target = own.with_name(f"{own.stem}_{linked}.so")
        command = [self.command[0], "-shared", str(own), *links, "-o"]
        make_once(target, target, lambda part: run([*command, str(part)], self.source.name))
        return target

    def _compile(self, part: Path) -> None:
        run([*self.command, "-c", str(self.source), "-o", str(part)], self.source.name)
