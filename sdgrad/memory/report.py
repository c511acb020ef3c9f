"""Tell what a plan's memory is for: the arrays that are live, from where to where, and the lines that make them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sdgrad.machine.limits import shown
from sdgrad.memory.arena import size_in_arena
from sdgrad.memory.footprint import Footprint
from sdgrad.memory.plan import MemoryPlan
from sdgrad.memory.scratch import scratch
from sdgrad.program.own_memory import bytes_of
from sdgrad.program.source_lines import file_and_line, text_of
from sdgrad.program.tree import Program, Source, children, reads, writes


@dataclass(frozen=True)
class Piece:
    """One array of a plan.

    :param span: the first and the last point of the program where it is live.
    :param source: the node that makes it.
    """

    name: str
    bytes: int
    span: tuple[int, int]
    source: Source

    @property
    def line(self) -> str:
        """Return the place in the user's file, with the text of the line; the label of the node if there is none."""
        if not self.source.file or not self.source.line:
            return self.source.label
        return f"{file_and_line(self.source)}: {text_of(self.source)}"

    def is_live(self, point: int) -> bool:
        """True if it is there at a point of the program."""
        return self.span[0] <= point <= self.span[1]

    def __str__(self) -> str:
        return f"{shown(self.bytes)} '{self.name}' ({self.line})" if self.line else f"{shown(self.bytes)} '{self.name}'"


@dataclass(frozen=True)
class Timeline:
    """The bytes of a program over its points, and the arrays that they are made of, the largest first.

    Of arrays of one size those come first that are live where most is.

    :param always: bytes that are there from the first point to the last one: results, and what calls take.
    :param live: bytes of temporaries at each point.
    """

    always: int
    live: np.ndarray
    pieces: tuple[Piece, ...]

    @staticmethod
    def of(plan: MemoryPlan) -> Timeline:
        """Look at a plan."""
        whole = Footprint.of(plan.apart)
        sources: dict[str, Source] = {}
        for name, source in _sources(plan.apart):
            if source.file or not sources.get(name, Source()).file:
                sources[name] = source
        places = {n for p in plan.placements for n in p.offsets}
        pieces = [
            Piece(n, size_in_arena(plan.apart.containers[n]), whole.ranges.spans[n], sources.get(n, Source()))
            for n in places
        ]
        written = {plan.apart.root(w) for node in plan.apart.body for w in writes(node)}
        end = (0, max(0, len(whole.live) - 1))
        pieces += [
            Piece(n, bytes_of(plan.apart.containers[n]), end, sources.get(n, Source()))
            for n in plan.apart.arguments
            if n in written
        ]
        others = {"tables of checkpoints": plan.tables, "workspace of library calls": scratch(plan.apart)}
        pieces += [Piece(n, size, end, Source()) for n, size in others.items() if size]
        peak = int(np.argmax(whole.live)) if len(whole.live) else 0
        pieces.sort(key=lambda p: (-p.bytes, not p.is_live(peak), p.name))
        return Timeline(whole.always + plan.tables, whole.live, tuple(pieces))

    @property
    def peak(self) -> int:
        """Return the point where most is live."""
        return int(np.argmax(self.live)) if len(self.live) else 0

    def at_peak(self) -> list[Piece]:
        """Return the arrays that are live there, the largest first."""
        return [p for p in self.pieces if p.is_live(self.peak)]


def _sources(program: Program) -> Iterator[tuple[str, Source]]:
    """Yield each container with the first node that writes it, or uses it, last ones first."""

    def inside(block: tuple) -> Iterator[tuple[str, Source]]:
        for node in reversed(block):
            for inner in reversed(children(node)):
                yield from inside(inner)
            if not children(node):
                source = getattr(node, "source", Source())
                yield from ((program.root(n), source) for n in (*sorted(reads(node)), *sorted(writes(node))))

    yield from inside(program.body)
