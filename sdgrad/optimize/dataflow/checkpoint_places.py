"""Find, size and replace the arrays in which a loop with checkpoints keeps its states and its tapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import dace
import sympy

from sdgrad.program.descriptors import dense
from sdgrad.program.own_memory import has_own_memory, on_disk
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Leaf,
    Loop,
    Node,
    NodeCall,
    Program,
    children,
    rewritten,
    walk,
    whole_region,
)
from sdgrad.runtime.libraries.checkpoint_schedule import (
    ASKING,
    DISK,
    STATE,
    TAPE,
    CheckpointSchedule,
    schedule_calls,
)


def kept_by(start: NodeCall, program: Program) -> tuple[tuple[Container, ...], tuple[Container, ...]]:
    """Return the arrays of the states and of the tapes that a loop keeps, from the start of its schedule."""
    kept = {c: program.containers[r.container] for c, r in start.outputs.items()}
    states, tapes = (tuple(c for n, c in kept.items() if n.startswith(kind)) for kind in (STATE, TAPE))
    return states, tapes


def on_disk_by(start: NodeCall, program: Program) -> tuple[Container, ...]:
    """Return the arrays on the disk that a loop may keep states in, from the start of its schedule."""
    return tuple(program.containers[r.container] for c, r in start.outputs.items() if c.startswith(DISK))


def is_own(container: Container, program: Program) -> bool:
    """True for a temporary with memory of its own and a known size, row by row."""
    own = has_own_memory(container) and container.name not in program.arguments
    return own and container.desc.is_packed_c_strides()


def bytes_of_place(container: Container) -> int:
    """Return the bytes of one place."""
    return int(container.desc.total_size) // int(container.shape[0]) * container.dtype.bytes


def with_places(containers: Sequence[Container], places: int) -> dict[str, Container]:
    """Return arrays with another number of places, by name."""
    size = sympy.Integer(places)
    return {c.name: replace(c, desc=dense(c.dtype, [size, *c.desc.shape[1:]], True)) for c in containers}


def with_disk(program: Program, containers: Sequence[Container], places: int) -> Program:
    """Give states on the disk so many places; with none, what would keep them there is left out."""
    if not places:
        return without_copies(program, containers)
    size = sympy.Integer(places)
    made = {c.name: replace(c, desc=on_disk(c.dtype, [size, *c.shape[1:]])) for c in containers}
    return replace(program, containers={**program.containers, **made})


def without_copies(program: Program, containers: Sequence[Container]) -> Program:
    """Leave out arrays of states, and the branches that keep a state in them, or put one back."""
    names = {c.name for c in containers}

    def changed(node: Node) -> Block:
        """Leave out such a branch."""
        copies = (
            [n for block in children(node) for n in block if isinstance(n, Leaf)] if isinstance(node, Branch) else []
        )
        return () if any(x.container in names for n in copies for x in n.accesses) else (node,)

    kept = {n: c for n, c in program.containers.items() if n not in names}
    return replace(program, containers=kept, body=rewritten(program.body, changed)) if names else program


def trip_of(numbers: str, program: Program) -> Block:
    """Return what runs in one trip forwards of the loop that a schedule drives.

    :param numbers: the container of the schedule.
    """
    for loop in (n for n in walk(program.body) if isinstance(n, Loop)):
        if numbers in asked_in(loop):
            if asks_ahead(loop):
                return loop.body
            return next(n for n in loop.body if isinstance(n, Loop)).body
    return ()


def asked_in(loop: Loop) -> set[str]:
    """Return the schedules that each trip of a loop asks what is next."""
    return {n.outputs["_numbers"].container for n in schedule_calls(loop.body) if n.node.kind in ASKING}


def asks_ahead(loop: Loop) -> bool:
    """True if a loop that does not know its trips asks before each of them: it runs forwards as it is."""
    return any(n.node.kind == "trip" for n in schedule_calls(loop.body))


def with_start(program: Program, begins: CheckpointSchedule, numbers: Container, count: int | None = None) -> Program:
    """Give a schedule another start, with no outputs but its numbers, and all its calls these numbers.

    :param count: how many numbers there are; None: as many as before.
    """
    if count is not None:
        numbers = replace(numbers, desc=dense(dace.int64, [sympy.Integer(count)], transient=True))
    whole = whole_region(numbers.name, numbers.shape)

    def changed(node: Node) -> Block:
        """Change a call of this schedule; return another node as it is."""
        if not isinstance(node, NodeCall) or not isinstance(node.node, CheckpointSchedule):
            return (node,)
        if node.outputs["_numbers"].container != numbers.name:
            return (node,)
        call = begins if node.node.is_start else node.node
        return (replace(node, node=call, inputs=dict.fromkeys(node.inputs, whole), outputs={"_numbers": whole}),)

    containers = {**program.containers, numbers.name: numbers}
    return replace(program, containers=containers, body=rewritten(program.body, changed))
