"""Count the bytes that a program takes while it runs, at each of its points.

Arrays that the caller has before the call count for nothing. What the call makes counts: results, copies of arguments
that the program writes, temporaries, tapes and adjoints, from the first point to the last that uses them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdgrad.analysis.live_ranges import LiveRanges
from sdgrad.memory.arena import placeable, size_in_arena
from sdgrad.program.tree import Container, Program, Scope, walk, writes


@dataclass(frozen=True)
class Footprint:
    """Bytes of a program.

    :param always: bytes that are there as long as the call: results, copies of arguments, and arrays of scopes.
    :param live: bytes of temporaries at each point.
    :param ranges: where they are live.
    """

    always: int
    live: np.ndarray
    ranges: LiveRanges

    @property
    def peak(self) -> int:
        """Return the most bytes at one point, if nothing is lost between arrays."""
        return self.always + int(self.live.max(initial=0))

    @staticmethod
    def of(program: Program) -> Footprint:
        """Count the bytes of a program."""
        ranges = LiveRanges.of(program)
        changes = np.zeros(ranges.points + 1, np.int64)
        for name in placeable(program):
            if name in ranges.spans:
                first, last = ranges.spans[name]
                size = size_in_arena(program.containers[name])
                changes[first] += size
                changes[last + 1] -= size
        return Footprint(results(program) + in_scopes(program), np.cumsum(changes)[:-1], ranges)


def results(program: Program) -> int:
    """Return the bytes of arguments that the program writes: results, or copies of what the caller gives."""
    written = {program.root(w) for node in program.body for w in writes(node)}
    return sum(bytes_of(program.containers[n]) for n in program.arguments if n in written)


def in_scopes(program: Program) -> int:
    """Return the bytes of arrays that each instance of a map has for itself, one instance for each thread."""
    scopes = (n for n in walk(program.body) if isinstance(n, Scope))
    return sum(bytes_of(c) for s in scopes for c in s.locals if not c.desc.free_symbols)


def bytes_of(container: Container) -> int:
    """Return the bytes of a container of known size."""
    return int(container.desc.total_size) * container.dtype.bytes
