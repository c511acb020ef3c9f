"""Choose loops with checkpoints: they keep some states, and run again from these with a tape of a few trips at a time.

A loop of ``T`` trips holds states and tapes in less room than ``T`` tapes need, and runs some of its trips again
(:mod:`sdgrad.tape.scheduled_loops`). A loop at the top level of the program qualifies with a constant trip count, if
its tape is long and its trips are cheap, or if there is no memory for its tape; with any other, if it would have to run
ahead to count its trips. A loop inside of it qualifies if there is no memory for the tape of one trip of the outer one.
It declines if a trip cannot start from the contents of containers, or calls Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import dace
import sympy
from dace import data as dt

from sdgrad.analysis.access_relations import loop_param, value_expr
from sdgrad.analysis.cost_model import instructions
from sdgrad.analysis.enclosing import dims_of
from sdgrad.analysis.loop_private import region_locals
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.analysis.survival import Access, Memory
from sdgrad.analysis.uses import users
from sdgrad.config import config
from sdgrad.machine.free_memory import all_of, free_memory, is_room
from sdgrad.program.descriptors import dense
from sdgrad.program.names import Names
from sdgrad.program.own_memory import on_disk
from sdgrad.program.symbols import carried_symbols
from sdgrad.program.tree import (
    Branch,
    Container,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Store,
    children,
    values,
    walk,
    writes,
)
from sdgrad.runtime.compile.python_call import CallsPython
from sdgrad.runtime.libraries.checkpoint_schedule import (
    BACKWARDS,
    FORWARDS,
    CheckpointSchedule,
    count_of_numbers,
    count_of_online_numbers,
)
from sdgrad.runtime.libraries.communication import is_communication
from sdgrad.tape.cost_model import bytes_in, bytes_of, guess
from sdgrad.tape.definitions import Definitions
from sdgrad.tape.plan import Checkpoint, TapePlan
from sdgrad.tape.room import Room
from sdgrad.tape.trip_counting import deciding


def is_declined(node: Node) -> bool:
    """True of calls that a trip cannot make again, or only with all that another loop keeps.

    Ranks that communicate would all have to make them again, at the same times.
    """
    if not isinstance(node, NodeCall):
        return False
    return isinstance(node.node, (CallsPython, CheckpointSchedule)) or is_communication(node)


def worthwhile(program: Program, plan: TapePlan, least: bool) -> Iterator[Path]:
    """Yield the loops that take less time to run again than to write their tapes and read them back.

    And those with tapes that do not fit into memory.

    :param least: yield every loop that has a tape.
    """
    for k, node in enumerate(program.body):
        if not isinstance(node, Loop) or variable(node, least) is None or (k,) in plan.checkpoints:
            continue
        kept = bytes_in((k,), plan)
        if pays_to_run_again(node, (k,), kept, program, plan) or (least and kept):
            yield (k,)


def pays_to_run_again(loop: Loop, path: Path, kept: int, program: Program, plan: TapePlan) -> bool:
    """True if it takes less time to run a loop again than to keep its tape, or there is no memory for that.

    :param kept: bytes of the tape.
    """
    if kept and path in plan.counters and counts_by_running(loop, path, program):
        return True
    return kept >= config.machine.checkpointed_bytes and (is_cheap(loop, kept) or not is_room(kept, most_bytes()))


def variable(loop: Loop, least: bool = False) -> Param | None:
    """Return the variable of a loop that can have checkpoints; None for other loops."""
    return countable(loop, least) or uncountable(loop, least)


def uncountable(loop: Loop, least: bool = False) -> Param | None:
    """Return the variable of a loop that may end at any trip, with as many trips as there may be; else None.

    :param least: return that of loops that begin or end at what is known only when they begin, too.
    """
    start, stop, step = (value_expr(v) for v in (loop.start, loop.stop, loop.step))
    if start is None or not (least or start.is_number) or step is None or not is_step(step):
        return None
    span = None if stop is None else sympy.expand(stop - start)
    if loop.also is None and (not least if span is None else span.is_number):
        return None
    most = config.machine.open_loop_trips
    if span is not None and span.is_number:
        most = min(most, int(span // step) + 1)
    return Param(loop.symbol, start, sympy.expand(start + step * (most - 1)), step) if most >= 2 else None


def is_step(step: sympy.Expr) -> bool:
    """True for a number that loops go on by."""
    return bool(step.is_Integer and step != 0)


def counts_by_running(loop: Loop, path: Path, program: Program) -> bool:
    """True if what decides how many trips a loop has takes as long as most of the loop."""
    return 2 * instructions((deciding(loop, path, {path: ""}, program),)) > instructions((loop,))


def is_cheap(loop: Loop, kept: int) -> bool:
    """True if a loop has few instructions for each number that it keeps."""
    few = instructions((loop,)) * 8 <= config.machine.instructions_per_taped_value * kept
    return few and not any(isinstance(n, NodeCall) for n in walk(loop.body))


def most_bytes() -> int:
    """Return the bytes that the tape of a loop may take."""
    return int(config.machine.tape_share * free_memory())


def countable(loop: Loop, least: bool = False) -> Param | None:
    """Return the variable of a loop with a constant iteration count and step; None for other loops.

    :param least: return that of short loops, too.
    """
    (dim,) = dims_of(loop)
    if dim.param is None or loop.also is not None or loop.last is not None or not is_step(dim.param.step):
        return None
    trips = dim.param.count
    return dim.param if trips.is_number and trips >= (2 if least else config.machine.checkpointed_trips) else None


def checkpoint(
    program: Program,
    memory: Memory,
    plan: TapePlan,
    path: Path,
    names: Names,
    least: bool = False,
    one_tape: bool = False,
    disk: bool = False,
) -> Checkpoint | None:
    """Give a loop room for states and tapes; None if a trip cannot start from the contents of containers.

    :param least: as little room as there can be.
    :param one_tape: the tape of one trip at a time.
    :param disk: states may lie on the disk, too.
    """
    loop = memory.nodes[path]
    assert isinstance(loop, Loop)
    trips = variable(loop, least)
    found = [program.containers[n] for n in sorted(carried(program, memory, path, plan.undone))]
    state = [c for c in found if c.name in memory.changed[path]]
    plain = all(type(c.desc) in (dt.Array, dt.Scalar) for c in found)
    plain = plain and not any(map(is_declined, walk(loop.body)))
    if trips is None or not plain or carried_symbols(loop, program):  # a symbol is no container to save
        return None
    is_open = countable(loop, least) is None
    room = _room_for(loop, path, plan, max(1, sum(guess(c) for c in state)), least, one_tape)
    return Checkpoint(
        trips,
        room,
        saved=tuple((c, _room(c, (room.states,), names)) for c in state),
        disk=tuple((c, _on_disk(c, names)) for c in state if disk),
        fixed=tuple((c, _room(c, (), names)) for c in found if c not in state),
        numbers=_numbers(names.fresh(f"schedule_{loop.symbol}"), int(trips.count), room, is_open),
        symbols={part: names.fresh(f"{part}_{loop.symbol}") for part in ("restore", *FORWARDS, *BACKWARDS)},
        base=names.fresh(f"base_{loop.symbol}"),
        unit=names.fresh(f"unit_{loop.symbol}"),
        is_open=is_open,
        one_tape=one_tape,
    )


def _numbers(name: str, trips: int, room: Room, is_open: bool) -> Container:
    """Make the container of a loop's schedule."""
    known = count_of_numbers(trips, room.state_units, room.units)
    count = count_of_online_numbers(room.states) if is_open else known
    return Container(name, dense(dace.int64, [sympy.Integer(count)], transient=True))


