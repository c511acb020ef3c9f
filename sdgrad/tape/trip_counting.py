"""Count the iterations of loops ahead: run the slice of a node that decides about them on copies of its containers.

A tape inside a loop with an iteration count not known on entry needs its size before the loop runs. A program slice
(Weiser 1984) keeps conditions, bounds, and all statements these depend on. It runs first and leaves every container as
it was::

    while r > tol:                  r_ = copy(r); total = 0
        x = f(x, r)         -->     while r_ > tol: r_ = g(r_); total += 1
        r = g(r)                    tape = empty(total); the loop itself
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import dace
from dace import data as dt

from sdgrad.analysis.paths import Path
from sdgrad.program.arrays import assign as copy_of
from sdgrad.program.leaves import set_scalar, value_of_scalar
from sdgrad.program.names import Names
from sdgrad.program.rename import renamed
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Program,
    Source,
    SymbolAssign,
    Value,
    children,
    own_reads,
    reads,
    walk,
    with_children,
    writes,
)
from sdgrad.rewrite.fusion import drop_stores
from sdgrad.symbolic import code
from sdgrad.tape.plan import Counter


def count_trips(
    node: Node, path: Path, counters: Mapping[Path, Counter], program: Program, names: Names
) -> tuple[list[Node], dict[str, Container]]:
    """Return nodes that give the ``total`` of each counter its value, and the containers they work on."""
    totals = {p: Container(names.fresh(c.total), dt.Scalar(dace.int64, transient=True)) for p, c in counters.items()}
    control = deciding(node, path, {p: c.name for p, c in totals.items()}, program)
    written = sorted({program.root(w) for w in writes(control)} - {c.name for c in totals.values()})
    copies = _copies(written, program, names)
    mapping = {n: c.name for n, c in copies.items()}
    filled = {program.root(w) for n in program.body[: path[0]] for w in writes(n)} | set(program.arguments)
    before = [copy_of(copies[n], program.containers[n], "set", names, f"trial_{n}") for n in written if n in filled]
    v = names.fresh("v")
    zeros = [set_scalar(c.name, Value((), code.constant(0)), v, node.source) for c in totals.values()]
    after = [SymbolAssign(counters[p].total, value_of_scalar(c.name, v), dace.int64) for p, c in totals.items()]
    made = {c.name: c for c in (*totals.values(), *copies.values())}
    return [*zeros, *before, *renamed((control,), mapping), *after], made


def _copies(written: Sequence[str], program: Program, names: Names) -> dict[str, Container]:
    """Make working copies of containers, and of all views of these, by the name of the original."""
    views = [c for c in program.containers.values() if c.view_of is not None and program.root(c.name) in written]
    copies = {n: program.containers[n].local(names.fresh(f"trial_{n}")) for n in written}
    for view in views:
        copies[view.name] = replace(view, name=names.fresh(f"trial_{view.name}"))
    for view in views:
        base = copies[view.view_of or ""].name
        copies[view.name] = replace(copies[view.name], view_of=base)
    return copies


def deciding(node: Node, path: Path, counted: Mapping[Path, str], program: Program) -> Node:
    """Return the part of a node that decides how often some loops run, and counts that in containers."""
    needed, symbols = decisive(node, path, counted.keys(), program)
    control = _slice(node, path, Criterion(needed, symbols, counted), program)
    assert control is not None
    return control


def decisive(node: Node, path: Path, counted: Set[Path], program: Program) -> tuple[set[str], set[str]]:
    """Find the containers and symbols with values that decide how often the counted loops run."""
    needed: set[str] = set()
    symbols: set[str] = set()
    while True:
        before = len(needed) + len(symbols)
        control = _slice(node, path, Criterion(needed, symbols, dict.fromkeys(counted, "")), program)
        if control is not None:
            symbols |= used_symbols(control, program)
        for n in walk((control,)) if control is not None else ():
            needed |= {program.root(c) for c in (reads(n) if isinstance(n, Leaf | NodeCall) else own_reads(n))}
        if len(needed) + len(symbols) == before:
            return needed, symbols


@dataclass(frozen=True)
class Criterion:
    """What a slice must compute: containers, symbols, and the iteration counts of loops.

    ``counted`` maps loops to the containers they count in; an empty name stands for one to be made later.
    """

    needed: Set[str]
    symbols: Set[str]
    counted: Mapping[Path, str]


def _slice(node: Node, path: Path, criterion: Criterion, program: Program) -> Node | None:
    """Return the part of a node that a criterion asks for; None if it asks for nothing in it."""
    if isinstance(node, Leaf):
        kept = drop_stores(node, lambda s: program.root(s.container) not in criterion.needed)
        return kept if kept.stores else None
    if isinstance(node, NodeCall):
        return node if {program.root(w) for w in writes(node)} & criterion.needed else None
    if isinstance(node, SymbolAssign):
        return node if node.symbol in criterion.symbols else None
    blocks: list[Block] = []
    for arm, block in enumerate(children(node)):
        inner = (_slice(n, (*path, arm, k), criterion, program) for k, n in enumerate(block))
        blocks.append(tuple(n for n in inner if n is not None))
    if path in criterion.counted:
        assert isinstance(node, Loop)
        return _counting(node, blocks[0], criterion.counted[path])
    return with_children(node, tuple(blocks)) if any(blocks) else None


def _counting(loop: Loop, body: Block, total: str) -> Node:
    """Return a loop that counts its iterations; if its sliced body is empty, a leaf that computes their number."""
    if not body and loop.also is None and loop.stop is not None:
        return _trips(loop, total)
    return replace(loop, body=(*body, _add(total, "1")))


def _trips(loop: Loop, total: str) -> Leaf:
    """Return the leaf ``total += max(0, (stop - start) // step + 1)``."""
    assert loop.stop is not None
    start, stop, step = (ast.unparse(v.expr) for v in (loop.start, loop.stop, loop.step))
    loads = (*loop.start.loads, *loop.stop.loads, *loop.step.loads)
    return _add(total, f"max(0, int_floor(({stop}) - ({start}), {step}) + 1)", loads)


def _add(total: str, trips: str, loads: tuple[Load, ...] = ()) -> Leaf:
    """Return the leaf that adds an expression of some loads to a total."""
    before, after = f"{total}_before", f"{total}_after"
    sum_ = Value((Load(before, total, SCALAR), *loads), code.parse(f"{before} + {trips}"))
    return set_scalar(total, sum_, after, Source(label=total))
