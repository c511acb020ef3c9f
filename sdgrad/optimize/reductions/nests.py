"""Build the loop nests in which sums are computed without conflicts, and their accumulators.

Each method of :class:`Nests` builds one form. A leaf's *kept* parameters are those on which the sum's subscript
depends, the others are *reduced*. In ``y[i] += x[i, j]`` they are ``i`` and ``j``, and the forms are::

    inner                 outer                    joint, with also z[j] += x[i, j]
    map i=0:n:            for j=0:m:               for i=0:n:
      acc = 0.0             for i=0:n:               acc = 0.0
      for j=0:m:              y[i] += x[i, j]        for j=0:m:
        acc += x[i, j]                                 acc += x[i, j]
      y[i] += acc                                      z[j] += x[i, j]
                                                     y[i] += acc

The temporary ``acc`` replaces ``y[i]`` (scalar replacement, Allen & Kennedy 2001, chapter 8). Only the order in which
iterations reach one element is fixed: the compiler may vectorize each sum (:mod:`sdgrad.runtime.compile.simd`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import dace
from dace import data as dt

from sdgrad.analysis.access_relations import Inside, apart_over, distinct_over, injective
from sdgrad.config import config, device
from sdgrad.optimize.locality.strides import known_trips
from sdgrad.optimize.reductions.blocked_scatter import in_blocks
from sdgrad.optimize.reductions.privatization import in_chunks
from sdgrad.program.leaves import set_scalar
from sdgrad.program.names import Names
from sdgrad.program.naming import is_status
from sdgrad.program.reductions import identity
from sdgrad.program.tree import SCALAR, Block, Container, Instr, Leaf, Load, Node, Param, Program, Scope, Store, Value
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.symbolic.expr import free_names, sym


class Nests:
    """Build nests of leaves that accumulate; ``made`` collects their temporaries."""

    def __init__(self, program: Program, names: Names) -> None:
        self.program, self.names = program, names
        self.made: dict[str, Container] = {}

    def inits(self, leaf: Leaf) -> list[Node]:
        """Build leaves that initialise a leaf's fresh reductions by their identity."""
        out: list[Node] = []
        for s in leaf.stores:
            if s.fresh:
                start = identity(s.mode, self.dtype(s))
                out.append(begin(s, leaf, start, self.names.fresh("v")))
        return out

    def dtype(self, store: Store) -> dace.typeclass:
        """Return the type of the elements that a store changes."""
        return (self.made.get(store.container) or self.program.containers[store.container]).dtype

    def outer(self, leaf: Leaf, kept: tuple[Param, ...], inner: tuple[Param, ...]) -> list[Node]:
        """Add whole rows of contiguous elements: ``map kept: for reduced: for row: target += value``."""
        outer = tuple(p for p in kept if p not in inner)
        if outer and 0 < known_trips(inner[-1]) <= config.machine.register_row and all(s.index for s in leaf.stores):
            return [self.short_rows(leaf, outer, inner)]
        body = [*self.inits(replace(leaf, params=inner)), replace(unfresh(leaf), params=inner, sequential=True)]
        return [Scope(outer, tuple(body), (), leaf.source, schedule=leaf.schedule)] if outer else body

    def short_rows(self, leaf: Leaf, outer: tuple[Param, ...], inner: tuple[Param, ...]) -> Scope:
        """Add whole rows to a row of registers, and this to the target at the end (scalar replacement)."""
        along = inner[-1]
        place = (sym(along.name) - along.start,)
        own: list[Container] = []
        into: dict[Instr, Instr] = {}
        ends: list[Instr] = []
        for s in leaf.stores:
            desc = dt.Array(self.dtype(s), [along.count], transient=True, storage=dace.StorageType.Register)
            name = self.names.fresh(f"row_{s.container}")
            row = self.made[name] = Container(name, desc)
            own.append(row)
            into[s] = Store(name, place, s.value, s.mode, None, True)
            total = self.names.fresh("v")
            ends += [Load(total, name, place), replace(s, value=total, mode="set" if s.fresh else s.mode, fresh=False)]
        body = tuple(into[i] if isinstance(i, Store) else i for i in leaf.body)
        summed = replace(leaf, params=inner, body=body)
        added = replace(unfresh(summed), sequential=True)
        last = Leaf((along,), tuple(ends), leaf.source, schedule=dace.ScheduleType.Sequential)
        return Scope(outer, (*self.inits(summed), added, last), tuple(own), leaf.source, schedule=leaf.schedule)

    def inner(self, leaf: Leaf, kept: tuple[Param, ...], reduced: tuple[Param, ...]) -> Scope:
        """Reduce into a scalar: ``map kept: acc = identity; for reduced: acc += value; target += acc``."""
        body, own = self.collected(leaf.stores, replace(leaf, params=reduced, sequential=True))
        return Scope(kept, body, own, leaf.source, schedule=leaf.schedule)

    def chunked(self, leaf: Leaf) -> list[Node]:
        """Privatize sums over all parameters, by parallel chunks of one of them; empty if that does not pay."""
        found = in_chunks(leaf, None, self.program, self.names)
        if found is None:
            return []
        first, second, made = found
        self.made |= {c.name: c for c in made}
        return [self.inner(first, first.params[:1], first.params[1:]), *(self.inner(e, (), e.params) for e in second)]

    def scattered(self, leaf: Leaf) -> Node:
        """Run a scatter in order, ``for all: target[idx] += value``, and block by block if that pays."""
        found = in_blocks(leaf, self.program, self.names) if device() == "cpu" else None
        if found is None:
            return replace(leaf, sequential=True)
        self.made |= {c.name: c for c in found[1]}
        nest, (computing, adding) = found[0], found[0].body
        assert isinstance(computing, Leaf)
        checked, own = self.collected([s for s in computing.stores if is_status(s.container)], computing)
        return replace(nest, body=(*checked, adding), locals=(*nest.locals, *own))

    def joint(self, leaf: Leaf, row: Param, shared: bool = True) -> list[Node]:
        """Compute several sums in one nest, so that their common values are computed once.

        ``for others: acc = identity; for row: acc += value; element of the row += value; target += acc``. Parameters
        without conflicts are parallel; if there are none, one is privatized.

        :param row: a parameter along which each sum stays at one element, or walks through different elements.
        :param shared: True if private copies may live as long as the program.
        """
        parallel = self._parallel(leaf, row)
        if shared and not parallel and (private := self.joint_in_chunks(leaf, row)):
            return private
        ready, initialised = _with_assignments(leaf, row)
        in_order = tuple(p for p in leaf.params if p != row and p not in parallel)
        inner = replace(ready, params=(row,), schedule=dace.ScheduleType.Sequential)
        body, own = self.collected([s for s in ready.stores if row.name not in s.index_names], inner)
        nest = Scope(in_order, body, own, leaf.source, sequential=True)
        begun = (i for i in leaf.body if not isinstance(i, Store) or i in initialised)
        inits = self.inits(replace(leaf, body=tuple(begun)))
        return [*inits, Scope(parallel, (nest,), (), leaf.source, schedule=leaf.schedule) if parallel else nest]

    def joint_in_chunks(self, leaf: Leaf, row: Param) -> list[Node]:
        """Privatize several sums by parallel chunks of a parameter other than ``row``; empty if that does not pay."""
        found = in_chunks(leaf, row, self.program, self.names)
        if found is None:
            return []
        first, merges, copies = found
        self.made |= {c.name: c for c in copies}
        merging = [n for m in merges for n in (*self.inits(m), replace(unfresh(m), sequential=True))]
        return [*self.joint(first, row), *merging]

    def _parallel(self, leaf: Leaf, row: Param) -> tuple[Param, ...]:
        """Return the parameters other than ``row`` that carry no output dependence and can be outermost."""
        pairs = [
            (a, b)
            for a, b in combinations(leaf.stores, 2)
            if self.program.root(a.container) == self.program.root(b.container)
        ]
        found = tuple(p for p in leaf.params if p != row and _carries_nothing(p, leaf, pairs))
        others = {p.name for p in leaf.params if p not in found}
        return found if not any(free_names(p.start, p.stop, p.step) & others for p in found) else ()

    def collected(self, stores: Sequence[Store], loop: Leaf) -> tuple[Block, tuple[Container, ...]]:
        """Let some sums of a loop accumulate in scalars, which are added to their targets behind it."""
        begins: list[Node] = []
        ends: list[Node] = []
        own: list[Container] = []
        into: dict[Store, Store] = {}
        for store in stores:
            dtype = self.dtype(store)
            name = self.names.fresh(f"acc_{store.container}")
            acc = self.made[name] = Container(name, dt.Scalar(wide(dtype, store.mode), transient=True))
            zero, total = self.names.fresh("v"), self.names.fresh("v")
            mode = "set" if store.fresh else store.mode
            end = (Load(total, name, SCALAR), Store(store.container, store.index, total, mode))
            begins.append(set_scalar(name, Value((), identity(store.mode, dtype)), zero, loop.source))
            into[store] = Store(name, SCALAR, store.value, store.mode)
            ends.append(Leaf((), end, loop.source))
            own.append(acc)
        body = tuple(into.get(i, i) if isinstance(i, Store) else i for i in loop.body)
        return (*begins, replace(loop, body=body), *ends), tuple(own)


