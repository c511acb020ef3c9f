"""Decide whether a value is still in memory when its adjoint runs: True if no later write touches its element.

With the access relations ``R`` of a read and ``W`` of a write, ``R . W^-1`` pairs the instances that touch one element.
The value survives if the intersection with the instances that run later (:mod:`sdgrad.analysis.time_order`) is empty.
This is the kill set of TBR analysis (Hascoet, Naumann & Pascual 2005) on the polyhedral model (Feautrier 1991), by isl
(Verdoolaege 2010). Accesses that are not affine stand for the whole container.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import islpy as isl

from sdgrad.analysis.access_relations import Relation, access_relation
from sdgrad.analysis.enclosing import Place, places
from sdgrad.analysis.paths import Path
from sdgrad.analysis.time_order import follows
from sdgrad.program.tree import (
    Block,
    Expr,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Region,
    Scope,
    Store,
    SymbolAssign,
    walk,
    writes,
)
from sdgrad.symbolic.expr import free_names, sym


@dataclass(frozen=True)
class Access:
    """Describe the elements that the instances of a node touch, by an index over its enclosing and own dimensions."""

    place: Place
    container: str
    index: tuple[Expr, ...]
    own: tuple[Param, ...] = ()
    unknown: frozenset[str] = frozenset()  # names with values from data
    guarded: bool = False

    @property
    def path(self) -> Path:
        """Path of the accessing node."""
        return self.place.path

    @property
    def key(self) -> tuple:
        """Key of the access in tables."""
        return (self.path, self.container, self.index)


@dataclass
class Memory:
    """Hold all writes of a program by container, in program order, and answer which of them overwrite a value."""

    program: Program
    writes: dict[str, list[Access]] = field(default_factory=dict)
    places: dict[Path, Place] = field(default_factory=dict)
    nodes: dict[Path, Node] = field(default_factory=dict)
    changed: dict[Path, frozenset[str]] = field(default_factory=dict)  # containers that a node, or one in it, writes
    varying: frozenset[str] = frozenset()  # symbols with more than one value in the course of the program
    _maps: dict[tuple, isl.Map] = field(default_factory=dict)
    _lost: dict[tuple, list[Access]] = field(default_factory=dict)
    _covered: dict[tuple, bool] = field(default_factory=dict)

    @staticmethod
    def of(program: Program) -> Memory:
        """Collect the writes of a program."""
        memory = Memory(program, varying=varying_symbols(program.body))
        for place, node in places(program.body):
            memory.places[place.path] = place
            memory.changed[place.path] = frozenset(program.root(w) for w in writes(node))
            memory.nodes[place.path] = node
            for access in memory.written(node, place):
                memory.writes.setdefault(program.root(access.container), []).append(access)
        return memory

    def written(self, node: Node, place: Place) -> list[Access]:
        """List the accesses by which a node itself writes."""
        if isinstance(node, Leaf):
            found = [(s.fresh, self.element(s, node, place)) for s in node.stores]
            return [started(access) if fresh else access for fresh, access in found]
        if isinstance(node, NodeCall):
            return [self.region(r, place) for r in node.outputs.values()]
        return []

    def element(self, access: Load | Store, leaf: Leaf | None, place: Place) -> Access:
        """Describe the elements of a load or store; without a leaf, of a load of a control value."""
        local = leaf.defined if leaf is not None else frozenset()
        own = leaf.params if leaf is not None else ()
        return Access(place, access.container, access.index, own, local, access.guard is not None)

    def region(self, region: Region, place: Place) -> Access:
        """Describe the elements of a rectangular operand of a call."""
        names = tuple(Param(f"r{k}", b, e, s) for k, (b, e, s) in enumerate(region.subset.ranges))
        return Access(place, region.container, tuple(sym(p.name) for p in names), names)

    def relation(self, access: Access) -> isl.Map:
        """Return the access relation ``{ [enclosing and own dimensions] -> [element] }``."""
        key = (access.path, access.container, access.index, access.own)
        if key not in self._maps:
            dims = [(d.name, d.param) for d in access.place.dims] + [(p.name, p) for p in access.own]
            unknown = access.unknown | (self.varying - {n for n, _ in dims})
            rank = len(self.program.containers[access.container].shape)
            self._maps[key] = access_relation(access.index, dims, unknown, rank).map
        return self._maps[key]

    def clobbers(self, read: Access, after: bool = False) -> list[Access]:
        """List the writes that may overwrite the elements of an access before its adjoint runs.

        :param after: True if the access is a result, complete at the end of its node.
        """
        key = (read.key, read.own, after)
        if key not in self._lost:
            later = self.writes.get(self.program.root(read.container), ())
            self._lost[key] = [w for w in later if self._overwrites(read, w, after)]
        return self._lost[key]

    def covered(self, read: Access, write: Access) -> bool:
        """True if a write covers all elements of a read, in the same iterations of the loops around both."""
        key = (read.key, read.own, write.key, write.own)
        if key not in self._covered:
            shared = sum(1 for a, b in zip(read.place.dims, write.place.dims, strict=False) if a.name == b.name)
            found = [self._in_one_trip(a, shared) for a in (read, write)]
            self._covered[key] = found[1].exact and bool(found[0].map.is_subset(found[1].map))
        return self._covered[key]

    def _in_one_trip(self, access: Access, shared: int) -> Relation:
        """Return ``{ [outer dimensions] -> [element] }``; symbols have one value in one iteration."""
        dims = [(d.name, d.param) for d in access.place.dims] + [(p.name, p) for p in access.own]
        rank = len(self.program.containers[access.container].shape)
        found = access_relation(access.index, dims, access.unknown, rank, given=shared)
        return Relation(found.map.project_out(isl.dim_type.in_, shared, len(dims) - shared), found.exact)

    def _overwrites(self, read: Access, write: Access, after: bool) -> bool:
        """True if some instance of a write runs after the access, and may touch an element of it."""
        private = read.place.owner(self.program.root(read.container))
        later = follows(read.place, write.place, (len(read.own), len(write.own)), after, private)
        if later is None:
            return False
        if read.container != write.container:  # views of one memory, shaped differently
            return True
        meeting = self.relation(read).apply_range(self.relation(write).reverse())
        return not meeting.is_disjoint(later)

    def survives(self, load: Load, leaf: Leaf | None, path: Path) -> bool:
        """True if the elements of a load keep their values to the end of the program (of the map, for its locals)."""
        return not self.clobbers(self.element(load, leaf, self.places[path]))


def started(access: Access) -> Access:
    """Extend a fresh reduction's access to all elements that it starts, even those with nothing to reduce."""
    kept = tuple(p for p in access.own if p.name in free_names(*access.index))
    reduced = frozenset(p.name for p in access.own) - {p.name for p in kept}
    return replace(access, own=kept, unknown=access.unknown | reduced)


def varying_symbols(block: Block) -> frozenset[str]:
    """Collect the symbols with several values: variables of loops and maps, and those assigned inside of these."""
    found: set[str] = set()
    for node in walk(block):
        if isinstance(node, Loop):
            found.add(node.symbol)
        elif isinstance(node, (Leaf, Scope)):
            found |= {p.name for p in node.params}
    for place, node in places(block):
        if isinstance(node, SymbolAssign) and (place.loops or place.dims):
            found.add(node.symbol)
    return frozenset(found)
