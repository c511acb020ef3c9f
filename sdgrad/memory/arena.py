"""Put the arrays of a program into one array of each type, its arena, where those that never live together overlap.

What the arena takes is what a program's arrays take at the point where most of them are live, or little more
(:mod:`sdgrad.memory.offsets`); it is known before the program runs::

    a[1000] live from 0 to 4                arena[2000]
    b[1000] live from 2 to 3        -->     a = arena[0:1000], b = arena[1000:2000], c = arena[1000:2000]
    c[1000] live from 4 to 6

Numbers of different types have arenas of their own: to C++ they never lie in the same memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import dace
import sympy
from dace import data as dt

from sdgrad.analysis.live_ranges import LiveRanges
from sdgrad.memory.offsets import Block, place
from sdgrad.program.descriptors import dense
from sdgrad.program.naming import all_names
from sdgrad.program.own_memory import aligned, alone, bytes_of, has_own_memory
from sdgrad.program.tree import Container, Program, local_names, walk


@dataclass(frozen=True)
class Placement:
    """Where arrays of one type lie.

    :param offsets: in elements, by name.
    :param size: elements of all.
    """

    dtype: dace.typeclass
    offsets: Mapping[str, int]
    size: int

    @property
    def bytes(self) -> int:
        return self.size * self.dtype.bytes


def placements(program: Program, ranges: LiveRanges) -> list[Placement]:
    """Find a place for each array of the program that is a temporary with a known size."""
    found: dict[dace.typeclass, dict[str, Block]] = {}
    for name in placeable(program):
        if name in ranges.spans:
            container = program.containers[name]
            size = size_in_arena(container) // container.dtype.bytes
            found.setdefault(container.dtype, {})[name] = Block(size, ranges.spans[name])
    return [Placement(dtype, *place(blocks)) for dtype, blocks in found.items()]


def placeable(program: Program) -> list[str]:
    """Return the temporaries of more than one element, of known size, that no scope has to itself."""
    local = {c for n in walk(program.body) for c in local_names(n)}
    rest = program.containers.keys() - local - set(program.arguments)
    found = ((n, c) for n, c in program.containers.items() if n in rest)
    return [n for n, c in found if has_own_memory(c) and c.desc.total_size > 1]


def size_in_arena(container: Container) -> int:
    """Return the bytes of an array with those up to where the next one begins."""
    return aligned(bytes_of(container))


def in_arenas(program: Program, found: Sequence[Placement]) -> Program:
    """Make arrays views of the arena of their type."""
    names, containers = all_names(program), dict(program.containers)
    for placement in found:
        desc = dense(placement.dtype, [sympy.Integer(placement.size)], transient=True)
        arena = Container(names.fresh("arena"), desc)
        containers[arena.name] = arena
        for name, offset in placement.offsets.items():
            containers[name] = _part(containers[name], arena, offset)
    return replace(program, containers=containers)


def without_others(program: Program) -> Program:
    """Return the program with temporaries that nothing waits beside: what others have left counts for its limit."""
    made = {n: replace(program.containers[n], desc=alone(program.containers[n].desc)) for n in placeable(program)}
    return replace(program, containers={**program.containers, **made})


def _part(container: Container, arena: Container, offset: int) -> Container:
    """Return an array as a view of a part of an arena."""
    own = container.desc
    desc = dt.ArrayView(own.dtype, own.shape, strides=own.strides, total_size=own.total_size, transient=True)
    part = dace.subsets.Range([(offset, offset + int(own.total_size) - 1, 1)])
    return replace(container, desc=desc, view_of=arena.name, view_subset=part)
