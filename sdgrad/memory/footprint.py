"""Count the bytes that a program takes while it runs, at each of its points.

Arrays that the caller has before the call count for nothing. What the call makes counts: results, copies of arguments
that the program writes, temporaries, tapes and adjoints, from the first point to the last that uses them.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import sympy

from sdgrad.analysis.access_relations import loop_param
from sdgrad.analysis.live_ranges import LiveRanges
from sdgrad.analysis.uses import users
from sdgrad.memory.arena import placeable, size_in_arena
from sdgrad.memory.scratch import scratch
from sdgrad.program.own_memory import bytes_of
from sdgrad.program.tree import Block, Container, Loop, Program, Scope, walk, writes


@dataclass(frozen=True)
class Footprint:
    """Bytes of a program.

    :param always: bytes that are there as long as the call: results, copies of arguments, arrays of scopes, and the
        most that a library call takes for itself.
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
    def of(program: Program, lasting: Collection[str] = ()) -> Footprint:
        """Count the bytes of a program.

        :param lasting: temporaries that stay until the end.
        """
        ranges = LiveRanges.of(program).until_the_end(lasting)
        changes = np.zeros(ranges.points + 1, np.int64)
        for name in placeable(program):
            if name in ranges.spans:
                first, last = ranges.spans[name]
                size = size_in_arena(program.containers[name])
                changes[first] += size
                changes[last + 1] -= size
        always = results(program) + in_scopes(program) + in_loops(program) + scratch(program)
        return Footprint(always, np.cumsum(changes)[:-1], ranges)


def results(program: Program) -> int:
    """Return the bytes of arguments that the program writes: results, or copies of what the caller gives."""
    written = {program.root(w) for node in program.body for w in writes(node)}
    return sum(bytes_of(program.containers[n]) for n in program.arguments if n in written)


def in_scopes(program: Program) -> int:
    """Return the bytes of arrays that each instance of a map has for itself, one instance for each thread."""
    scopes = (n for n in walk(program.body) if isinstance(n, Scope))
    return sum(bytes_of(c) for s in scopes for c in s.locals if not c.symbols)


def in_loops(program: Program) -> int:
    """Return the bytes of temporaries whose sizes follow from the variables of loops: what they take at most."""
    bounds = bounds_of_loops(program.body)
    local = {c.name for n in walk(program.body) if isinstance(n, Scope) for c in n.locals}
    found = [program.containers[n] for n in users(program.body, program) if n not in local]
    own = [c for c in found if c.transient and c.view_of is None and c.symbols]
    return sum(size for c in own if (size := largest(c, bounds)) is not None)


Bounds = Mapping[str, tuple[int, int]]
"""The least and the greatest value of variables."""


def bounds_of_loops(block: Block) -> dict[str, tuple[int, int]]:
    """Return the bounds of variables of loops that begin and end at numbers."""
    found: dict[str, tuple[int, int]] = {}
    for node in walk(block):
        if isinstance(node, Loop) and (param := loop_param(node)) is not None:
            ends = [param.start, param.stop]
            if all(e.is_number for e in ends):
                own = [int(e) for e in ends]
                before = found.get(node.symbol, (own[0], own[0]))
                found[node.symbol] = min(*own, *before), max(*own, *before)
    return found


def largest(container: Container, bounds: Bounds) -> int | None:
    """Return the most bytes of a container whose size is linear in variables of loops; None if it is not."""
    size = sympy.expand(sympy.sympify(container.desc.total_size))
    symbols = sorted(size.free_symbols, key=str)
    if any(str(s) not in bounds for s in symbols) or not size.is_polynomial(*symbols):
        return None
    ends = itertools.product(*(bounds[str(s)] for s in symbols))
    most = max(int(size.subs(dict(zip(symbols, values, strict=True)))) for values in ends)
    return most * container.dtype.bytes
