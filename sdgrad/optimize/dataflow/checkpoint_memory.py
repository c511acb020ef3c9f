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
from sdgrad.program.tree import Block, Container, Node, NodeCall, Program, Region, rewritten, walk, whole_region
from sdgrad.runtime.libraries.checkpoint_schedule import (
    SEVERAL_TYPES,
    STATE,
    TAPE,
    CheckpointSchedule,
    count_of_numbers,
)
from sdgrad.tape.room import units_for

ALIGNED = 64  # bytes
BYTES = {dace.uint8, dace.int8}  # may lie over numbers of any type (C++20, 7.2.1)


def share_room(program: Program) -> Program:
    """Lay states and tapes over each other, for each loop with checkpoints."""
    for node in [n for n in walk(program.body) if isinstance(n, NodeCall)]:
        if isinstance(node.node, CheckpointSchedule) and node.node.kind == "start":
            program = _shared(node, program)
    return replace(program, body=rewritten(program.body, _bare))


def _bare(node: Node) -> Block:
    """Leave only its numbers to a start: what the loop keeps stands there to be found."""
    if not isinstance(node, NodeCall) or not isinstance(node.node, CheckpointSchedule) or node.node.kind != "start":
        return (node,)
    begins = CheckpointSchedule("start", node.node.given)
    begins.implementation = node.node.implementation
    return (replace(node, node=begins, outputs={"_numbers": node.outputs["_numbers"]}),)


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _shared(start: NodeCall, program: Program) -> Program:
    """Return the program with one array for what a loop keeps; unchanged if some of it has no known size."""
    trips, state_units, _, _, mixed, _ = map(int, start.node.given)
    kept = {c: program.containers[r.container] for c, r in start.outputs.items()}
    states = [c for n, c in kept.items() if n.startswith(STATE)]
    tapes = [c for n, c in kept.items() if n.startswith(TAPE)]
    if state_units == 0 or not states or not tapes or not all(_is_own(c, program) for c in (*states, *tapes)):
        return program
    state, tape = (sum(_aligned(_bytes(c)) for c in found) for found in (states, tapes))
    units = units_for(state, tape, ALIGNED)
    taken = sum(int(c.desc.total_size) * c.dtype.bytes for c in (*states, *tapes))
    room = min(taken // units.size, trips * units.tape)
    if room < units.state + units.tape:  # of small arrays, which would begin where no cache line does
        return program
    names = Names(program.containers)
    whole = Container(names.fresh("room"), dense(dace.uint8, [sympy.Integer(room * units.size)], transient=True))
    made = {whole.name: whole}
    made |= _laid(states, whole, [(room, 1)], units.size)
    made |= _laid(tapes, whole, [(-(-room // units.tape), units.tape), (units.tape, 1)], units.size)
    numbers = kept["_numbers"].name
    made[numbers] = Container(
        numbers, dense(dace.int64, [sympy.Integer(count_of_numbers(trips, units.state, room))], transient=True)
    )
    given = [trips, units.state, units.tape, room, mixed, 0]
    program = replace(program, containers={**program.containers, **made})
    begins = CheckpointSchedule("start", [*map(str, given)])
    if len({c.dtype for c in (*states, *tapes)} - BYTES) > 1:
        begins.implementation = SEVERAL_TYPES
    return replace(program, body=_on_room(program.body, start, begins, made[numbers]))


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


def _on_room(block: Block, start: NodeCall, begins: CheckpointSchedule, numbers: Container) -> Block:
    """Give the calls of a schedule its longer array of numbers, and its start the units of the room."""
    all_numbers = whole_region(numbers.name, numbers.shape)

    def changed(node: Node) -> Block:
        """Change a call of this schedule; return another node as it is."""
        if not isinstance(node, NodeCall) or not isinstance(node.node, CheckpointSchedule):
            return (node,)
        if node.outputs["_numbers"].container != numbers.name:
            return (node,)
        regions: dict[str, Region] = dict.fromkeys(node.inputs, all_numbers)
        if node is not start:
            return (replace(node, inputs=regions, outputs={"_numbers": all_numbers}),)
        return (replace(node, node=begins, outputs={"_numbers": all_numbers}),)

    return rewritten(block, changed)
