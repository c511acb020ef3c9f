"""How a sum is computed without conflicts: nests of loops, and the numbers they collect in.

What is sequential here is so for one element only: the compiler may add up in lanes
(:mod:`sdgrad.runtime.compile.simd`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import dace
from dace import data as dt

from sdgrad.analysis.access_relations import Inside, apart_over, distinct_over, injective
from sdgrad.config import device
from sdgrad.optimize.locality.strides import known_trips
from sdgrad.optimize.reductions.blocked_scatter import in_blocks
from sdgrad.optimize.reductions.privatization import in_chunks
from sdgrad.program.leaves import set_scalar
from sdgrad.program.names import Names
from sdgrad.program.reductions import identity
from sdgrad.program.tree import SCALAR, Block, Container, Instr, Leaf, Load, Node, Param, Program, Scope, Store, Value
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.symbolic.expr import free_names, sym

LONGEST_ROW = 32
"""Elements of a row that a few registers hold."""


class Nests:
    """Makes nests of leaves that accumulate, and the containers of these."""

    def __init__(self, program: Program, names: Names) -> None:
        self.program, self.names = program, names
        self.made: dict[str, Container] = {}

    def inits(self, leaf: Leaf) -> list[Node]:
        """Leaves that start fresh reductions from their identity."""
        out: list[Node] = []
        for s in leaf.stores:
            if s.fresh:
                start = identity(s.mode, self.dtype(s))
                out.append(begin(s, leaf, start, self.names.fresh("v")))
        return out

    def dtype(self, store: Store) -> dace.typeclass:
        return (self.made.get(store.container) or self.program.containers[store.container]).dtype

    def outer(self, leaf: Leaf, kept: tuple[Param, ...], inner: tuple[Param, ...]) -> list[Node]:
        """``map kept: for reduced: for the contiguous one: target += value``: rows are added up as a whole."""
        outer = tuple(p for p in kept if p not in inner)
        if outer and 0 < known_trips(inner[-1]) <= LONGEST_ROW and all(s.index for s in leaf.stores):
            return [self.short_rows(leaf, outer, inner)]
        body = [*self.inits(replace(leaf, params=inner)), replace(unfresh(leaf), params=inner, sequential=True)]
        return [Scope(outer, tuple(body), (), leaf.source, schedule=leaf.schedule)] if outer else body

    def short_rows(self, leaf: Leaf, outer: tuple[Param, ...], inner: tuple[Param, ...]) -> Scope:
        """The same with rows of a few numbers, which stay in registers while they are added up."""
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
        """``map kept: acc = identity; for reduced: acc += value; target += acc``."""
        body, own = self.collected(leaf, leaf.stores, replace(leaf, params=reduced, sequential=True))
        return Scope(kept, body, own, leaf.source, schedule=leaf.schedule)

    def chunked(self, leaf: Leaf) -> list[Node]:
        """Sums of all instances, by parallel chunks of one parameter; nothing where that does not pay."""
        found = in_chunks(leaf, None, self.program, self.names)
        if found is None:
            return []
        first, second, made = found
        self.made |= {c.name: c for c in made}
        return [self.inner(first, first.params[:1], first.params[1:]), *(self.inner(e, (), e.params) for e in second)]

    def scattered(self, leaf: Leaf) -> Node:
        """``for all: target[chosen] += value``, in order."""
        found = in_blocks(leaf, self.program, self.names) if device() == "cpu" else None
        if found is None:
            return replace(leaf, sequential=True)
        self.made |= {c.name: c for c in found[1]}
        return found[0]

    def joint(self, leaf: Leaf, row: Param, shared: bool = True) -> list[Node]:
        """``for others: acc = identity; for row: acc += value; element of the row += value; target += acc``.

        What several sums have in common is computed once. Parameters along which nothing meets are parallel; where
        there are none, chunks of one of them are.

        :param row: a parameter along which each sum stays at one element, or walks through elements of its own.
        :param shared: chunks may have memory that lives as long as the program.
        """
        apart = self._apart(leaf, row)
        if shared and not apart and (found := in_chunks(leaf, row, self.program, self.names)) is not None:
            first, second, made = found
            self.made |= {c.name: c for c in made}
            adding = [n for e in second for n in (*self.inits(e), replace(unfresh(e), sequential=True))]
            return [*self.joint(first, row), *adding]
        others = tuple(p for p in leaf.params if p != row)
        together = tuple(p for p in others if p not in apart)
        rows = [s for s in leaf.stores if row.name in free_names(*s.index)]
        narrow = replace(leaf, params=others)
        single = {s for s in leaf.stores if s.fresh and _single(s, leaf if s in rows else narrow)}
        begun = [s for s in leaf.stores if s.fresh and s not in single]

        def started(store: Store) -> Store:
            if store in begun:
                return replace(store, fresh=False)
            return replace(store, fresh=False, mode="set") if store in single and store in rows else store

        ready = replace(leaf, body=tuple(started(i) if isinstance(i, Store) else i for i in leaf.body))
        middle = replace(ready, params=(row,), schedule=dace.ScheduleType.Sequential)
        collected = [s for s in ready.stores if row.name not in free_names(*s.index)]
        body, own = self.collected(ready, collected, middle)
        nest = Scope(together, body, own, leaf.source, sequential=True)
        inits = self.inits(replace(leaf, body=tuple(i for i in leaf.body if not isinstance(i, Store) or i in begun)))
        return [*inits, Scope(apart, (nest,), (), leaf.source, schedule=leaf.schedule) if apart else nest]

    def _apart(self, leaf: Leaf, row: Param) -> tuple[Param, ...]:
        """The parameters along which no two sums of a leaf meet."""
        pairs = [
            (a, b)
            for a, b in combinations(leaf.stores, 2)
            if self.program.root(a.container) == self.program.root(b.container)
        ]

        def alone(p: Param) -> bool:
            inner = tuple(q for q in leaf.params if q != p)
            if p == row or not all(distinct_over(s, (p,), inner, leaf.defined) for s in leaf.stores):
                return False
            dims = tuple((q.name, q) for q in inner)
            inside = ((Inside(a, dims, leaf.defined), Inside(b, dims, leaf.defined)) for a, b in pairs)
            return all(apart_over(a, b, (p,)) for a, b in inside)

        found = tuple(p for p in leaf.params if alone(p))
        others = {p.name for p in leaf.params if p not in found}
        return found if not any(free_names(p.start, p.stop, p.step) & others for p in found) else ()

    def collected(self, leaf: Leaf, stores: Sequence[Store], loop: Leaf) -> tuple[Block, tuple[Container, ...]]:
        """A loop in which some of a leaf's sums collect in numbers of their own, that end where the sums go."""
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
            begins.append(set_scalar(name, Value((), identity(store.mode, dtype)), zero, leaf.source))
            into[store] = Store(name, SCALAR, store.value, store.mode)
            ends.append(Leaf((), end, leaf.source))
            own.append(acc)
        body = tuple(into.get(i, i) if isinstance(i, Store) else i for i in loop.body)
        return (*begins, replace(loop, body=body), *ends), tuple(own)


def wide(dtype: dace.typeclass, mode: str) -> dace.typeclass:
    """Low-precision sums are accumulated in float32."""
    return dace.float32 if dtype == dace.float16 and mode in ("sum", "prod") else dtype


def unfresh(leaf: Leaf) -> Leaf:
    """Fresh reductions that never meet themselves are assignments; others have been started already."""
    body = tuple(
        replace(i, fresh=False, mode="set" if _single(i, leaf) else i.mode) if isinstance(i, Store) and i.fresh else i
        for i in leaf.body
    )
    return replace(leaf, body=body)


def _single(store: Store, leaf: Leaf) -> bool:
    return injective(store, leaf, len(store.index)) and starts(store, leaf) and store.guard is None


def starts(store: Store, leaf: Leaf) -> bool:
    """Whether no element of a fresh reduction goes without an instance: nothing else would give it its start."""
    used = free_names(*store.index)
    return not store.fresh or all(p.name in used or (p.stop - p.start).is_nonnegative for p in leaf.params)
