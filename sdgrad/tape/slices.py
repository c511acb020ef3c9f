"""Take the part of a block that computes some containers and symbols: a program slice (Weiser 1984).

::

    y = f(y)                            y = f(y)
    r = g(y)            -->
    done = r < tol      y is needed
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from sdgrad.analysis.paths import Path
from sdgrad.program.leaves import set_scalar
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import (
    SCALAR,
    Block,
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
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.symbolic import code


@dataclass(frozen=True)
class Criterion:
    """What a slice must compute: containers, symbols, and the iteration counts of loops.

    ``counted`` maps loops to the containers they count in; an empty name stands for one to be made later.
    """

    needed: Set[str]
    symbols: Set[str] = frozenset()
    counted: Mapping[Path, str] = field(default_factory=dict)


def sliced(block: Block, needed: Iterable[str], symbols: Iterable[str], program: Program) -> Block:
    """Return the part of a block that computes some containers and symbols."""
    nodes = [((k,), node) for k, node in enumerate(block)]
    criterion = closed(nodes, Criterion({program.root(n) for n in needed}, set(symbols)), program)
    found = (part_of(node, path, criterion, program) for path, node in nodes)
    return tuple(n for n in found if n is not None)


def closed(nodes: Sequence[tuple[Path, Node]], criterion: Criterion, program: Program) -> Criterion:
    """Return a criterion with all that the slice itself reads."""
    needed, symbols = set(criterion.needed), set(criterion.symbols)
    now = replace(criterion, needed=needed, symbols=symbols)
    while True:
        before = len(needed) + len(symbols)
        found = tuple(n for path, node in nodes if (n := part_of(node, path, now, program)) is not None)
        for n in found:
            symbols |= used_symbols(n, program)
        for n in walk(found):
            needed |= {program.root(c) for c in (reads(n) if isinstance(n, Leaf | NodeCall) else own_reads(n))}
        if len(needed) + len(symbols) == before:
            return now


def part_of(node: Node, path: Path, criterion: Criterion, program: Program) -> Node | None:
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
        inner = (part_of(n, (*path, arm, k), criterion, program) for k, n in enumerate(block))
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
    """Return the leaf ``total += max(0, (stop - start + step) // step)``."""
    assert loop.stop is not None
    start, stop, step = (ast.unparse(v.expr) for v in (loop.start, loop.stop, loop.step))
    loads = (*loop.start.loads, *loop.stop.loads, *loop.step.loads)
    return _add(total, f"max(0, int_floor(({stop}) - ({start}) + ({step}), {step}))", loads)


def _add(total: str, trips: str, loads: tuple[Load, ...] = ()) -> Leaf:
    """Return the leaf that adds an expression of some loads to a total."""
    before, after = f"{total}_before", f"{total}_after"
    sum_ = Value((Load(before, total, SCALAR), *loads), code.parse(f"{before} + {trips}"))
    return set_scalar(total, sum_, after, Source(label=total))
