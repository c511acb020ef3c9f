"""Lay out the tape: give each kept value a container with a dimension for every loop that the value varies with.

::

    for i in range(n):
        for j in range(m):
            tape_x[i, j] = x[j]        # x changes with i

A loop with an iteration count known on entry gives a dimension, counted from the loop's first iteration. For other loops
(``while``, bounds read from data) one counter runs through all iterations in the whole program. Its dimension
stands for that loop and for all loops around it. Loops that all read the same value give no dimension.
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

Dimension = tuple[sympy.Expr, sympy.Expr]
"""Extent of a tape's dimension, and the index of an instance in it."""


@dataclass
class Keeper:
    """Make tape containers for the values of one program."""

    program: Program
    memory: Memory
    names: Names
    checkpoints: Mapping[Path, Checkpoint] = field(default_factory=dict)
    counters: dict[Path, Counter] = field(default_factory=dict)

    def owner(self, place: Place, container: str | None = None) -> Path | None:
        """Return the node whose replay fills a tape: the map a container is local to, or the checkpointed loop."""
        local = place.owner(container) if container is not None else None
        return local or next((path for path, _ in place.outer if path in self.checkpoints), None)

    def keep(self, load: Load, leaf: Leaf | None, path: Path) -> Kept:
        """Make a tape for the values of a load."""
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
        """Make a tape with one entry for each element that a load reads; None if there are not fewer than instances.

        ``x[i + j]`` reads one element for all ``i`` and ``j`` of one sum. The tape is a copy of the box of elements
        that the nest reads. It declines unless the bounds of the box are numbers.
        """
        names = {p.name for p in own}
        axes = [k for k, e in enumerate(load.index) if free_names(e) & names]
        if len(axes) >= len(own) or any(free_names(e) - names for e in load.index):
            return None
        box: dict[int, Param] = {}
        for k in axes:
            bounds = self.bounds(load, k, own)
            if bounds is None:
                return None
            box[k] = Param(self.names.fresh(f"of_{load.container}"), *bounds, sympy.Integer(1))
        desc = self.program.containers[load.container].desc
        dims = [(p.stop - p.start + 1, sym(p.name) - p.start) for p in box.values()]
        tape, place = self.container(load.container, desc.dtype, dims)
        read = tuple(sym(box[k].name) if k in box else e for k, e in enumerate(load.index))
        copied = Load(load.name, load.container, read)
        copy = Leaf(tuple(box.values()), (copied, Store(tape.name, place, load.name)), Source(label=tape.name))
        at = tuple(sympy.expand(load.index[k] - p.start) for k, p in box.items()) or SCALAR
        return Kept(load.name, load, tape, at, None, tuple(own), copy=copy)

    def bounds(self, load: Load, axis: int, own: Sequence[Param]) -> tuple[sympy.Expr, sympy.Expr] | None:
        """Bound a load's subscript over a nest; None if the bounds are not numbers within the container."""
        try:
            low, high = (spread(load.index[axis], own, largest) for largest in (False, True))
        except Unbounded:
            return None
        size = self.program.containers[load.container].shape[axis]
        if not all(n.is_number for n in (low, high, size)) or low < 0 or high >= size or low > high:
            return None
        return low, high

    def keep_name(self, name: str, dtype: dace.typeclass, leaf: Leaf, path: Path) -> Kept:
        """Make a tape for a value that a leaf computes; the leaf itself stores it there."""
        owner = self.owner(self.memory.places[path])
        dims = self.dimensions(self.memory.places[path], owner, leaf.params, leaf)
        tape, index = self.container(name, dtype, dims)
        return Kept(name, None, tape, index, owner, leaf.params, True)

    def keep_integer(self, stem: str, dtype: dace.typeclass, path: Path) -> KeptSymbol:
        """Make a tape for an integer of a control node."""
        return KeptSymbol(*self.container(stem, dtype, self.dimensions(self.memory.places[path], None, (), None)))

    def container(
        self, stem: str, dtype: dace.typeclass, dims: Sequence[Dimension]
    ) -> tuple[Container, tuple[sympy.Expr, ...]]:
        """Make a tape container with some dimensions, and the index of an instance in it."""
        shape, index = [n for n, _ in dims], tuple(i for _, i in dims)
        desc = dt.Array(dtype, shape, transient=True) if shape else dt.Scalar(dtype, transient=True)
        return Container(self.names.fresh(f"tape_{stem}"), desc), index or SCALAR

    # -- dimensions
    def constant_in(self, load: Load, own: Sequence[Param], place: Place) -> set[Path]:
        """Find the loops in which a load is invariant: they neither write the container nor change the index."""
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
        """Give a tape the dimensions of the loops and maps between its owner and a node, and of the leaf itself.

        :param own: parameters of the leaf that the value varies with.
        :param constant_in: loops in which the value is invariant.
        """
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
        """Symbols without a single value that is known before the top-level node around them runs."""
        inner = (b for node in self.program.body for b in children(node))
        return self.memory.varying | {n.symbol for b in inner for n in walk(b) if isinstance(n, SymbolAssign)}

    def is_known(self, p: Param, known: Sequence[Param]) -> bool:
        """True if the extent of a parameter depends only on symbols that have their values when the tape is made."""
        if not p.step.is_number or (free_names(p.start, p.stop) & self.late) - {q.name for q in known}:
            return False
        try:
            extent((*known, p), len(known))
        except Unbounded:
            return False
        return True

    def may_stop(self, node: object) -> bool:
        """True if a loop with a condition may end long before its last iteration: a full dimension wastes memory."""
        if not isinstance(node, Loop) or node.also is None:
            return False
        (dim,) = dims_of(node)
        count = dim.param.count if dim.param is not None else None
        return count is None or not count.is_number or int(count) > config.machine.open_loop_trips

    def counter(self, loop: Path) -> Counter:
        """Return the counter of a loop's iterations in the whole program; make it on first use."""
        if loop not in self.counters:
            node = self.memory.nodes[loop]
            assert isinstance(node, Loop)
            stems = (f"count_{node.symbol}", f"total_{node.symbol}")
            self.counters[loop] = Counter(*map(self.names.fresh, stems))
        return self.counters[loop]

    def by_element(self, p: Param | None, leaf: Leaf | None, place: Place) -> Dimension:
        """Make a dimension for a parameter with a range not known on entry: that of an array along which it runs.

        The parameter must be the only name of the leaf in the subscript, with a coefficient of 1 or -1. All other
        names in it are the same for all instances of an iteration, and iterations have dimensions of their own.

        :raises DifferentiationError: there is no such array.
        """
        for access in (*leaf.loads, *leaf.stores) if leaf is not None and p is not None else ():
            for extent_, expr in zip(self.program.containers[access.container].shape, access.index, strict=True):
                if p is not None and leaf is not None and _runs_along(p, expr, leaf):
                    if not free_names(extent_) & self.late:
                        return extent_, expr
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


