"""Choose loops with checkpoints: they keep some states, and run again from these with a tape of a few trips at a time.

A loop of ``T`` trips holds states and tapes in less room than ``T`` tapes need, and runs some of its trips again
(:mod:`sdgrad.tape.scheduled_loops`). A loop qualifies at the top level of the program, with a constant trip count, if
its tape is long and its trips are cheap, or if there is no memory for its tape. It declines if a trip cannot start from
the contents of containers, or calls Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import dace
import sympy
from dace import data as dt

from sdgrad.analysis.cost_model import instructions
from sdgrad.analysis.enclosing import dims_of
from sdgrad.analysis.loop_private import region_locals
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.analysis.survival import Access, Memory
from sdgrad.analysis.uses import users
from sdgrad.config import config
from sdgrad.machine.free_memory import free_memory
from sdgrad.program.descriptors import dense
from sdgrad.program.names import Names
from sdgrad.program.symbols import carried_symbols
from sdgrad.program.tree import (
    Container,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Store,
    values,
    walk,
    writes,
)
from sdgrad.runtime.compile.python_call import CallsPython
from sdgrad.runtime.libraries.checkpoint_schedule import BACKWARDS, FORWARDS, count_of_numbers
from sdgrad.tape.cost_model import bytes_in, bytes_of, guess
from sdgrad.tape.plan import Checkpoint, TapePlan
from sdgrad.tape.room import Room


def worthwhile(program: Program, plan: TapePlan, least: bool) -> Iterator[Path]:
    """Yield the loops that take less time to run again than to write their tapes and read them back.

    And those with tapes that do not fit into memory.

    :param least: yield every loop that has a tape.
    """
    for k, node in enumerate(program.body):
        if not isinstance(node, Loop) or countable(node, least) is None or (k,) in plan.checkpoints:
            continue
        kept = bytes_in((k,), plan)
        is_long = kept >= config.machine.checkpointed_bytes
        if (least and kept) or (is_long and (is_cheap(node, kept) or kept > most_bytes())):
            yield (k,)


def is_cheap(loop: Loop, kept: int) -> bool:
    """True if a loop has few instructions for each number that it keeps."""
    few = instructions((loop,)) * 8 <= config.machine.instructions_per_taped_value * kept
    return few and not any(isinstance(n, NodeCall) for n in walk(loop.body))


def most_bytes() -> int:
    """Return the bytes that the tape of a loop may take."""
    return int(config.machine.tape_share * free_memory())


def countable(loop: Loop, least: bool = False) -> Param | None:
    """Return the variable of a loop with a constant iteration count and a step of 1 or -1; None for other loops.

    :param least: return that of short loops, too.
    """
    (dim,) = dims_of(loop)
    if dim.param is None or loop.also is not None or loop.last is not None or dim.param.step not in (1, -1):
        return None
    trips = dim.param.count
    return dim.param if trips.is_number and trips >= (2 if least else config.machine.checkpointed_trips) else None


def checkpoint(
    program: Program, memory: Memory, plan: TapePlan, path: Path, names: Names, least: bool = False
) -> Checkpoint | None:
    """Give a loop room for states and tapes; None if a trip cannot start from the contents of containers.

    :param least: as little room as there can be.
    """
    loop = memory.nodes[path]
    assert isinstance(loop, Loop)
    trips = countable(loop, least)
    found = [program.containers[n] for n in sorted(carried(program, memory, path, plan.undone))]
    state = [c for c in found if c.name in memory.changed[path]]
    plain = all(type(c.desc) in (dt.Array, dt.Scalar) for c in found)
    plain = plain and not any(isinstance(n, NodeCall) and isinstance(n.node, CallsPython) for n in walk(loop.body))
    if trips is None or not plain or carried_symbols(loop, program):  # a symbol is no container to save
        return None
    kept = bytes_in(path, plan)
    size = max(1, sum(guess(c) for c in state))
    if least:
        room = Room.of(int(trips.count), size, -(-kept // int(trips.count)), 0)
    else:
        room = room_of(int(trips.count), size, kept, is_cheap(loop, kept))
    count = count_of_numbers(int(trips.count), room.state_units, room.units)
    return Checkpoint(
        trips,
        room,
        saved=tuple((c, _room(c, (room.states,), names)) for c in state),
        fixed=tuple((c, _room(c, (), names)) for c in found if c not in state),
        numbers=Container(names.fresh(f"schedule_{loop.symbol}"), dense(dace.int64, [sympy.Integer(count)], True)),
        symbols={part: names.fresh(f"{part}_{loop.symbol}") for part in ("restore", *FORWARDS, *BACKWARDS)},
        base=names.fresh(f"base_{loop.symbol}"),
        unit=names.fresh(f"unit_{loop.symbol}"),
    )


def room_of(count: int, state: int, tape: int, cheap: bool) -> Room:
    """Return the room for states and tapes: as little as pays, or as much as there is memory for.

    :param count: trips of the loop.
    :param state: bytes of the state that a trip starts from.
    :param tape: bytes of the tapes of all trips.
    :param cheap: it takes less time to run trips again than to keep their tapes.
    """
    most = min(most_bytes(), bytes_of_levels(state, tape)) if cheap else most_bytes()
    return Room.of(count, state, -(-tape // count), most)


def bytes_of_levels(state: int, tape: int) -> int:
    """Return the bytes of uniform checkpoints of some levels (Griewank & Walther 2008, chapter 12).

    ``k`` levels keep about ``(k + 1) * r ** (1 / (k + 1))`` states, where the tapes of all trips take as much as ``r``
    states. More levels are taken where each leaves no more than a share of much memory.
    """
    each = max(1.0, tape / state)

    def kept(levels: int) -> float:
        """Estimate the bytes of all states, and of tapes between two of them."""
        return (levels + 1) * each ** (1 / (levels + 1)) * state

    levels, share = 1, config.machine.checkpoint_level_share
    while kept(levels) >= config.machine.checkpointed_bytes and kept(levels + 1) <= share * kept(levels):
        levels += 1
    return int(kept(levels))


def _room(container: Container, places: tuple[int, ...], names: Names) -> Container:
    """Make a container for the content of another one, once or once for each place."""
    desc = dt.Array(container.dtype, [*places, *container.desc.shape], transient=True)
    return Container(names.fresh(f"checkpoint_{container.name}"), desc)


def is_known(plan: TapePlan, path: Path) -> bool:
    """True if all tapes in a loop have constant sizes, and need no counter of iterations."""
    sizes = (n for where, k in plan.kept_at() if where[: len(path)] == path for n in k.tape.shape)
    return all(n.is_number for n in sizes) and not any(p[: len(path)] == path for p in plan.counters)


def pays(after: TapePlan, before: TapePlan, path: Path, program: Program, least: bool) -> bool:
    """True if checkpoints of one more loop save at least half of that loop's tape; for the ``least``, anything."""
    saved = bytes_of(before, program) - bytes_of(after, program)
    return saved > 0 if least else 2 * saved >= bytes_in(path, before)


