"""Say how a compiled program is called, in a file beside it: its graph need not be written again."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from sdgrad.runtime.compile.build import Job
from sdgrad.runtime.compile.memory_needs import memory_needs

FILE = "interface.json"


@dataclass(frozen=True)
class Interface:
    """The name of a program, and what it takes, in this order.

    :param initial: the arguments that the initialization takes as well.
    :param size: the bytes of the library.
    """

    name: str
    arguments: tuple[str, ...]
    initial: tuple[str, ...]
    symbols: tuple[str, ...]
    needs: str
    size: int

    @staticmethod
    def of(job: Job) -> Interface:
        """Return the interface of a graph that is compiled."""
        names = tuple(job.arguments), tuple(job.initial), tuple(job.sdfg.symbols)
        return Interface(job.sdfg.name, *names, memory_needs(job.sdfg), job.target.stat().st_size)

    @staticmethod
    def read(folder: Path) -> Interface | None:
        """Read the interface in the folder of a program; None if there is none, or another version has written it."""
        try:
            found = json.loads((folder / FILE).read_text())
            arguments, initial, symbols = (tuple(map(str, found[k])) for k in ("arguments", "initial", "symbols"))
            size = int(found["size"])
            return Interface(str(found["name"]), arguments, initial, symbols, str(found["needs"]), size)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def fits(self, library: Path) -> bool:
        """True if a library is as long as it was: to load a shorter one ends the process by a signal."""
        try:
            return library.stat().st_size == self.size
        except OSError:
            return False

    def write(self, folder: Path) -> None:
        """Write the interface to the folder of its program, in one step."""
        part = folder / f"{FILE}.{os.getpid()}"
        part.write_text(json.dumps(asdict(self)))
        part.replace(folder / FILE)
