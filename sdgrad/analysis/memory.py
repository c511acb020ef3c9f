"""Is a value still in memory when its adjoint runs? Later writes to the same elements decide, as integer sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import islpy as isl
import sympy

from sdgrad.analysis.paths import Path
from sdgrad.analysis.relations import loop_param, relation
from sdgrad.program.tree import (
    Block,
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
    While,
    children,
)
from sdgrad.symbolic.expr import sym


@dataclass(frozen=True)
class Place:
    """Where a node stands: enclosing control nodes, their parameters, and the scope that owns its locals."""

    path: Path
    outer: tuple[tuple[Path, Node], ...]

    @property
    def params(self) -> tuple[Param, ...]:
        """Parameters of the enclosing maps and counted loops, outermost first."""
        found: list[Param] = []
        for _, node in self.outer:
            if isinstance(node, Scope):
                found += node.params
            elif isinstance(node, Loop) and (p := loop_param(node)) is not None:
                found.append(p)
        return tuple(found)

    @property
    def loops(self) -> set[Path]:
        return {path for path, node in self.outer if isinstance(node, (Loop, While))}


@dataclass(frozen=True)
class Write:
    place: Place
    container: str
    elements: isl.Set


@dataclass
class Memory:
    """All writes of a program by the memory they touch, in program order."""

    program: Program
    writes: dict[str, list[Write]] = field(default_factory=dict)
    places: dict[Path, Place] = field(default_factory=dict)

    @staticmethod
    def of(program: Program) -> Memory:
        memory = Memory(program)
        memory._collect(program.body, (), ())
        return memory

    def _collect(self, block: Block, path: Path, outer: tuple[tuple[Path, Node], ...]) -> None:
        for k, node in enumerate(block):
            here = (*path, k)
            place = self.places[here] = Place(here, outer)
            if isinstance(node, Leaf):
                for store in node.stores:
                    self._add(place, store.container, self._leaf_elements(store, node, place))
            elif isinstance(node, NodeCall):
                for region in node.outputs.values():
                    self._add(place, region.container, self.region_elements(region))
            for arm, inner in enumerate(children(node)):
                self._collect(inner, (*here, arm), (*outer, (here, node)))

    def _add(self, place: Place, container: str, elements: isl.Set) -> None:
        self.writes.setdefault(self.program.root(container), []).append(Write(place, container, elements))

    def rank(self, container: str) -> int:
        return len(self.program.containers[container].shape)

    def _leaf_elements(self, access: Load | Store, leaf: Leaf, place: Place) -> isl.Set:
        local = frozenset(i.name for i in leaf.body if not isinstance(i, Store))
        return relation(access, (*place.params, *leaf.params), local, self.rank(access.container)).elements

    def region_elements(self, region: Region, params: Sequence[Param] = ()) -> isl.Set:
        """The elements of a rectangular operand."""
        names = [Param(f"r{k}", b, e, s) for k, (b, e, s) in enumerate(region.subset.ranges)]
        box = Load("x", region.container, tuple(sym(p.name) for p in names))
        return relation(box, (*params, *names), frozenset(), len(names)).elements

    def survives(self, load: Load, leaf: Leaf | None, path: Path) -> bool:
        """Whether what ``load`` reads is still there after the whole program (after its scope, for locals)."""
        place, container = self.places[path], self.program.containers[load.container]
        later = [w for w in self.writes.get(self.program.root(load.container), ()) if self._may_follow(w, place)]
        if not later:
            return True
        owner = leaf if leaf is not None else Leaf((), (load,))
        mine = self._leaf_elements(load, owner, place)
        return all(w.container == container.name and mine.is_disjoint(w.elements) for w in later)

    def region_survives(self, region: Region, path: Path, result: bool) -> bool:
        """The same for an operand of a call, or for one of its results."""
        place = self.places[path]
        later = [
            w
            for w in self.writes.get(self.program.root(region.container), ())
            if self._may_follow(w, place) and not (result and w.place.path == path and not place.loops)
        ]
        if not later:
            return True
        mine = self.region_elements(region, place.params)
        return all(w.container == region.container and mine.is_disjoint(w.elements) for w in later)

    def _may_follow(self, write: Write, place: Place) -> bool:
        """Whether some instance of the write may run after some instance of the node at ``place``."""
        shared = write.place.loops & place.loops
        if shared:
            return True
        if write.place.path == place.path:
            return True
        common = 0
        while common < min(len(write.place.path), len(place.path)) and write.place.path[common] == place.path[common]:
            common += 1
        if common == len(place.path):  # the write is inside the node, whose condition or bounds were read before
            return True
        if common % 2 == 1:  # paths alternate position, arm, position: they part in different arms of a branch
            return False
        return write.place.path[common:] > place.path[common:]


def extent(params: Sequence[Param], k: int) -> tuple[sympy.Expr, sympy.Expr]:
    """The least and greatest value parameter ``k`` takes over all values of the parameters before it."""
    p = params[k]
    low, high = (p.start, p.stop) if p.step > 0 else (p.stop, p.start)
    for j in range(k - 1, -1, -1):
        q_low, q_high = extent(params, j)
        low, high = (
            _extreme(low, params[j].name, q_low, q_high, False),
            _extreme(high, params[j].name, q_low, q_high, True),
        )
    return low, high


def _extreme(expr: sympy.Expr, name: str, low: sympy.Expr, high: sympy.Expr, largest: bool) -> sympy.Expr:
    """The extreme of an expression, monotone in one parameter, over that parameter's range."""
    symbol = next((s for s in expr.free_symbols if s.name == name), None)
    if symbol is None:
        return expr
    slope = sympy.diff(expr, symbol)
    if slope.is_number:
        return expr.subs(symbol, high if (slope > 0) == largest else low)
    pick = sympy.Max if largest else sympy.Min
    return pick(expr.subs(symbol, low), expr.subs(symbol, high))