def touched(program: Program, plan: TapePlan) -> set[str]:
    """Collect the containers that differ from the primal's results after checkpointed loops have run again."""
    written = {program.root(w) for (k,) in plan.checkpoints for w in writes(program.body[k])}
    return written.union(*({c.name for c, _ in p.kept} for p in plan.checkpoints.values()))


def carried(program: Program, memory: Memory, path: Path, undone: Iterable[str]) -> set[str]:
    """Find the state of a loop: containers that an iteration reads, and that are overwritten before it runs again.

    Containers private to an iteration are defined in it, and no part of the state, unless they are put back on the way
    backwards: where a tape has stayed, the trip after it has to put back what its own trip left.
    """
    loop = memory.nodes[path]
    assert isinstance(loop, Loop)
    own = region_locals(loop, users(program.body, program), program) - set(undone)
    found = set(undone) & memory.changed[path]
    for where, node in nodes_with_paths((loop,)):
        where = (*path, *where[1:])
        place = memory.places[where]
        for access in read_by(node, memory, where) if where != path else ():
            root = program.root(access.container)
            if root not in found | own and place.owner(root) is None and memory.clobbers(access):
                found.add(root)
    return found - own


def read_by(node: Node, memory: Memory, path: Path) -> list[Access]:
    """List the accesses by which a node itself reads."""
    place = memory.places[path]
    if isinstance(node, Leaf):
        accesses: list[Load | Store] = [*node.loads, *(s for s in node.stores if s.mode != "set" and not s.fresh)]
        return [memory.element(x, node, place) for x in accesses]
    if isinstance(node, NodeCall):
        updated = [r for r in node.outputs.values() if r.wcr]
        return [memory.region(r, place) for r in (*node.inputs.values(), *updated)]
    return [memory.element(x, None, place) for v in values(node) for x in v.loads]