def _runs_along(p: Param, subscript: sympy.Expr, leaf: Leaf) -> bool:
    """True if a subscript is a parameter, or its negative, plus terms that no instance of the leaf changes."""
    own = {q.name for q in leaf.params} | {i.name for i in leaf.loads} | {i.name for i in leaf.lets}
    return not (free_names(subscript) & own) - {p.name} and subscript.coeff(sym(p.name)) in (1, -1)


def spread(expr: sympy.Expr, params: Sequence[Param], largest: bool) -> sympy.Expr:
    """Bound an expression from below or above over all values of some parameters.

    :raises Unbounded: it holds a function that may have any value.
    """
    for p in reversed(params):
        low, high = (p.start, p.stop) if p.step > 0 else (p.stop, p.start)
        expr = sympy.expand(extreme(expr, p.name, low, high, largest))
    return expr


def count_from_first(params: Sequence[Param]) -> Dimension:
    """Give the dimension of the last of some nested parameters, counted from the least value it can have."""
    p = params[-1]
    low, high = extent(tuple(params), len(params) - 1)
    step = abs(p.step)
    if step == 1:
        return _room((high - low) + 1), sym(p.name) - low
    return _room(symbolic.int_floor(high - low, step) + 1), symbolic.int_floor(sym(p.name) - low, step)


def _room(trips: sympy.Expr) -> sympy.Expr:
    """Clamp an iteration count to an extent: an empty loop may have a negative count."""
    return sympy.Max(trips, 1 if trips.is_number else 0)


def varying(load: Load, leaf: Leaf | None) -> tuple[tuple[Param, ...], bool]:
    """Return the leaf's parameters that a load varies with, and True if only the leaf itself can tape the load.

    The parameters have the order of the container's dimensions, if their ranges allow it, such that the tape has the
    layout of the container.
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
