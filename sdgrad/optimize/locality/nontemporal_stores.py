"""Large results are written around the cache.

To write an element the processor first reads the line it lies in, unless it is told that nobody wants the line soon:
what a program only writes then moves through memory once and not twice, and does not displace what is still read. That
is so for results that are larger than a cache together with what the program is called with; smaller ones are sooner
read from it by who gets them. The stores are made in :mod:`sdgrad.runtime.compile.nontemporal_stores`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import dace
import sympy

from sdgrad.analysis.cost_model import Middle, counted, entered
from sdgrad.config import config
from sdgrad.optimize.locality.strides import known_bytes, known_trips, steps
from sdgrad.program.tree import Block, Leaf, Load, Node, NodeCall, Program, Store, children, walk, with_children
from sdgrad.symbolic.expr import free_names

TYPES = (dace.float32, dace.float64, dace.complex64, dace.complex128)


def stream_results(program: Program) -> Program:
    """The program with stores marked that go around the cache."""
    walked = sum(known_bytes(program.containers[name]) for name in program.arguments)
    large = (
        {n for n in program.arguments if known_bytes(program.containers[n]) >= config.machine.streamed_bytes}
        if walked > config.machine.last_level_cache
        else set()
    )
    targets = {n for n in large if _only_written(n, program)}
    if not targets:
        return program
    return replace(program, body=_block(program.body, {}, targets, program))


def _only_written(name: str, program: Program) -> bool:
    """Whether a program writes nearly all of an array once, and uses hardly any of what it wrote."""
    seldom = sympy.sympify(program.containers[name].desc.total_size) / config.machine.streamed_reuse
    own = {c for c in program.containers if program.root(c) == name}
    if own != {name}:
        return False
    stores = 0
    for node in walk(program.body):
        if isinstance(node, NodeCall) and any(r.container == name for r in node.regions.values()):
            return False
        for access in _accesses(node):
            if access.container != name:
                continue
            if isinstance(access, Store) and access.mode == "set":
                stores += 1
            elif not isinstance(node, Leaf) or not 0 < _instances(node) <= seldom:
                return False
    return stores > 0


def _accesses(node: Node) -> Iterator[Load | Store]:
    if isinstance(node, Leaf):
        yield from node.loads
        yield from node.stores


def _instances(leaf: Leaf) -> int:
    """How many instances a leaf has; 0 where it is no number."""
    found = 1
    for p in leaf.params:
        found *= known_trips(p)
    return found


def _block(block: Block, around: Middle, targets: set[str], program: Program) -> Block:
    """:param around: where loops around a block are, in the middle of their trips."""
    out: list[Node] = []
    for node in block:
        if isinstance(node, Leaf):
            out.append(_streamed(node, around, targets, program))
            continue
        _, inner = entered(node, around)
        out.append(with_children(node, tuple(_block(b, inner, targets, program) for b in children(node))))
    return tuple(out)


def _streamed(leaf: Leaf, around: Middle, targets: set[str], program: Program) -> Leaf:
    if leaf.sequential or not leaf.params:
        return leaf
    body = tuple(
        replace(i, streamed=True) if isinstance(i, Store) and _fits(i, leaf, around, targets, program) else i
        for i in leaf.body
    )
    return replace(leaf, body=body)


def _fits(store: Store, leaf: Leaf, around: Middle, targets: set[str], program: Program) -> bool:
    """Whether a store is made in every instance, and neighbouring ones of the innermost loop write side by side."""
    along = leaf.params[-1]
    rows, middle = counted(leaf.params[:-1], around)
    row = counted((along,), middle)[0]
    seen = rows * row * program.containers[store.container].dtype.bytes >= config.machine.cleared_bytes
    return (
        store.container in targets
        and store.mode == "set"
        and store.guard is None
        and program.containers[store.container].dtype in TYPES
        and along.step == 1
        and row >= config.machine.streamed_row
        and steps(store, along, program) == 1
        and not free_names(*store.index) & leaf.defined
        and sum(s.container == store.container for s in leaf.stores) == 1
        and (not seen or any(along.name in free_names(*x.index) for x in leaf.loads))
    )
