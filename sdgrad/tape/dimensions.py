"""Choose the dimensions of tapes: one for every enclosing loop that a value varies with, and the index of an instance.

A loop with an iteration count known on entry gives a dimension, counted from the loop's first iteration. For other
loops (``while``, bounds read from data) one counter runs through all iterations in the whole program. Its dimension
stands for that loop and for all loops around it. A checkpointed loop gives a dimension for the trips that have a tape
at a time. A parameter of a map with a range read from data gets the dimension of an array along which it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

import sympy
from dace import symbolic

from sdgrad.analysis.enclosing import Place, dims_of, extent
from sdgrad.analysis.paths import Path
from sdgrad.analysis.survival import Memory
from sdgrad.analysis.value_ranges import Unbounded
from sdgrad.config import config
from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.names import Names
from sdgrad.program.tree import Leaf, Load, Loop, Node, Param, Program, Store, SymbolAssign, children, walk
from sdgrad.symbolic.expr import free_names, sym
from sdgrad.tape.plan import Checkpoint, Counter

Dimension = tuple[sympy.Expr, sympy.Expr]
"""Extent of a tape's dimension, and the index of an instance in it."""


@dataclass
class Layout:
    """Choose the dimensions of the tapes of one program."""

    program: Program
    memory: Memory
    names: Names
    checkpoints: Mapping[Path, Checkpoint] = field(default_factory=dict)
    counters: dict[Path, Counter] = field(default_factory=dict)

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
        nest = _Nest(self, place, leaf)
        for path, node in place.outer:
            around_owner = owner is not None and len(path) <= len(owner) and path != owner
            if path in constant_in or around_owner:
                continue
            if path in self.checkpoints:
                nest.enter_places(self.checkpoints[path])
            elif path != owner:
                nest.enter_control(node, path)
        for p in own:
            nest.enter_parameter(p)
        return nest.dimensions

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

    def counter(self, loop: Path) -> Counter:
        """Return the counter of a loop's iterations in the whole program; make it on first use."""
        if loop not in self.counters:
            node = self.memory.nodes[loop]
            assert isinstance(node, Loop)
            stems = (f"count_{node.symbol}", f"total_{node.symbol}")
            self.counters[loop] = Counter(*map(self.names.fresh, stems))
        return self.counters[loop]


@dataclass
class _Nest:
    """Collect the dimensions of a nest around a node, from the outermost inwards."""

    layout: Layout
    place: Place
    leaf: Leaf | None
    known: list[Param] = field(default_factory=list)  # parameters with known extents
    dimensions: list[Dimension] = field(default_factory=list)

    def enter_places(self, checkpoint: Checkpoint) -> None:
        """Add the dimension of the places that trips of a checkpointed loop have, and that of units between these."""
        if not checkpoint.is_open:
            self.known.append(checkpoint.trips)
        self.dimensions += [
            (sympy.Integer(checkpoint.room.tapes), checkpoint.place),
            (sympy.Integer(1), sym(checkpoint.unit)),
        ]

    def enter_control(self, node: Node, path: Path) -> None:
        """Add the dimensions of a loop or map; a counter replaces all dimensions so far."""
        for dim in dims_of(node):
            if dim.param is not None and self.layout.is_known(dim.param, self.known) and not _may_stop(node):
                self.count(dim.param)
            elif isinstance(node, Loop):
                counter = self.layout.counter(path)
                self.known, self.dimensions = [], [(sym(counter.total), sym(counter.count))]
            else:
                self.dimensions.append(self.along_array(dim.param))

    def enter_parameter(self, p: Param) -> None:
        """Add the dimension of a parameter of the leaf."""
        if self.layout.is_known(p, self.known):
            self.count(p)
        else:
            self.dimensions.append(self.along_array(p))

    def count(self, p: Param) -> None:
        """Add a dimension that counts from the first value of a parameter."""
        self.known.append(p)
        self.dimensions.append(count_from_first(self.known))

    def along_array(self, p: Param | None) -> Dimension:
        """Make a dimension for a parameter with a range not known on entry: that of an array along which it runs.

        The parameter must be the only name of the leaf in the subscript, with a coefficient of 1 or -1. All other
        names in it are the same for all instances of an iteration, and iterations have dimensions of their own.

        :raises DifferentiationError: there is no such array.
        """
        if p is not None and self.leaf is not None:
            accesses: tuple[Load | Store, ...] = (*self.leaf.loads, *self.leaf.stores)
            for access in accesses:
                shape = self.layout.program.containers[access.container].shape
                for size, expr in zip(shape, access.index, strict=False):
                    if _runs_along(p, expr, self.leaf) and not free_names(size) & self.layout.late:
                        return size, expr
        raise DifferentiationError([self.unbounded(p)])

    def unbounded(self, p: Param | None) -> Problem:
        """Report a parameter without a bound."""
        return Problem(
            f"map parameter {p.name if p is not None else '?'}",
            "has a range known only at run time, and indexes no array by itself: what to keep has no bound",
            str(self.leaf.source) if self.leaf is not None else str(self.place.path),
            "write the map as a for loop",
        )


def _may_stop(node: object) -> bool:
    """True if a loop with a condition may end long before its last iteration: a full dimension wastes memory."""
    if not isinstance(node, Loop) or node.also is None:
        return False
    (dim,) = dims_of(node)
    count = dim.param.count if dim.param is not None else None
    return count is None or not count.is_number or int(count) > config.machine.open_loop_trips


def _runs_along(p: Param, subscript: sympy.Expr, leaf: Leaf) -> bool:
    """True if a subscript is a parameter, or its negative, plus terms that no instance of the leaf changes."""
    own = {q.name for q in leaf.params} | {i.name for i in leaf.loads} | {i.name for i in leaf.lets}
    return not (free_names(subscript) & own) - {p.name} and subscript.coeff(sym(p.name)) in (1, -1)


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
