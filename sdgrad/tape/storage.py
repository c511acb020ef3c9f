"""Make the containers of the tape, and the entries that say how a value gets there and back.

::

    for i in range(n):
        map j: v = x[j]; ..        -->      tape_x[i, j] = x[j], if x changes with i

A value has the dimensions of the loops that it varies with (:mod:`sdgrad.tape.dimensions`). A nest that reads fewer
elements than it has instances (``x[i + j]``) tapes the box of these elements instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import dace
import sympy
from dace import data as dt

from sdgrad.analysis.enclosing import Place
from sdgrad.analysis.paths import Path
from sdgrad.analysis.survival import Memory
from sdgrad.analysis.value_ranges import Unbounded, extreme
from sdgrad.program.leaves import params_of
from sdgrad.program.names import Names
from sdgrad.program.tree import SCALAR, Container, Instr, Leaf, Load, Loop, Param, Program, Source, Store
from sdgrad.symbolic.expr import free_names, sym
from sdgrad.tape.dimensions import Dimension, Layout
from sdgrad.tape.plan import Checkpoint, Kept, KeptSymbol


@dataclass
class Keeper:
    """Make tape containers for the values of one program."""

    program: Program
    memory: Memory
    names: Names
    checkpoints: Mapping[Path, Checkpoint] = field(default_factory=dict)

    @cached_property
    def layout(self) -> Layout:
        """The dimensions of the tapes."""
        return Layout(self.program, self.memory, self.names, self.checkpoints)

    def owner(self, place: Place, container: str | None = None) -> Path | None:
        """Return the node whose replay fills a tape: the map a container is local to, or a checkpointed loop."""
        local = place.owner(container) if container is not None else None
        return local or next((path for path, _ in reversed(place.outer) if path in self.checkpoints), None)

    def keep(self, load: Load, leaf: Leaf | None, path: Path) -> Kept:
        """Make a tape for the values of a load."""
        place = self.memory.places[path]
        owner = self.owner(place, load.container)
        own, inline = varying(load, leaf)
        constant = self.constant_in(load, leaf, own, place)
        once = all(path in constant for path, _ in place.outer)
        if once and not inline and (boxed := self.boxed(load, own)) is not None:
            return replace(boxed, owner=owner)
        dims = self.layout.dimensions(place, owner, own, leaf, constant)
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
        dims = self.layout.dimensions(self.memory.places[path], owner, leaf.params, leaf)
        tape, index = self.container(name, dtype, dims)
        return Kept(name, None, tape, index, owner, leaf.params, True)

    def keep_integer(self, stem: str, dtype: dace.typeclass, path: Path) -> KeptSymbol:
        """Make a tape for an integer of a control node."""
        place = self.memory.places[path]
        return KeptSymbol(*self.container(stem, dtype, self.layout.dimensions(place, self.owner(place), (), None)))

    def container(
        self, stem: str, dtype: dace.typeclass, dims: Sequence[Dimension]
    ) -> tuple[Container, tuple[sympy.Expr, ...]]:
        """Make a tape container with some dimensions, and the index of an instance in it."""
        shape, index = [n for n, _ in dims], tuple(i for _, i in dims)
        desc = dt.Array(dtype, shape, transient=True) if shape else dt.Scalar(dtype, transient=True)
        return Container(self.names.fresh(f"tape_{stem}"), desc), index or SCALAR

    def constant_in(self, load: Load, leaf: Leaf | None, own: Sequence[Param], place: Place) -> set[Path]:
        """Find the loops in which a load is invariant: they write nothing that it, or its subscript, comes from."""
        names, containers = sources(load, leaf)
        names |= free_names(*(x for p in own for x in (p.start, p.stop, p.step)))
        unmoved = not names & (self.memory.varying - {d.name for d in place.dims} - {p.name for p in own})
        roots = {self.program.root(c) for c in containers}
        if not unmoved:
            return set()
        return {
            path
            for path, node in place.outer
            if isinstance(node, Loop) and node.symbol not in names and not roots & self.memory.changed[path]
        }


def sources(load: Load, leaf: Leaf | None) -> tuple[set[str], set[str]]:
    """Return the symbols and the containers that a load, its subscript and its guard are computed from."""
    definitions = {i.name: i for i in leaf.body if not isinstance(i, Store)} if leaf is not None else {}
    names: set[str] = set()
    containers: set[str] = set()
    todo: list[Instr] = [load]
    while todo:
        instr = todo.pop()
        if isinstance(instr, Load):
            containers.add(instr.container)
        new = instr.names - names
        names |= new
        todo += [definitions[n] for n in new if n in definitions]
    return names - definitions.keys(), containers


def spread(expr: sympy.Expr, params: Sequence[Param], largest: bool) -> sympy.Expr:
    """Bound an expression from below or above over all values of some parameters.

    :raises Unbounded: it holds a function that may have any value.
    """
    for p in reversed(params):
        low, high = (p.start, p.stop) if p.step > 0 else (p.stop, p.start)
        expr = sympy.expand(extreme(expr, p.name, low, high, largest))
    return expr


def varying(load: Load, leaf: Leaf | None) -> tuple[tuple[Param, ...], bool]:
    """Return the leaf's parameters that a load varies with, and True if only the leaf itself can tape the load.

    The parameters have the order of the container's dimensions, if their ranges allow it, such that the tape has the
    layout of the container.
    """
    if leaf is None:
        return (), False
    local = leaf.defined
    used = load.index_names
    if used & local or load.guard is not None:
        return leaf.params, True
    own = params_of(load, leaf)
    names = {p.name for p in own}
    if names <= used and not any(free_names(p.start, p.stop) & names for p in own):
        places = {p.name: next(k for k, e in enumerate(load.index) if p.name in free_names(e)) for p in own}
        own = tuple(sorted(own, key=lambda p: places[p.name]))
    return own, any(p.name not in used for p in own)
