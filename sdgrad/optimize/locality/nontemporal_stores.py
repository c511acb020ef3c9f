"""Mark stores of large results as non-temporal: they bypass the cache.

An ordinary store first reads the cache line of its element (write allocate). A non-temporal store does not, so a result
moves through memory once instead of twice, and does not evict data that is still read (Intel optimization manual)::

    map i=0:n, j=0:m: B[i, j] = v      ->      map i=0:n, j=0:m: B[i, j] = v (streamed)

Declines for programs whose arguments fit into the last-level cache, for results that the program reads again, and for
short rows. :mod:`sdgrad.runtime.compile.nontemporal_stores` generates the instructions.
"""

from __future__ import annotations

from dataclasses import replace

import dace
import sympy

from sdgrad.analysis.cost_model import Middle, counted, entered
from sdgrad.config import config
from sdgrad.optimize.locality.strides import known_bytes, known_trips, steps
from sdgrad.program.tree import (
    Block,
    Leaf,
    Load,
    Node,
    NodeCall,
    Program,
    Store,
    map_blocks,
    walk,
)

TYPES = (dace.float32, dace.float64, dace.complex64, dace.complex128)
"""Element types that have non-temporal stores."""


def stream_results(program: Program) -> Program:
    """Mark the non-temporal stores of a program; unchanged if all arguments fit into the last-level cache."""
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
    """True if a program overwrites an array, without views, and reads or updates few of its elements."""
    if {c for c in program.containers if program.root(c) == name} != {name}:
        return False
    nodes = list(walk(program.body))
    if any(r.container == name for n in nodes if isinstance(n, NodeCall) for r in n.regions.values()):
        return False
    accesses = [x for n in nodes if isinstance(n, Leaf) for x in _accesses(name, n)]
    others = [leaf for leaf, access in accesses if not _overwrites(access)]
    few = sympy.sympify(program.containers[name].desc.total_size) / config.machine.streamed_reuse
    return len(others) < len(accesses) and all(0 < _instances(leaf) <= few for leaf in others)


def _accesses(name: str, leaf: Leaf) -> list[tuple[Leaf, Load | Store]]:
    """List the accesses of a leaf to an array, each with the leaf."""
    return [(leaf, x) for x in leaf.accesses if x.container == name]


def _overwrites(access: Load | Store) -> bool:
    """True for a store that does not update its element."""
    return isinstance(access, Store) and access.mode == "set"


def _instances(leaf: Leaf) -> int:
    """Return the number of iterations of a leaf; 0 if it is no number."""
    found = 1
    for p in leaf.params:
        found *= known_trips(p)
    return found


def _block(block: Block, around: Middle, targets: set[str], program: Program) -> Block:
    """Mark the stores of a block.

    :param around: the values of enclosing loop variables in the middle of their ranges.
    """

    def marked(node: Node) -> Node:
        if isinstance(node, Leaf):
            return _streamed(node, around, targets, program)
        _, inner = entered(node, around)
        return map_blocks(node, lambda b: _block(b, inner, targets, program))

    return tuple(map(marked, block))


def _streamed(leaf: Leaf, around: Middle, targets: set[str], program: Program) -> Leaf:
    """Mark the stores of a leaf that fit; unchanged for sequential leaves."""
    if leaf.sequential or not leaf.params:
        return leaf
    body = tuple(
        replace(i, streamed=True) if isinstance(i, Store) and _fits(i, leaf, around, targets, program) else i
        for i in leaf.body
    )
    return replace(leaf, body=body)


def _fits(store: Store, leaf: Leaf, around: Middle, targets: set[str], program: Program) -> bool:
    """True if every instance overwrites an element of a target, with unit stride along a long innermost loop."""
    innermost = leaf.params[-1]
    return (
        store.container in targets
        and _overwrites(store)
        and store.guard is None
        and program.containers[store.container].dtype in TYPES
        and innermost.step == 1
        and steps(store, innermost, program) == 1
        and not store.index_names & leaf.defined
        and sum(s.container == store.container for s in leaf.stores) == 1
        and _pays(store, leaf, around, program)
    )


def _pays(store: Store, leaf: Leaf, around: Middle, program: Program) -> bool:
    """True if a row is long, and the processor would not avoid the write allocate by itself.

    Processors detect long runs of stores without loads (memory clears and copies of a constant).
    """
    innermost = leaf.params[-1]
    rows, middle = counted(leaf.params[:-1], around)
    row = counted((innermost,), middle)[0]
    if row < config.machine.streamed_row:
        return False
    detected = rows * row * program.containers[store.container].dtype.bytes >= config.machine.cleared_bytes
    return not detected or any(innermost.name in x.index_names for x in leaf.loads)
