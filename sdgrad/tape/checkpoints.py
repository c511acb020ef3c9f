"""Checkpoint loops: save the state before each segment of iterations, and tape one segment at a time.

The forward sweep saves the state at the start of each segment only. The reverse sweep restores it, runs the segment
again with a tape, and then runs it backwards. A loop of ``T`` iterations holds about ``sqrt(T)`` states and ``sqrt(T)``
iterations of tape instead of ``T``, and runs once more. These are uniform checkpoints of several levels (Griewank &
Walther 2008, chapter 12): ``k`` levels hold about ``T**(1 / (k + 1))`` states each, and run the loop ``k`` more times.
::

    for t in range(T):                  for s in reversed(range(S)):
        x = f(x)              -->           restore x
                                            for t in segment(s): x = f(x), with a tape
                                            for t in reversed(segment(s)): adjoint of f

A loop qualifies at the top level of the program, with a constant iteration count, if its tape is long and its
iterations are cheap. It declines if a segment cannot start from the contents of containers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import sympy
from dace import data as dt

from sdgrad.analysis.cost_model import instructions
from sdgrad.analysis.enclosing import dims_of
from sdgrad.analysis.loop_private import region_locals
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.analysis.survival import Access, Memory
from sdgrad.analysis.uses import users
from sdgrad.config import config
from sdgrad.program.arrays import over
from sdgrad.program.names import Names
from sdgrad.program.symbols import carried_symbols
from sdgrad.program.tree import (
    Block,
    Container,
    Expr,
    Index,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Source,
    Store,
    Value,
    values,
    walk,
    writes,
)
from sdgrad.symbolic.expr import sym, to_ast
from sdgrad.tape.cost_model import bytes_in, bytes_of, guess
from sdgrad.tape.plan import Checkpoint, Level, TapePlan


def worthwhile(program: Program, plan: TapePlan) -> Iterator[Path]:
    """Yield the loops that take less time to run again than to write their tapes and read them back."""
    for k, node in enumerate(program.body):
        if not isinstance(node, Loop) or countable(node) is None or (k,) in plan.checkpoints:
            continue
        kept = bytes_in((k,), plan)
        cheap = instructions((node,)) * 8 <= config.machine.instructions_per_taped_value * kept
        if (
            kept >= config.machine.checkpointed_bytes
            and cheap
            and not any(isinstance(n, NodeCall) for n in walk(node.body))
        ):
            yield (k,)


def countable(loop: Loop) -> Param | None:
    """Return the variable of a loop with a constant iteration count and a step of 1 or -1; None for other loops."""
    (dim,) = dims_of(loop)
    if dim.param is None or loop.also is not None or loop.last is not None or dim.param.step not in (1, -1):
        return None
    return dim.param if dim.param.count.is_number and dim.param.count >= config.machine.checkpointed_trips else None


def checkpoint(program: Program, memory: Memory, plan: TapePlan, path: Path, names: Names) -> Checkpoint | None:
    """Cut a loop into segments; None if a segment cannot start from the contents of containers."""
    loop = memory.nodes[path]
    assert isinstance(loop, Loop)
    trips = countable(loop)
    found = [program.containers[n] for n in sorted(carried(program, memory, path, plan.undone))]
    state = [c for c in found if c.name in memory.changed[path]]
    fixed = tuple((c, _room(c, (), names)) for c in found if c not in state)
    plain = all(type(c.desc) in (dt.Array, dt.Scalar) for c in found)
    if trips is None or not plain or carried_symbols(loop, program):  # a symbol is no container to save
        return None
    size = max(1, sum(guess(c) for c in state))
    levels = []
    for k, (length, segments) in enumerate(cut(int(trips.count), size, bytes_in(path, plan))):
        saved = tuple((c, _room(c, (segments,), names)) for c in state)
        levels.append(Level(names.fresh(f"segment_{loop.symbol}" + f"_{k}" * (k > 0)), length, segments, saved))
    return Checkpoint(trips, tuple(levels), fixed)


def cut(count: int, state: int, tape: int) -> Iterator[tuple[int, int]]:
    """Yield the length of the segments and their number, for each level.

    :param count: iterations of the loop.
    :param state: bytes of the state that a segment starts from.
    :param tape: bytes of the tapes of all iterations.
    """
    each = max(1.0, tape / state)  # states that take as many bytes as the whole tape

    def kept(levels: int) -> float:
        """Estimate the bytes of all states and of the tape of one shortest segment."""
        return (levels + 1) * each ** (1 / (levels + 1)) * state

    levels = 1
    while kept(levels) >= config.machine.checkpointed_bytes and kept(
        levels + 1
    ) <= config.machine.checkpoint_level_share * kept(levels):
        levels += 1
    branching = each ** (1 / (levels + 1))
    shortest = min(max(2, round(count * branching / each)), -(-count // 2))
    inner = [max(2, round(branching))] * (levels - 1)
    lengths = [shortest * math.prod(inner[k:]) for k in range(levels)]
    yield from zip(lengths, [-(-count // lengths[0]), *inner], strict=True)


def _room(container: Container, segments: tuple[int, ...], names: Names) -> Container:
    """Make a container for the content of another one, once or once for each segment."""
    desc = dt.Array(container.dtype, [*segments, *container.desc.shape], transient=True)
    return Container(names.fresh(f"checkpoint_{container.name}"), desc)


def is_known(plan: TapePlan, path: Path) -> bool:
    """True if all tapes in a loop have constant sizes, and need no counter of iterations."""
    sizes = (n for where, k in plan.kept_at() if where[: len(path)] == path for n in k.tape.shape)
    return all(n.is_number for n in sizes) and not any(p[: len(path)] == path for p in plan.counters)


def pays(after: TapePlan, before: TapePlan, path: Path, program: Program) -> bool:
    """True if checkpoints of one more loop save at least half of that loop's tape."""
    return 2 * (bytes_of(before, program) - bytes_of(after, program)) >= bytes_in(path, before)