def _carries_nothing(param: Param, leaf: Leaf, pairs: Sequence[tuple[Store, Store]]) -> bool:
    """True if iterations that differ in a parameter store to different elements.

    :param pairs: stores of the leaf to the same memory.
    """
    inner = tuple(q for q in leaf.params if q != param)
    if not all(distinct_over(s, (param,), inner, leaf.defined) for s in leaf.stores):
        return False
    dims = tuple((q.name, q) for q in inner)
    inside = ((Inside(a, dims, leaf.defined), Inside(b, dims, leaf.defined)) for a, b in pairs)
    return all(apart_over(a, b, (param,)) for a, b in inside)


def _with_assignments(leaf: Leaf, row: Param) -> tuple[Leaf, list[Store]]:
    """Turn fresh reductions that reach each element once into assignments.

    Those that do not depend on ``row`` stay fresh: their accumulator is assigned. Return the leaf, and the other fresh
    reductions, whose elements must be initialised before the nest.
    """
    narrow = replace(leaf, params=tuple(p for p in leaf.params if p != row))
    fresh = [s for s in leaf.stores if s.fresh]
    walking = {s for s in fresh if row.name in s.index_names}
    assigned = {s for s in fresh if _single(s, leaf if s in walking else narrow)}

    def started(store: Store) -> Store:
        if not store.fresh or store in assigned - walking:
            return store
        return replace(store, fresh=False, mode="set" if store in assigned else store.mode)

    body = tuple(started(i) if isinstance(i, Store) else i for i in leaf.body)
    return replace(leaf, body=body), [s for s in fresh if s not in assigned]


def wide(dtype: dace.typeclass, mode: str) -> dace.typeclass:
    """Return the type of an accumulator: float32 for sums and products of half precision, else the same type."""
    return dace.float32 if dtype == dace.float16 and mode in ("sum", "prod") else dtype


def unfresh(leaf: Leaf) -> Leaf:
    """Turn injective fresh reductions of a leaf into assignments, and the others, initialised before, into updates."""
    body = tuple(
        replace(i, fresh=False, mode="set" if _single(i, leaf) else i.mode) if isinstance(i, Store) and i.fresh else i
        for i in leaf.body
    )
    return replace(leaf, body=body)


def _single(store: Store, leaf: Leaf) -> bool:
    """True if each element of a store is reached by exactly one iteration of the leaf."""
    return injective(store, leaf, len(store.index)) and starts(store, leaf) and store.guard is None


def starts(store: Store, leaf: Leaf) -> bool:
    """True if each element of a fresh reduction is reached by an iteration, which then initialises it."""
    used = store.index_names
    return not store.fresh or all(p.name in used or (p.stop - p.start).is_nonnegative for p in leaf.params)
