"""Run loops with checkpoints as a schedule says: keep states, tape trips, run them backwards, and run others again.

The schedule decides while the program runs (``sdgrad_schedule.h``). Its next part is a few numbers: put the state of
a place back, keep the state in one, run trips, run trips with a tape, run these backwards::

    for t in range(T):                  while there is more:
        x = f(x)              -->           what comes next?
                                            restore x from a place, or not; keep x in a place, or not
                                            for t in range(first, taped): x = f(x)
                                            for t in range(taped, last): x = f(x), with a tape
                                            for t in reversed(range(until, back)): adjoint of f

The way forwards is such a loop without the last line. Of all ways to run the trips within the room, the schedule takes
one that runs the fewest of them (Griewank & Walther 2000; Maddison 2024).

A loop that does not know its trips runs forwards as it is, without a tape, and asks the schedule before each trip
whether the state is kept (``sdgrad_online_schedule.h``; Wang, Moin & Iaccarino 2009).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import dace
import sympy

from sdgrad.program.arrays import over
from sdgrad.program.names import Names
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Expr,
    Index,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Program,
    Region,
    Source,
    Store,
    SymbolAssign,
    Value,
    reads,
    rewritten,
    whole_region,
    writes,
)
from sdgrad.runtime.libraries.checkpoint_schedule import DISK, FORWARDS, PARTS, STATE, TAPE, CheckpointSchedule
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym, to_ast
from sdgrad.tape.plan import Checkpoint
from sdgrad.tape.slices import sliced


def forward(loop: Loop, found: Checkpoint, again: Block, tapes: Sequence[Container], names: Names) -> list[Node]:
    """Return the primal loop, which keeps states and tapes its last trips.

    :param again: the loop's body with the stores to the tape.
    :param tapes: the containers of that tape.
    """
    once = [_copy(kept, state, None, loop.source, names) for state, kept in found.fixed]
    states = {f"{STATE}{k}": _whole(kept) for k, (_, kept) in enumerate(found.saved)}
    disk = {f"{DISK}{k}": _whole(kept) for k, (_, kept) in enumerate(found.disk)}
    kept = {**states, **disk, **{f"{TAPE}{k}": _whole(tape) for k, tape in enumerate(tapes)}}
    run: list[Node]
    if found.is_open:
        run = [_until_the_end(loop, found, names), _call("end", found, loop.source)]
    else:
        run = [_parts(loop, found, "forwards", (again,), names)]
    start = CheckpointSchedule(*_beginning(found), [*kept])
    return [*once, NodeCall(start, {}, {"_numbers": _whole(found.numbers), **kept}, loop.source), *run]


def _beginning(found: Checkpoint) -> tuple[str, tuple[int, ...]]:
    """Return how a loop's schedule begins, and the numbers that it is given."""
    trips, room, apart = int(found.trips.count), found.room, 1
    if not found.is_open and not found.one_tape:
        return "start", (trips, room.state_units, room.tape_units, room.units, apart, 0, 0)
    kind = "start_online" if found.is_open else "start_states"
    return kind, (room.states, room.tapes, trips, 1 if found.one_tape else trips, 0, 0)


def settled(program: Program) -> Program:
    """Return a program whose loops with checkpoints keep the places that they have.

    Adjoints of what they keep, and tapes of it, have as many.
    """

    def changed(node: Node) -> Block:
        """Let the start of a schedule no longer say what its loop keeps."""
        if not isinstance(node, NodeCall) or not isinstance(node.node, CheckpointSchedule) or not node.node.is_start:
            return (node,)
        begins = CheckpointSchedule(node.node.kind, node.node.given)
        return (replace(node, node=begins, outputs={"_numbers": node.outputs["_numbers"]}),)

    return replace(program, body=rewritten(program.body, changed))


def _until_the_end(loop: Loop, found: Checkpoint, names: Names) -> Loop:
    """Return a loop that does not know its trips, and keeps the states that the schedule asks for."""
    save = found.symbols["save"]
    place = SymbolAssign(save, _number(found, "save", names), dace.int64)
    return replace(
        loop, body=(_call("trip", found, loop.source), place, *_at_place(loop, found, "save", names), *loop.body)
    )


def backward(loop: Loop, found: Checkpoint, again: Block, reverse: Block, program: Program, names: Names) -> list[Node]:
    """Return the reverse sweep of a loop. What runs again makes the state, and what the adjoint reads.

    :param again: the loop's body with the stores to the tape.
    :param reverse: the adjoint of the loop's body.
    """
    symbols = {s for node in reverse for s in used_symbols(node, program)}
    state = {c.name for c, _ in found.saved}
    tapes = {w for node in again for w in writes(node)} - {w for node in loop.body for w in writes(node)}
    needed = {r for node in reverse for r in reads(node)} | state | tapes
    loop = replace(loop, body=sliced(loop.body, needed, symbols, program))
    again = sliced(again, needed, symbols, program)
    once = [_copy(state, kept, None, loop.source, names) for state, kept in found.fixed]
    return [*once, _parts(loop, found, "backwards_online" if found.is_open else "backwards", (again, reverse), names)]