def _room_for(loop: Loop, path: Path, plan: TapePlan, size: int, least: bool, one_tape: bool) -> Room:
    """Return the room of a loop.

    :param size: bytes of the state that a trip starts from.
    """
    param = variable(loop, least)
    assert param is not None
    trips, is_open = int(param.count), countable(loop, least) is None
    if is_open or one_tape:
        room = Room.of_open(1, 1) if least else open_room(trips, size, tape_of_trip(loop, path, plan))
        room = Room.of_open(room.states, 1) if one_tape else room
        return room if is_open else Room.of_states(room.states)
    kept = bytes_in(path, plan)
    most = 0 if least else most_of_room(size, kept, is_cheap(loop, kept))
    return Room.of(trips, size, -(-kept // trips), most)


def most_of_room(state: int, tape: int, cheap: bool) -> int:
    """Return the bytes of states and tapes: as little as pays, or as much as there is memory for.

    :param state: bytes of the state that a trip starts from.
    :param tape: bytes of the tapes of all trips.
    :param cheap: it takes less time to run trips again than to keep their tapes.
    """
    few = bytes_of_levels(state, tape)
    return few if cheap and is_room(few, most_bytes()) else all_of(most_bytes())


def open_room(trips: int, state: int, tape: int) -> Room:
    """Return the room of a loop that does not know its trips: tapes that stay in a cache, and many states.

    :param trips: as many as there may be.
    :param state: bytes of the state that a trip starts from.
    :param tape: bytes of the tape of a trip.
    """
    block = min(trips, max(-(-state // tape), config.machine.checkpointed_bytes // tape))
    places = min(-(-trips // block), max(config.machine.open_loop_states, config.machine.open_loop_bytes // state))
    if not is_room(places * state + block * tape, most_bytes()):
        places = max(1, (all_of(most_bytes()) - block * tape) // state)
    return Room.of_open(places, block)


def tape_of_trip(loop: Loop, path: Path, plan: TapePlan) -> int:
    """Estimate the bytes of the tape of one trip of a loop that may end at any, from those of all of its trips."""
    known, trips = loop_param(loop), config.machine.unknown_size
    if known is not None and known.count.is_number and path not in plan.counters:
        trips = int(known.count)
    return max(1, bytes_in(path, plan) // trips)


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


def _on_disk(container: Container, names: Names) -> Container:
    """Make a container on the disk for the contents of another one, so far with one place."""
    desc = on_disk(container.dtype, [sympy.Integer(1), *container.desc.shape])
    return Container(names.fresh(f"disk_{container.name}"), desc)


def is_known(plan: TapePlan, path: Path) -> bool:
    """True if all tapes in a loop have constant sizes, and need no counter of iterations."""
    sizes = (n for where, k in plan.kept_at() if where[: len(path)] == path for n in k.tape.shape)
    return all(n.is_number for n in sizes) and not any(p[: len(path)] == path for p in plan.counters)


def pays(after: TapePlan, before: TapePlan, path: Path, program: Program, least: bool) -> bool:
    """True if checkpoints of one more loop save at least half of that loop's tape; for the ``least``, anything.

    What they save in a loop that does not know its trips, or has such a loop in it, is not known either.
    """
    if after.checkpoints[path].is_open or (least and not is_known(before, path)):
        return True
    saved = bytes_of(before, program) - bytes_of(after, program)
    return saved > 0 if least else 2 * saved >= bytes_in(path, before)


def fit(plan: TapePlan, path: Path) -> bool:
    """True if there is memory for the tapes inside of a loop."""
    return is_room(bytes_in(path, plan), most_bytes())


def inner_loops(memory: Memory, path: Path) -> Iterator[Path]:
    """Yield the loops right inside of a loop, or of branches in it."""
    for arm, block in enumerate(children(memory.nodes[path])):
        for k, node in enumerate(block):
            if isinstance(node, Loop):
                yield (*path, arm, k)
            elif isinstance(node, Branch):
                yield from inner_loops(memory, (*path, arm, k))


def can_be_nested(loop: Node, path: Path, plan: TapePlan) -> bool:
    """True if a loop inside of another one can have checkpoints and has a tape."""
    return isinstance(loop, Loop) and variable(loop, least=True) is not None and bytes_in(path, plan) > 0


def touched(program: Program, plan: TapePlan) -> set[str]:
    """Collect the containers that differ from the primal's results after checkpointed loops have run again."""
    written = {program.root(w) for k, *_ in plan.checkpoints for w in writes(program.body[k])}
    return written.union(*({c.name for c, _ in p.kept} for p in plan.checkpoints.values()))


def carried(program: Program, memory: Memory, path: Path, undone: Iterable[str]) -> set[str]:
    """Find the state of a loop: containers that an iteration reads, and that are overwritten before it runs again.

    What an iteration defines before it reads is no part of the state, unless it is put back on the way backwards: where
    a tape has stayed, the trip after it has to put back what its own trip left.
    """
    loop = memory.nodes[path]
    assert isinstance(loop, Loop)
    own = region_locals(loop, users(program.body, program), program) - set(undone)
    found = set(undone) & memory.changed[path]
    definitions = Definitions(memory)
    for where, node in nodes_with_paths((loop,)):
        where = (*path, *where[1:])
        place = memory.places[where]
        for access in read_by(node, memory, where) if where != path else ():
            root = program.root(access.container)
            if root in found | own or place.owner(root) is not None or not memory.clobbers(access):
                continue
            if (definitions.reaching(access) or ())[: len(path)] != path:
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
