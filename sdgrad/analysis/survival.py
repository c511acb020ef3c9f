"""Is a value still in memory when its adjoint runs? Later writes to the same elements decide, as integer sets."""

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
    """Elements that the instances of a node touch: an index over the dimensions of its place and its own."""

    place: Place
    container: str
    index: tuple[Expr, ...]
    own: tuple[Param, ...] = ()
    unknown: frozenset[str] = frozenset()  # names whose value only the instance knows
    guarded: bool = False

    @property
    def path(self) -> Path:
        return self.place.path

    @property
    def key(self) -> tuple:
        return (self.path, self.container, self.index)


@dataclass
class Memory:
    """All writes of a program by the memory they touch, in program order."""

    program: Program
    writes: dict[str, list[Access]] = field(default_factory=dict)
    places: dict[Path, Place] = field(default_factory=dict)
    nodes: dict[Path, Node] = field(default_factory=dict)
    changed: dict[Path, frozenset[str]] = field(default_factory=dict)  # memory that a node, or one in it, writes
    varying: frozenset[str] = frozenset()  # symbols that have more than one value in the course of the program
    _maps: dict[tuple, isl.Map] = field(default_factory=dict)
    _lost: dict[tuple, list[Access]] = field(default_factory=dict)
    _covered: dict[tuple, bool] = field(default_factory=dict)

    @staticmethod
    def of(program: Program) -> Memory:
        memory = Memory(program, varying=varying_symbols(program.body))
        for place, node in places(program.body):
            memory.places[place.path] = place
            memory.changed[place.path] = frozenset(program.root(w) for w in writes(node))
            memory.nodes[place.path] = node
            for access in memory.written(node, place):
                memory.writes.setdefault(program.root(access.container), []).append(access)
        return memory

    def written(self, node: Node, place: Place) -> list[Access]:
        if isinstance(node, Leaf):
            found = [(s.fresh, self.element(s, node, place)) for s in node.stores]
            return [started(access) if fresh else access for fresh, access in found]
        if isinstance(node, NodeCall):
            return [self.region(r, place) for r in node.outputs.values()]
        return []

    def element(self, access: Load | Store, leaf: Leaf | None, place: Place) -> Access:
        """The elements a load or store touches; without a leaf, one of a control value."""
        local = leaf.defined if leaf is not None else frozenset()
        own = leaf.params if leaf is not None else ()
        return Access(place, access.container, access.index, own, local, access.guard is not None)

    def region(self, region: Region, place: Place) -> Access:
        """The elements of a rectangular operand."""
        names = tuple(Param(f"r{k}", b, e, s) for k, (b, e, s) in enumerate(region.subset.ranges))
        return Access(place, region.container, tuple(sym(p.name) for p in names), names)

    def relation(self, access: Access) -> isl.Map:
        """``{ [dimensions of the place, of the node] -> [element] }``."""
        key = (access.path, access.container, access.index, access.own)
        if key not in self._maps:
            dims = [(d.name, d.param) for d in access.place.dims] + [(p.name, p) for p in access.own]
            unknown = access.unknown | (self.varying - {n for n, _ in dims})
            rank = len(self.program.containers[access.container].shape)
            self._maps[key] = access_relation(access.index, dims, unknown, rank).map
        return self._maps[key]

    def clobbers(self, read: Access, after: bool = False) -> list[Access]:
        """The writes that may overwrite what an access touches before its adjoint runs.

        :param after: the access is a result of its node, complete when the node is done.
        """
        key = (read.key, read.own, after)
        if key not in self._lost:
            later = self.writes.get(self.program.root(read.container), ())
            self._lost[key] = [w for w in later if self._overwrites(read, w, after)]
        return self._lost[key]

    def covered(self, read: Access, write: Access) -> bool:
        """Whether all that is read has been written, in the same trips of the loops around both."""
        key = (read.key, read.own, write.key, write.own)
        if key not in self._covered:
            shared = sum(1 for a, b in zip(read.place.dims, write.place.dims, strict=False) if a.name == b.name)
            found = [self._in_one_trip(a, shared) for a in (read, write)]
            self._covered[key] = found[1].exact and bool(found[0].map.is_subset(found[1].map))
        return self._covered[key]

    def _in_one_trip(self, access: Access, shared: int) -> Relation:
        """``{ [first dimensions of the place] -> [element] }``; in a trip these, and symbols, have one value."""
        dims = [(d.name, d.param) for d in access.place.dims] + [(p.name, p) for p in access.own]
        rank = len(self.program.containers[access.container].shape)
        found = access_relation(access.index, dims, access.unknown, rank, given=shared)
        return Relation(found.map.project_out(isl.dim_type.in_, shared, len(dims) - shared), found.exact)

    def _overwrites(self, read: Access, write: Access, after: bool) -> bool:
        private = read.place.owner(self.program.root(read.container))
        later = follows(read.place, write.place, (len(read.own), len(write.own)), after, private)
        if later is None:
            return False
        if read.container != write.container:  # views of one memory, shaped differently
            return True
        meeting = self.relation(read).apply_range(self.relation(write).reverse())
        return not meeting.is_disjoint(later)

    def survives(self, load: Load, leaf: Leaf | None, path: Path) -> bool:
        """Whether what ``load`` reads is still there after the whole program (after its map, for a map's locals)."""
        return not self.clobbers(self.element(load, leaf, self.places[path]))


def started(access: Access) -> Access:
    """All that a fresh reduction writes: it starts its elements even where there is nothing to reduce."""
    kept = tuple(p for p in access.own if p.name in free_names(*access.index))
    reduced = frozenset(p.name for p in access.own) - {p.name for p in kept}
    return replace(access, own=kept, unknown=access.unknown | reduced)


def varying_symbols(block: Block) -> frozenset[str]:
    """Symbols that loops count, and those assigned inside of loops and maps."""
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
