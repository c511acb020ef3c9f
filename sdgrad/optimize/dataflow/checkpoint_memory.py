"""Lay the states and the tapes that a loop with checkpoints keeps over each other, in one array.

A schedule says while the program runs which places hold states and which hold tapes
(:mod:`sdgrad.tape.scheduled_loops`). Where each has an array of its own, half of the memory is free at any time. Here
both are views of one array of units, and the schedule gets as much room as the arrays took::

    checkpoint_y[20, n], tape_v[20, 1, n]     -->     room[40 units];  checkpoint_y[40, n], tape_v[40, 1, n] views of it

A state takes some units, and a tape some. The first dimension of a view steps over one unit of a state; that of a tape
over a whole tape, and its second one over a unit. The pass declines where an array is an argument, as between the
halves of a pullback, or has no known size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import dace
import sympy
from dace import data as dt

from sdgrad.program.descriptors import dense
from sdgrad.program.names import Names
from sdgrad.program.tree import Block, Container, Node, NodeCall, Program, rewritten, walk, whole_region
from sdgrad.runtime.libraries.checkpoint_schedule import (
    SEVERAL_TYPES,
    STATE,
    TAPE,
    CheckpointSchedule,
    count_of_numbers,
)
from sdgrad.tape.room import Units, rounded, units_for

ALIGNED = 64  # bytes
BYTES = {dace.uint8, dace.int8}  # may lie over numbers of any type (C++20, 7.2.1)


def share_room(program: Program) -> Program:
    """Lay states and tapes over each other, for each loop with checkpoints."""
    for node in [n for n in walk(program.body) if isinstance(n, NodeCall)]:
        if isinstance(node.node, CheckpointSchedule) and node.node.is_start:
            program = _shared(node, node.node.given, program)
    return program


def _aligned(size: int) -> int:
    return rounded(size, ALIGNED)


def _shared(start: NodeCall, given: Sequence[int], program: Program) -> Program:
    """Return the program with one array for what a loop keeps, or with arrays apart if some have no known size.

    What the loop keeps stands among the outputs of its start to be found here, and stands there no longer.
    """
    kept = {c: program.containers[r.container] for c, r in start.outputs.items()}
    states, tapes = ([c for n, c in kept.items() if n.startswith(kind)] for kind in (STATE, TAPE))
    found = _units(states, tapes, given, program)
    if found is None:
        return _with_start(program, start, CheckpointSchedule("start", given), kept["_numbers"])
    units, room = found
    whole = Container(
        Names(program.containers).fresh("room"),
        dense(dace.uint8, [sympy.Integer(room * units.size)], transient=True),
    )
    made = {whole.name: whole, **_laid(states, whole, [(room, 1)], units.size)}
    made |= _laid(tapes, whole, [(-(-room // units.tape), units.tape), (units.tape, 1)], units.size)
    begins = CheckpointSchedule("start", [given[0], units.state, units.tape, room, 0])
    if len({c.dtype for c in (*states, *tapes)} - BYTES) > 1:
        begins.implementation = SEVERAL_TYPES
    count = sympy.Integer(count_of_numbers(given[0], units.state, room))
    numbers = replace(kept["_numbers"], desc=dense(dace.int64, [count], transient=True))
    return _with_start(replace(program, containers={**program.containers, **made}), start, begins, numbers)


def _units(
    states: Sequence[Container], tapes: Sequence[Container], given: Sequence[int], program: Program
) -> tuple[Units, int] | None:
    """Return the units of one array of as many bytes as these take, and how many it has; None if it cannot be."""
    trips, state_units = given[:2]
    if state_units == 0 or not states or not tapes or not all(_is_own(c, program) for c in (*states, *tapes)):
        return None
    state, tape = (sum(_aligned(_bytes(c)) for c in found) for found in (states, tapes))
    units = units_for(state, tape, ALIGNED)
    taken = sum(int(c.desc.total_size) * c.dtype.bytes for c in (*states, *tapes))
    room = min(taken // units.size, trips * units.tape)
    if room < units.state + units.tape:  # of small arrays, which would begin where no cache line does
        return None
    return units, room


def _is_own(container: Container, program: Program) -> bool:
    """True for a temporary with memory of its own and a known size, row by row."""
    desc = container.desc
    plain = type(desc) is dt.Array and desc.transient and container.view_of is None
    known = plain and not desc.free_symbols and desc.is_packed_c_strides()
    return known and container.name not in program.arguments and desc.storage == dace.StorageType.Default


def _bytes(container: Container) -> int:
    """Return the bytes of one place."""
    return int(container.desc.total_size) // int(container.shape[0]) * container.dtype.bytes


def _laid(
    containers: Sequence[Container], whole: Container, leading: Sequence[tuple[int, int]], unit: int
) -> dict[str, Container]:
    """Return containers as views of the room, by name: in each place one follows the other.

    :param leading: extents of their first dimensions, and units from one place to the next.
    :param unit: bytes of a unit.
    """
    made: dict[str, Container] = {}
    offset, inner = 0, len(leading)
    for container in containers:
        desc, elements = container.desc, unit // container.dtype.bytes
        shape = [sympy.Integer(n) for n, _ in leading]
        strides = [sympy.Integer(step * elements) for _, step in leading]
        view = dt.ArrayView(
            desc.dtype, [*shape, *desc.shape[inner:]], strides=[*strides, *desc.strides[inner:]], transient=True
        )
        part = dace.subsets.Range([(offset, int(whole.shape[0]) - 1, 1)])
        made[container.name] = replace(container, desc=view, view_of=whole.name, view_subset=part)
        offset += _aligned(_bytes(container))
    return made


def _with_start(program: Program, start: NodeCall, begins: CheckpointSchedule, numbers: Container) -> Program:
    """Give a schedule another start, with no outputs but its numbers, and all its calls these numbers."""
    whole = whole_region(numbers.name, numbers.shape)

    def changed(node: Node) -> Block:
        """Change a call of this schedule; return another node as it is."""
        if not isinstance(node, NodeCall) or not isinstance(node.node, CheckpointSchedule):
            return (node,)
        if node.outputs["_numbers"].container != numbers.name:
            return (node,)
        inputs = dict.fromkeys(node.inputs, whole)
        return (replace(node, node=begins if node is start else node.node, inputs=inputs, outputs={"_numbers": whole}),)

    containers = {**program.containers, numbers.name: numbers}
    return replace(program, containers=containers, body=rewritten(program.body, changed))