def touched(program: Program, plan: TapePlan) -> set[str]:
    """Collect the containers that differ from the primal's results after checkpointed loops have run again."""
    written = {program.root(w) for (k,) in plan.checkpoints for w in writes(program.body[k])}
    return written.union(*({c.name for c, _ in p.kept} for p in plan.checkpoints.values()))


def carried(program: Program, memory: Memory, path: Path, undone: Iterable[str]) -> set[str]:
    """Find the state of a loop: containers that an iteration reads, and that are overwritten before it runs again.

    Containers private to an iteration are defined in it, and no part of the state.
    """
    loop = memory.nodes[path]
    assert isinstance(loop, Loop)
    own = region_locals(loop, users(program.body, program), program)
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


# --- how a loop with checkpoints runs -----------------------------------------------------------------------------
def forward(loop: Loop, found: Checkpoint, names: Names) -> list[Node]:
    """Return the primal loop, which saves its state before each segment."""
    level = found.levels[0]
    once = [_copy(kept, state, None, names) for state, kept in found.fixed]
    body = (*_save(level, sym(level.symbol), names), _segment(loop, loop.body, found, 1))
    return [*once, _count(level, 0, level.count - 1, body, loop.source)]


def backward(loop: Loop, found: Checkpoint, again: Block, reverse: Block, names: Names) -> list[Node]:
    """Return the reverse sweep of a loop: from the last segment to the first, restore, run with a tape, run backwards.

    :param again: the loop's body with the stores to the tape.
    :param reverse: the adjoint of the loop's body.
    """
    once = [_copy(state, kept, None, names) for state, kept in found.fixed]
    return [*once, _backwards(loop, found, 1, again, reverse, names)]


def _backwards(loop: Loop, found: Checkpoint, depth: int, again: Block, reverse: Block, names: Names) -> Loop:
    """Run the segments of a level backwards: the last first, each with its shorter segments inside."""
    level = found.levels[depth - 1]
    restored = [_copy(state, kept, sym(level.symbol), names) for state, kept in level.saved]
    if depth == len(found.levels):
        body: list[Node] = [_segment(loop, b, found, depth, back) for b, back in ((again, False), (reverse, True))]
    else:
        inner = _backwards(loop, found, depth + 1, again, reverse, names)
        body = [*_states(loop, found, depth + 1, names), inner]
    return _count(level, level.count - 1, 0, (*restored, *body), loop.source)


def _states(loop: Loop, found: Checkpoint, depth: int, names: Names) -> list[Node]:
    """Run a segment forwards and save its state before each shorter segment; the last of these need not run."""
    level = found.levels[depth - 1]
    runs = _segment(loop, loop.body, found, depth)
    next_one = _save(level, sym(level.symbol) + 1, names)
    return [*_save(level, sympy.Integer(0), names), _count(level, 0, level.count - 2, (runs, *next_one), loop.source)]


def _segment(loop: Loop, body: Block, found: Checkpoint, depth: int, backwards: bool = False) -> Loop:
    """Run the iterations of one segment, forwards or backwards."""
    first, last, step = found.first(depth), found.last(depth), found.trips.step
    start, stop, by = (last, first, -step) if backwards else (first, last, step)
    return Loop(loop.symbol, _value(start), _value(stop), _value(by), body, loop.source)


def _count(level: Level, first: int, last: int, body: Block, source: Source) -> Loop:
    """Run a body for the segments of a level from the first to the last."""
    return Loop(level.symbol, _value(first), _value(last), _value(1 if first <= last else -1), body, source)


def _value(expr: Expr | int) -> Value:
    """Make an index expression a control value."""
    return Value((), to_ast(sympy.sympify(expr)))


def _save(level: Level, segment: Expr, names: Names) -> list[Node]:
    """Copy the state to where a segment's is saved."""
    return [_copy(kept, state, segment, names) for state, kept in level.saved]


def _copy(target: Container, source: Container, segment: Expr | None, names: Names) -> Leaf:
    """Copy a container's content to where it is saved, or back; at a segment's index if each segment has its own."""
    params, index = over(min(target, source, key=lambda c: len(c.shape)), names)
    v = names.fresh("v")

    def place(container: Container) -> Index:
        """Index an element of the container, or of the copy that has a dimension for segments."""
        return (segment, *index) if segment is not None and len(container.shape) > len(index) else index

    body = (Load(v, source.name, place(source)), Store(target.name, place(target), v))
    return Leaf(params, body, Source(label=target.name))
