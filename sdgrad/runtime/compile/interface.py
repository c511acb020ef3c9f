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
    """

    name: str
    arguments: tuple[str, ...]
    initial: tuple[str, ...]
    symbols: tuple[str, ...]
    needs: str

    @staticmethod
    def of(job: Job) -> Interface:
        """Return the interface of a graph."""
        return Interface(
            job.sdfg.name, tuple(job.arguments), tuple(job.initial), tuple(job.sdfg.symbols), memory_needs(job.sdfg)
        )

    @staticmethod
    def read(folder: Path) -> Interface | None:
        """Read the interface in the folder of a program; None if there is none, or another version has written it."""
        try:
            found = json.loads((folder / FILE).read_text())
            arguments, initial, symbols = (tuple(map(str, found[k])) for k in ("arguments", "initial", "symbols"))
            return Interface(str(found["name"]), arguments, initial, symbols, str(found["needs"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, folder: Path) -> None:
        """Write the interface to the folder of its program, in one step."""
        part = folder / f"{FILE}.{os.getpid()}"
        part.write_text(json.dumps(asdict(self)))
        part.replace(folder / FILE)
