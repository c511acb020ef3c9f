"""Statements of a program with what their adjoints need: what an explanation is made of."""

from __future__ import annotations

from dataclasses import dataclass

from sdgrad.analysis.paths import Path
from sdgrad.program.source_lines import file_and_line, text_of
from sdgrad.program.tree import Source

STORED, UNDONE, AGAIN, FREE = "stored", "put back", "computed again", "still there"


@dataclass(frozen=True)
class Value:
    """A value that an adjoint needs: where it comes from, and what that costs."""

    what: str
    how: str  # stored, put back, computed again, still there
    where: str = ""
    formula: str = ""  # bytes
    size: int | None = None  # bytes, where the sizes are known

    def __str__(self) -> str:
        size = f" ({self.size:,} bytes)" if self.size is not None else ""
        where = f" in {self.where}" if self.where else ""
        return f"{self.what}: {self.how}{where}" + (f", {self.formula}{size}" if self.formula else "")


@dataclass(frozen=True)
class Statement:
    """A node of the primal program with its adjoint."""

    path: Path
    source: Source
    primal: tuple[str, ...]
    adjoint: tuple[str, ...]
    active: bool
    values: tuple[Value, ...]
    schedule: str  # of the adjoint: how its instances run, and why

    @property
    def line(self) -> str:
        """Return the text of the source line."""
        return text_of(self.source)

    @property
    def place(self) -> str:
        """Return the name of the file, and the number of the line; the label of a node that has none."""
        return file_and_line(self.source)
