"""Where a value is kept: a tape container with a dimension for each loop the value varies with.

A loop whose trips are known on entry gives a dimension counted from its first trip. Where they are not (``while``,
bounds read from data), one counter runs through all trips of the loop in the whole program, and stands for that loop
and for everything around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import dace
import sympy
from dace import data as dt
from dace import symbolic

from sdgrad.analysis.enclosing import Place, dims_of, extent
from sdgrad.analysis.paths import Path
from sdgrad.analysis.survival import Memory
from sdgrad.analysis.value_ranges import Unbounded, extreme
from sdgrad.config import config
from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.leaves import params_of
from sdgrad.program.names import Names
from sdgrad.program.tree import (
    SCALAR,
    Container,
    Leaf,
    Load,
    Loop,
    Param,
    Program,
    Source,
    Store,
    SymbolAssign,
    children,
    walk,
)
from sdgrad.symbolic.expr import free_names, sym
from sdgrad.tape.plan import Checkpoint, Counter, Kept, KeptSymbol

Dimension = tuple[sympy.Expr, sympy.Expr]  # extent, index


@dataclass
class Keeper:
    """Makes tape containers for the values of one program."""

    program: Program
    memory: Memory
    names: Names
    checkpoints: Mapping[Path, Checkpoint] = field(default_factory=dict)
    counters: dict[Path, Counter] = field(default_factory=dict)

    def owner(self, place: Place, container: str | None = None) -> Path | None:
        """Whose replay fills a tape: the map that a container is local to, or the loop with checkpoints around."""
        local = place.owner(container) if container is not None else None
        return local or next((path for path, _ in place.outer if path in self.checkpoints), None)

    def keep(self, load: Load, leaf: Leaf | None, path: Path) -> Kept:
        """A tape for what a load reads."""
        place = self.memory.places[path]
        owner = self.owner(place, load.container)
        own, inline = varying(load, leaf)
        constant = self.constant_in(load, own, place)
        once = all(path in constant for path, _ in place.outer)
        if once and not inline and (boxed := self.boxed(load, own)) is not None:
            return replace(boxed, owner=owner)
        dims = self.dimensions(place, owner, own, leaf, constant)
        desc = self.program.containers[load.container].desc
        tape, index = self.container(load.container, desc.dtype, dims)
        return Kept(load.name, load, tape, index, owner, tuple(own), inline)

    def boxed(self, load: Load, own: Sequence[Param]) -> Kept | None:
        """A tape for the elements that a load reads, where these are fewer than the instances that do so.

        ``x[i + j]`` has one element for all ``i`` and ``j`` of one sum. Only for nests that find the same elements
        whenever they run; these are a box of known size.
        """
        names = {p.name for p in own}
        axes = [k for k, e in enumerate(load.index) if free_names(e) & names]
        if len(axes) >= len(own) or any(free_names(e) - names for e in load.index):
            return None
        box, index, read = [], list(load.index), list(load.index)
        for k in axes:
            try:
                low, high = (spread(load.index[k], own, largest) for largest in (False, True))
            except Unbounded:
                return None
            size = self.program.containers[load.container].shape[k]
            if not all(n.is_number for n in (low, high, size)) or low < 0 or high >= size or low > high:
                return None
            box.append(Param(self.names.fresh(f"of_{load.container}"), low, high, sympy.Integer(1)))
            read[k], index[k] = sym(box[-1].name), sympy.expand(load.index[k] - low)
        desc = self.program.containers[load.container].desc
        dims = [(p.stop - p.start + 1, sym(p.name) - p.start) for p in box]
        tape, place = self.container(load.container, desc.dtype, dims)
        copied = Load(load.name, load.container, tuple(read))
        copy = Leaf(tuple(box), (copied, Store(tape.name, place, load.name)), Source(label=tape.name))
        at = tuple(index[k] for k in axes) or SCALAR
        return Kept(load.name, load, tape, at, None, tuple(own), copy=copy)

    def keep_name(self, name: str, dtype: dace.typeclass, leaf: Leaf, path: Path) -> Kept:
        """A tape for a value that a leaf computes: the leaf itself keeps it."""
        owner = self.owner(self.memory.places[path])
        dims = self.dimensions(self.memory.places[path], owner, leaf.params, leaf)
        tape, index = self.container(name, dtype, dims)
        return Kept(name, None, tape, index, owner, leaf.params, True)

    def keep_integer(self, stem: str, dtype: dace.typeclass, path: Path) -> KeptSymbol:
        """A tape for an integer of a control node."""
        return KeptSymbol(*self.container(stem, dtype, self.dimensions(self.memory.places[path], None, (), None)))

    def container(
        self, stem: str, dtype: dace.typeclass, dims: Sequence[Dimension]
    ) -> tuple[Container, tuple[sympy.Expr, ...]]:
        shape, index = [n for n, _ in dims], tuple(i for _, i in dims)
        desc = dt.Array(dtype, shape, transient=True) if shape else dt.Scalar(dtype, transient=True)
        return Container(self.names.fresh(f"tape_{stem}"), desc), index or SCALAR

    # -- dimensions
    def constant_in(self, load: Load, own: Sequence[Param], place: Place) -> set[Path]:
        """The loops whose trips all read the same: they neither write the container nor move the index."""
        names = free_names(*load.index, *(x for p in own for x in (p.start, p.stop, p.step)))
        unmoved = not names & (self.memory.varying - {d.name for d in place.dims} - {p.name for p in own})
        root = self.program.root(load.container)
        return {
            path
            for path, node in place.outer
            if isinstance(node, Loop) and unmoved and node.symbol not in names and root not in self.memory.changed[path]
        }

    def dimensions(
        self,
        place: Place,
        owner: Path | None,
        own: Sequence[Param],
        leaf: Leaf | None,
        constant_in: Set[Path] = frozenset(),
    ) -> list[Dimension]:
        """Extent and index of the loops and maps between the tape's owner and the node, and of the leaf itself."""
        found: list[Dimension] = []
        known: list[Param] = []
        for path, node in place.outer:
            again = self.checkpoints.get(path)
            if path in constant_in or owner is not None and len(path) <= len(owner) and path != owner:
                continue
            if again is not None:
                known.append(again.trips)
                found.append((sympy.Integer(again.length), again.place))
                continue
            if path == owner:
                continue
            for dim in dims_of(node):
                if dim.param is not None and self.is_known(dim.param, known) and not self.may_stop(node):
                    known.append(dim.param)
                    found.append(count_from_first(known))
                elif isinstance(node, Loop):
                    counter = self.counter(path)
                    known, found = [], [(sym(counter.total), sym(counter.count))]
                else:
                    found.append(self.by_element(dim.param, leaf, place))
        for p in own:
            if self.is_known(p, known):
                known.append(p)
                found.append(count_from_first(known))
            else:
                found.append(self.by_element(p, leaf, place))
        return found

    @cached_property
    def late(self) -> frozenset[str]:
        """Symbols without one value that is known before the node of the program's body around them."""
        inner = (b for node in self.program.body for b in children(node))
        return self.memory.varying | {n.symbol for b in inner for n in walk(b) if isinstance(n, SymbolAssign)}

    def is_known(self, p: Param, known: Sequence[Param]) -> bool:
        """Whether the extent of a parameter is an expression of symbols that have their values when a tape is made."""
        if not p.step.is_number or (free_names(p.start, p.stop) & self.late) - {q.name for q in known}:
            return False
        try:
            extent((*known, p), len(known))
        except Unbounded:
            return False
        return True

    def may_stop(self, node: object) -> bool:
        """Whether a loop can end long before its last trip, so that room for all trips would be a waste."""
        if not isinstance(node, Loop) or node.also is None:
            return False
        (dim,) = dims_of(node)
        count = dim.param.count if dim.param is not None else None
        return count is None or not count.is_number or int(count) > config.machine.open_loop_trips

    def counter(self, loop: Path) -> Counter:
        if loop not in self.counters:
            node = self.memory.nodes[loop]
            assert isinstance(node, Loop)
            stems = (f"count_{node.symbol}", f"total_{node.symbol}")
            self.counters[loop] = Counter(*map(self.names.fresh, stems))
        return self.counters[loop]

    def by_element(self, p: Param | None, leaf: Leaf | None, place: Place) -> Dimension:
        """A dimension for a parameter whose range is not known on entry: one it runs along in some container.

        What else the index holds is the same for all instances of a trip, and trips have dimensions of their own.
        """
        accesses: tuple[Load | Store, ...] = () if leaf is None else (*leaf.loads, *leaf.stores)
        own: set[str] = set()
        if leaf is not None:
            own = {q.name for q in leaf.params} | {i.name for i in leaf.loads} | {i.name for i in leaf.lets}
        for access in accesses if p is not None else ():
            for k, expr in enumerate(access.index):
                shape = self.program.containers[access.container].shape[k]
                alone = p is not None and not (free_names(expr) & own) - {p.name}
                constant = not free_names(shape) & self.late
                if alone and constant and expr.coeff(sym(p.name)) in (1, -1):  # type: ignore[union-attr]
                    return shape, expr
        name = p.name if p is not None else "?"
        raise DifferentiationError(
            [
                Problem(
                    f"map parameter {name}",
                    "has a range known only at run time, and indexes no array by itself: what to keep has no bound",
                    str(leaf.source) if leaf is not None else str(place.path),
                    "write the map as a for loop",
                )
            ]
        )