def _parts(loop: Loop, found: Checkpoint, kind: str, bodies: Sequence[Block], names: Names) -> Loop:
    """Run what the schedule says, until nothing is left.

    :param bodies: the body with a tape, and backwards that of the adjoint.
    """
    number = {part: sym(n) for part, n in found.symbols.items()}
    body: list[Node] = [_call(kind, found, loop.source)]
    for part in FORWARDS if kind == "forwards" else found.symbols:
        body.append(SymbolAssign(found.symbols[part], _number(found, part, names), dace.int64))
    if kind != "forwards":
        body += _at_place(loop, found, "restore", names)
    body += _at_place(loop, found, "save", names)
    body.append(_trips(loop, found, number["first"], number["taped"] - 1, loop.body))
    body += _tape_of(found, number["into"] - number["taped"], number["into_unit"])
    body.append(_trips(loop, found, number["taped"], number["last"] - 1, bodies[0]))
    if kind != "forwards":
        body += _tape_of(found, number["out_of"] - number["until"], number["out_of_unit"])
        body.append(_trips(loop, found, number["back"] - 1, number["until"], bodies[1], -1))
    flag = _number(found, "ahead" if kind == "forwards" else "left", names)
    more = replace(flag, expr=code.parse(f"{flag.loads[0].name} != 0"))
    return Loop(names.fresh(f"part_{loop.symbol}"), _value(0), None, _value(1), tuple(body), loop.source, also=more)


def _at_place(loop: Loop, found: Checkpoint, part: str, names: Names) -> list[Node]:
    """Keep the state in the place that the schedule says (``save``), or put it back (``restore``)."""
    made: list[Node] = []
    for test, place, pairs in _places(found, found.symbols[part]):
        ways = ((kept, state) if part == "save" else (state, kept) for state, kept in pairs)
        made.append(_if(test, tuple(_copy(to, of, place, loop.source, names) for to, of in ways)))
    return made


def _places(found: Checkpoint, number: str) -> Iterator[tuple[str, Expr, Sequence[tuple[Container, Container]]]]:
    """Yield how to tell that a number is a place in memory, or on the disk, that place, and what lies there."""
    yield f"{number} >= 0", sym(number), found.saved
    if found.disk:
        yield f"{number} <= -2", -2 - sym(number), found.disk


def _whole(container: Container) -> Region:
    return whole_region(container.name, container.shape)


def _call(kind: str, found: Checkpoint, source: Source) -> NodeCall:
    """Ask the schedule for its next part."""
    numbers = _whole(found.numbers)
    return NodeCall(CheckpointSchedule(kind), {"_was": numbers}, {"_numbers": numbers}, source)


def _number(found: Checkpoint, part: str, names: Names) -> Value:
    """Read one of the numbers."""
    v = names.fresh("v")
    return Value((Load(v, found.numbers.name, (sympy.Integer(PARTS.index(part)),)),), code.name(v))


def _tape_of(found: Checkpoint, base: Expr, unit: Expr) -> list[Node]:
    """Say where the tape of a trip is."""
    pairs = (found.base, base), (found.unit, unit)
    return [SymbolAssign(symbol, _value(value), dace.int64) for symbol, value in pairs]


def _if(test: str, block: Block) -> Branch:
    return Branch(((Value((), code.parse(test)), block),))


def _trips(loop: Loop, found: Checkpoint, first: Expr, last: Expr, body: Block, direction: int = 1) -> Loop:
    """Run the trips from one to another, both counted from 0."""
    step = found.trips.step * direction
    return Loop(loop.symbol, _value(found.at(first)), _value(found.at(last)), _value(step), body, loop.source)


def _value(expr: Expr | int) -> Value:
    """Make an index expression a control value."""
    return Value((), to_ast(sympy.sympify(expr)))


def _copy(target: Container, source: Container, place: Expr | None, line: Source, names: Names) -> Leaf:
    """Copy a container's content to where it is saved, or back; at a place if there are several."""
    params, index = over(min(target, source, key=lambda c: len(c.shape)), names)
    v = names.fresh("v")

    def at(container: Container) -> Index:
        """Index an element of the container, or of the copy that has a dimension for places."""
        return (place, *index) if place is not None and len(container.shape) > len(index) else index

    body = (Load(v, source.name, at(source)), Store(target.name, at(target), v))
    return Leaf(params, body, replace(line, label=target.name))
