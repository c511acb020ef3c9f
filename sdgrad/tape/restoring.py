"""Restore containers on the way back: decide which writes can be undone, and which of these need no tape.

The reverse sweep undoes a write just before the adjoint of its node. If the old value is a function of what the leaf
wrote (``x[i] = x[i] + 1`` for integers), a leaf computes it (:mod:`sdgrad.tape.inversion`). Else it is taped, by
"push" and "pop" in the terms of Tapenade (Hascoet & Pascual 2013).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import networkx as nx

from sdgrad.analysis.access_relations import injective
from sdgrad.analysis.activity import Activity
from sdgrad.analysis.paths import Path
from sdgrad.analysis.survival import Access
from sdgrad.program.tree import Leaf, Load, Program, Store, walk
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names
from sdgrad.tape.inversion import inverse
from sdgrad.tape.plan import Kept
from sdgrad.tape.recomputation import Available
from sdgrad.tape.storage import Keeper


def tried_together(program: Program, candidates: set[str]) -> list[frozenset[str]]:
    """Group the containers to restore: each alone, and the cycles of containers that exchange their content.

    To restore one container of a cycle without a tape takes all the others (``a, b = b, a``). The cycles are the
    strongly connected components of the copies between containers.
    """
    moves: nx.DiGraph = nx.DiGraph()
    for leaf in walk(program.body) if len(candidates) > 1 else ():
        if isinstance(leaf, Leaf):
            moves.add_edges_from((a, b) for a, b in _moves(leaf) if {a, b} <= candidates)
    cycles = [frozenset(c) for c in nx.strongly_connected_components(moves) if len(c) > 1]
    return [*(frozenset({c}) for c in sorted(candidates)), *sorted(cycles, key=sorted)]


def _moves(leaf: Leaf) -> set[tuple[str, str]]:
    """Pair the container of each store with the one container that its value is computed from, if it is one."""
    origin = {x.name: x.container for x in leaf.loads}
    for let in leaf.lets:
        if len(mine := code.names_in(let.expr) & origin.keys()) == 1:
            origin[let.name] = origin[mine.pop()]
    return {(origin[s.value], s.container) for s in leaf.stores if s.value in origin}


def possible(available: Available) -> bool:
    """True if every write to the containers to restore can be undone."""
    return all(_can_be_undone(w, name) for name in available.undone for w in available.memory.writes.get(name, ()))


def _can_be_undone(write: Access, container: str) -> bool:
    """True if the written elements are known when the node starts: no view, no guard, no index from data."""
    ranges = [x for p in write.own for x in (p.start, p.stop, p.step)]
    if write.container != container or write.guarded or write.unknown & free_names(*write.index, *ranges):
        return False
    return write.place.owner(container) is None


def inverses(available: Available, activity: Activity) -> dict[Path, Leaf]:
    """Collect the leaves that undo writes without a tape, by the path of the writing leaf.

    An inverse may read other restored containers. Their writes must be undone, too: repeat until none is added.
    """
    while True:
        before = len(available.clobbering)
        paths = {w.path for w in available.clobbering.values() if w.container not in available.redone}
        found = {p: leaf for p in sorted(paths) if (leaf := inverse_at(p, available, activity)) is not None}
        if len(available.clobbering) == before:
            return found


def inverse_at(path: Path, available: Available, activity: Activity) -> Leaf | None:
    """Return a leaf that undoes the writes of the leaf at ``path``; None if that takes a tape.

    Note the later writes to undo first, such that the inverse finds the results that it reads.
    """
    memory = available.memory
    leaf, place = memory.nodes[path], memory.places[path]
    if not isinstance(leaf, Leaf) or leaf.sequential:
        return None
    results = {s: memory.element(s, leaf, place) for s in leaf.stores}
    wanted = [s for s in leaf.stores if results[s].key in available.clobbering]
    known = [s for s in leaf.stores if _is_known(s, results[s], leaf, available)]
    if any(s not in known for s in wanted):
        return None
    roots = {memory.program.root(s.container) for s in leaf.stores}

    def at_hand(load: Load) -> bool:
        """True if the inverse finds what the leaf loaded: neither the leaf nor a later node overwrites it."""
        return memory.program.root(load.container) not in roots and memory.survives(load, leaf, path)

    found = inverse(leaf, wanted, known, memory.program, activity.facts[path].kinds, at_hand)
    if found is not None:
        _undo_after([results[s] for s in known], found, available)
    return found


def _undo_after(results: list[Access], undoing: Leaf, available: Available) -> None:
    """Note for undoing all later writes to those results of a leaf that its inverse loads."""
    used = {x.container for x in undoing.loads} & available.undone
    lost = [w for r in results if r.container in used for w in available.memory.clobbers(r, after=True)]
    available.clobbering |= {w.key: w for w in lost}


def _is_known(store: Store, result: Access, leaf: Leaf, available: Available) -> bool:
    """True if the inverse of a leaf can load what a store wrote: from an element that one instance wrote last."""
    if store.mode != "set" or store.guard is not None or store.index_names & leaf.defined:
        return False
    roots = [available.program.root(s.container) for s in leaf.stores]
    if roots.count(store.container) != 1 or result.place.owner(store.container) is not None:
        return False
    if store.container not in available.undone and available.memory.clobbers(result, after=True):
        return False
    return injective(store, leaf, len(store.index))


@dataclass(frozen=True)
class TapedWrites:
    """Tape entries for restored containers, by the node that writes them."""

    destroyed: dict[Path, tuple[Kept, ...]]  # old values, restored before the node's adjoint
    redone: dict[Path, tuple[Kept, ...]]  # new values, restored before the reverse sweep of their iteration


def taped_writes(available: Available, keeper: Keeper, inverted: Collection[Path]) -> TapedWrites:
    """Tape what the writes to undo destroy, and what the writes to redo leave.

    :param inverted: nodes whose writes are undone without a tape.
    """
    found = TapedWrites({}, {})
    for write in available.clobbering.values():
        if write.path in inverted:
            continue
        load = Load(keeper.names.fresh("v"), write.container, write.index)
        node = available.memory.nodes[write.path]
        leaf = node if isinstance(node, Leaf) else Leaf(write.own, (load,))
        kept = replace(keeper.keep(load, leaf, write.path), inline=False)
        group = found.redone if write.container in available.redone else found.destroyed
        group[write.path] = (*group.get(write.path, ()), kept)
    return found
