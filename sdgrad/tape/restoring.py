"""Undoing writes on the way back: which containers, and which writes need no tape for it."""

from __future__ import annotations

import networkx as nx

from sdgrad.analysis.access_relations import injective
from sdgrad.analysis.activity import Activity
from sdgrad.analysis.paths import Path
from sdgrad.program.tree import Leaf, Load, Program, Store, walk
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names
from sdgrad.tape.inversion import inverse
from sdgrad.tape.recomputation import Available


def tried_together(program: Program, candidates: set[str]) -> list[frozenset[str]]:
    """Each container alone, and those that exchange their content: to put back one of them takes the others."""
    moves: nx.DiGraph = nx.DiGraph()
    for leaf in walk(program.body) if len(candidates) > 1 else ():
        if isinstance(leaf, Leaf):
            origin = {x.name: x.container for x in leaf.loads}
            for let in leaf.lets:
                if len(mine := code.names_in(let.expr) & origin.keys()) == 1:
                    origin[let.name] = origin[mine.pop()]
            pairs = {(origin[s.value], s.container) for s in leaf.stores if s.value in origin}
            moves.add_edges_from((a, b) for a, b in pairs if {a, b} <= candidates)
    cycles = [frozenset(c) for c in nx.strongly_connected_components(moves) if len(c) > 1]
    return [*(frozenset({c}) for c in sorted(candidates)), *sorted(cycles, key=sorted)]


def possible(available: Available) -> bool:
    """Whether everything that writes the containers to be put back can be undone."""
    for name in available.undone:
        for write in available.memory.writes.get(name, ()):
            ranges = [x for p in write.own for x in (p.start, p.stop, p.step)]
            if write.container != name or write.unknown & free_names(*write.index, *ranges) or write.guarded:
                return False
            if write.place.owner(name) is not None:
                return False
    return True


def inverses(available: Available, activity: Activity) -> dict[Path, Leaf]:
    """Leaves that undo writes without a tape, by the leaf that wrote; what else has to be undone for them is noted."""
    while True:
        before = len(available.clobbering)
        paths = {w.path for w in available.clobbering.values() if w.container not in available.redone}
        found = {p: leaf for p in sorted(paths) if (leaf := inverse_at(p, available, activity)) is not None}
        if len(available.clobbering) == before:
            return found


def inverse_at(path: Path, available: Available, activity: Activity) -> Leaf | None:
    """A leaf that undoes the writes of the one at ``path``; None where that takes a tape."""
    memory, program = available.memory, available.program
    leaf, place = memory.nodes[path], memory.places[path]
    if not isinstance(leaf, Leaf) or leaf.sequential:
        return None
    roots = [program.root(s.container) for s in leaf.stores]
    local = leaf.defined
    results = {s: memory.element(s, leaf, place) for s in leaf.stores}

    def given(store: Store) -> bool:
        """Whether what is stored is there when the leaf is undone, in an element for each instance."""
        plain = store.mode == "set" and store.guard is None and not free_names(*store.index) & local
        single = roots.count(store.container) == 1 and place.owner(store.container) is None
        there = store.container in available.undone or not memory.clobbers(results[store], after=True)
        return plain and single and there and injective(store, leaf, len(store.index))

    def at_hand(load: Load) -> bool:
        return program.root(load.container) not in roots and memory.survives(load, leaf, path)

    wanted = [s for s in leaf.stores if results[s].key in available.clobbering]
    known = [s for s in leaf.stores if given(s)]
    if any(s not in known for s in wanted):
        return None
    found = inverse(leaf, wanted, known, program, activity.facts[path].kinds, at_hand)
    if found is not None:
        used = {x.container for x in found.loads} & available.undone
        lost = [w for s in known if s.container in used for w in memory.clobbers(results[s], after=True)]
        available.clobbering |= {w.key: w for w in lost}
    return found