def spread(expr: sympy.Expr, params: Sequence[Param], largest: bool) -> sympy.Expr:
    """The least or the greatest value of an expression over all values of some parameters."""
    for p in reversed(params):
        low, high = (p.start, p.stop) if p.step > 0 else (p.stop, p.start)
        expr = sympy.expand(extreme(expr, p.name, low, high, largest))
    return expr


def count_from_first(params: Sequence[Param]) -> Dimension:
    """Extent and index of the last of some parameters, counted from the first value it can have."""
    p = params[-1]
    low, high = extent(tuple(params), len(params) - 1)
    step = abs(p.step)
    if step == 1:
        return _room((high - low) + 1), sym(p.name) - low
    return _room(symbolic.int_floor(high - low, step) + 1), symbolic.int_floor(sym(p.name) - low, step)


def _room(trips: sympy.Expr) -> sympy.Expr:
    """An extent for so many trips; loops over nothing have a negative number of them."""
    return sympy.Max(trips, 1 if trips.is_number else 0)


def varying(load: Load, leaf: Leaf | None) -> tuple[tuple[Param, ...], bool]:
    """The leaf's parameters that a load varies with, and whether it must be kept inside the leaf.

    In the order of the container's dimensions, where their ranges allow it: the tape lies in memory as it does.
    """
    if leaf is None:
        return (), False
    local = leaf.defined
    used = free_names(*load.index)
    if used & local or load.guard is not None:
        return leaf.params, True
    own = params_of(load, leaf)
    names = {p.name for p in own}
    if names <= used and not any(free_names(p.start, p.stop) & names for p in own):
        places = {p.name: next(k for k, e in enumerate(load.index) if p.name in free_names(e)) for p in own}
        own = tuple(sorted(own, key=lambda p: places[p.name]))
    return own, any(p.name not in used for p in own)
