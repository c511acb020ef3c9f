"""Conflict-free accumulation: every sum gets a fixed order, and nothing needs an atomic.

A leaf may accumulate into one element from many instances. Here such leaves become: a parallel map with a sequential
reduction inside (where the reduced parameters are the innermost), or a sequential nest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from sdgrad.analysis.access_relations import Inside, apart, apart_over, injective
from sdgrad.analysis.conflicts import overwrites_itself, scope_overwrites_itself
from sdgrad.analysis.enclosing import dims_of
from sdgrad.config import device
from sdgrad.optimize.locality.loop_interchange import cost, reduced_last
from sdgrad.optimize.locality.strides import contiguous, steps
from sdgrad.optimize.reductions.nests import Nests, starts, unfresh, wide
from sdgrad.program.leaves import live
from sdgrad.program.naming import all_names
from sdgrad.program.tree import (
    Block,
    Leaf,
    Load,
    Node,
    Param,
    Program,
    Scope,
    Store,
    SymbolAssign,
    children,
    local_names,
    walk,
    with_children,
)
from sdgrad.symbolic.expr import free_names

SPARED = 1.5
"""How many times as much several nests have to compute as a joint one does, for that to be worth an order."""


def schedule_accumulations(program: Program) -> Program:
    """The program with every conflicting accumulation in a fixed order."""
    nests = Nests(program, all_names(program))
    body = Scheduler(program, nests).block(program.body, ())
    return replace(program, body=body, containers={**program.containers, **nests.made})


class Scheduler:
    """Decides how each leaf adds up."""

    def __init__(self, program: Program, nests: Nests) -> None:
        self.program, self.nests = program, nests

    def block(self, block: Block, outer: tuple[Param, ...]) -> Block:
        return tuple(n for node in block for n in self.node(node, outer))

    def node(self, node: Node, outer: tuple[Param, ...]) -> list[Node]:
        if isinstance(node, Leaf):
            return self.leaf(node, outer)
        if isinstance(node, Scope):
            return [self.scope(node, outer)]
        return [with_children(node, tuple(self.block(b, outer) for b in children(node)))]

    def scope(self, node: Scope, outer: tuple[Param, ...]) -> Node:
        """A structured map is sequential where its instances may accumulate into the same element."""
        inner = with_children(node, (self.block(node.body, (*outer, *node.params)),))
        local = {c for n in walk((node,)) for c in local_names(n)}
        assert isinstance(inner, Scope)
        if scope_overwrites_itself(node):
            return replace(inner, sequential=True)
        changing = frozenset(n.symbol for n in walk(node.body) if isinstance(n, SymbolAssign))
        stores = [(i, s) for i, s in _stores(node.body, (), changing) if s.container not in local]
        sums = [(i, s) for i, s in stores if s.mode != "set"]
        if all(_alone(s, node.params) >= {p.name for p in node.params} for _, s in sums) and not any(
            self.program.root(a.container) == self.program.root(b.container) and not apart_over(i, j, node.params)
            for (i, a), (j, b) in combinations(stores, 2)
            if (a.mode, b.mode) != ("set", "set")
        ):
            return inner
        return replace(inner, sequential=True)

    def leaf(self, leaf: Leaf, outer: tuple[Param, ...]) -> list[Node]:
        if overwrites_itself(leaf):
            return [*self.nests.inits(leaf), replace(unfresh(leaf), sequential=True)]
        conflicts = [s for s in leaf.stores if s.mode != "set" and not (self.is_injective(s, leaf) and starts(s, leaf))]
        plain = [s for s in leaf.stores if s not in conflicts]
        if not leaf.params or not conflicts and not self.overlapping(plain, leaf):
            return [unfresh(leaf)]
        if leaf.sequential:
            return [*self.nests.inits(leaf), unfresh(leaf)]
        stored = {self.program.root(s.container) for s in leaf.stores}
        loaded = {self.program.root(x.container) for x in leaf.loads}
        summed, assigned = (
            {self.program.root(s.container) for s in leaf.stores if (s.mode != "set") == sums} for sums in (True, False)
        )
        if summed & assigned:  # an element may be assigned, and then added to
            return [*self.nests.inits(leaf), replace(unfresh(leaf), sequential=True)]
        parts = [[s] for s in leaf.stores if s.mode != "set"] + [[s for s in leaf.stores if s.mode == "set"]]
        if len([p for p in parts if p]) > 1 and stored & loaded & {self.program.root(s.container) for s in conflicts}:
            return [*self.nests.inits(leaf), replace(unfresh(leaf), sequential=True)]
        groups = self.group(leaf)
        if (row := self.shared_row(leaf, groups)) is not None:
            return self.nests.joint(leaf, row, shared=not outer)
        changing = [g for g in groups if loaded & {self.program.root(s.container) for s in g}]
        if len(groups) > 1 and len(changing) > 1:
            return [*self.nests.inits(leaf), replace(unfresh(leaf), sequential=True)]
        out: list[Node] = []
        # what the others still read is changed last
        for group in [g for g in groups if g not in changing] + changing:
            part = _only(leaf, group)
            out += self.accumulate(part, outer) if any(s in conflicts for s in group) else [unfresh(part)]
        return out

    def group(self, leaf: Leaf) -> list[list[Store]]:
        """Stores that can share a leaf: sums one by one where they may meet, assignments last."""
        sums = [s for s in leaf.stores if s.mode != "set"]
        groups: list[list[Store]] = []
        for s in sums:
            if self.is_injective(s, leaf):
                for g in groups:
                    if all(self.is_injective(o, leaf) and not self.meet(o, s, leaf) for o in g):
                        g.append(s)
                        break
                else:
                    groups.append([s])
            else:
                beside = next((g for g in groups if self.together(g, s, leaf)), None)
                groups.append([s]) if beside is None else beside.append(s)
        sets = [s for s in leaf.stores if s.mode == "set"]
        return groups + ([sets] if sets else [])

    def together(self, group: list[Store], store: Store, leaf: Leaf) -> bool:
        """Whether a sum can be computed beside others: what they add up is computed once.

        They reduce the same parameters, or data choose where all of them go.
        """
        loaded = {self.program.root(x.container) for x in leaf.loads}
        stores = (*group, store)
        roots = [self.program.root(s.container) for s in stores]
        params = {p.name for p in leaf.params}
        if len(set(roots)) != len(roots) or loaded & set(roots) or any(self.is_injective(s, leaf) for s in stores):
            return False
        if all(free_names(*s.index) & leaf.defined for s in stores):
            return True
        same = len({frozenset(free_names(*s.index) & params) for s in stores}) == 1
        return same and all(self.is_regular(s, leaf) for s in stores)

    def is_regular(self, store: Store, leaf: Leaf) -> bool:
        """Whether the instances that a sum adds up differ in parameters of their own, the innermost among them."""
        used = free_names(*store.index)
        kept = tuple(p for p in leaf.params if p.name in used)
        reduced = {p.name for p in leaf.params if p.name not in used}
        bounds = {n for p in kept for n in free_names(p.start, p.stop, p.step)}
        return (
            not used & leaf.defined
            and not bounds & reduced
            and store.guard is None
            and bool(reduced)
            and leaf.params[-1].name in reduced
            and injective(store, leaf, len(store.index), kept)
        )

    def overlapping(self, stores: list[Store], leaf: Leaf) -> bool:
        """Whether two accumulations of a leaf may go to the same element."""
        return any(self.meet(a, b, leaf) for a, b in combinations((s for s in stores if s.mode != "set"), 2))

    def meet(self, first: Store, second: Store, leaf: Leaf) -> bool:
        """Whether two instances may store to one element, each by one of two stores."""
        if self.program.root(first.container) != self.program.root(second.container):
            return False
        return first.mode != second.mode or not apart(first, second, leaf)

    def is_injective(self, store: Store, leaf: Leaf) -> bool:
        return injective(store, leaf, len(store.index))

    def accumulate(self, leaf: Leaf, outer: tuple[Param, ...]) -> list[Node]:
        """A leaf with conflicting accumulations that can run side by side."""
        leaf = reduced_last(leaf)
        if not all(self.is_regular(s, leaf) for s in leaf.stores):
            if (row := self.row(leaf)) is not None:
                return self.nests.joint(leaf, row, shared=not outer)
            return [*self.nests.inits(leaf), self.nests.scattered(unfresh(self.by_rows(leaf)))]
        used = free_names(*leaf.stores[0].index)
        kept = tuple(p for p in leaf.params if p.name in used)
        reduced = tuple(p for p in leaf.params if p.name not in used)
        narrow = any(wide(dtype, s.mode) != dtype for s in leaf.stores if (dtype := self.nests.dtype(s)))
        along = self.along(leaf, kept, reduced) if not narrow and device() == "cpu" else None
        if along in kept and along.name not in free_names(*(b for p in reduced for b in (p.start, p.stop, p.step))):
            return self.nests.outer(leaf, kept, (*reduced, along))
        if not kept and not outer and not narrow and device() == "cpu" and (parts := self.nests.chunked(leaf)):
            return parts
        return [self.nests.inner(leaf, kept, reduced)]

    def by_rows(self, leaf: Leaf) -> Leaf:
        """Sums in order, with a parameter innermost along which all of them walk through memory, if there is one."""
        bounds = {n for p in leaf.params for n in free_names(p.start, p.stop, p.step)}
        rows = [
            p
            for p in leaf.params
            if p.name not in bounds and p.count != 1 and all(steps(s, p, self.program) in (1, -1) for s in leaf.stores)
        ]
        return replace(leaf, params=(*(p for p in leaf.params if p not in rows[:1]), *rows[:1]))

    def along(self, leaf: Leaf, kept: tuple[Param, ...], reduced: tuple[Param, ...]) -> Param | None:
        """The parameter along which rows are added up as a whole; None where each element is better off alone."""
        found = contiguous(leaf, self.program)
        if found is not None or not self.columns(leaf, reduced[-1]):
            return found
        rows = [p for p in kept if not self.columns(leaf, p)]
        return min(rows, key=lambda p: cost(leaf, p, self.program), default=None)

    def shared_row(self, leaf: Leaf, groups: list[list[Store]]) -> Param | None:
        """The inner loop's parameter where all of a leaf's sums are better off in one nest."""
        apart = sum(len(_only(leaf, g).body) for g in groups)
        return self.row(leaf) if len(groups) > 1 and apart >= SPARED * len(leaf.body) else None

    def row(self, leaf: Leaf) -> Param | None:
        """A parameter for an inner loop; None where sums have to run in order.

        Along it each sum either collects in one element, or walks through elements of its own.
        """
        loaded = {self.program.root(x.container) for x in leaf.loads}
        if device() == "gpu" or loaded & {self.program.root(s.container) for s in leaf.stores}:
            return None
        if any(s.guard is not None or free_names(*s.index) & leaf.defined for s in leaf.stores):
            return None
        bounds = {n for p in leaf.params for n in free_names(p.start, p.stop, p.step)}
        free = [p for p in leaf.params if p.name not in bounds and self.walks(leaf, p)]
        return min(free, key=lambda p: (self.columns(leaf, p), cost(leaf, p, self.program)), default=None)

    def columns(self, leaf: Leaf, row: Param) -> int:
        """How many arrays of several dimensions a loop walks through from one cache line to another."""
        others = {p.name for p in leaf.params if p != row}
        wide: list[Load | Store] = [*leaf.loads, *leaf.stores]
        wide = [x for x in wide if free_names(*x.index) & others]
        return sum(steps(x, row, self.program) not in (None, 0, 1, -1) for x in wide)

    def walks(self, leaf: Leaf, row: Param) -> bool:
        """Whether no element is changed by two instances that only differ in a parameter, unless all of them do."""
        one = replace(leaf, params=(row,))
        rows = [s for s in leaf.stores if row.name in free_names(*s.index)]
        collected = [s for s in leaf.stores if s not in rows]
        roots = {self.program.root(s.container) for s in rows}
        begun = [self.program.root(s.container) for s in leaf.stores if s.fresh]
        several = Counter(self.program.root(s.container) for s in leaf.stores)
        return (
            all(s.mode != "set" for s in collected)
            and all(several[root] == 1 for root in begun)
            and not roots & {self.program.root(s.container) for s in collected}
            and all(self.is_injective(s, one) for s in rows)
            and not any(self.meet(a, b, one) for a, b in combinations(rows, 2))
        )


def _only(leaf: Leaf, stores: list[Store]) -> Leaf:
    """What of a leaf some of its stores need."""
    return replace(leaf, body=live((i for i in leaf.body if not isinstance(i, Store) or i in stores), set()))


def _stores(
    block: Block, dims: tuple[tuple[str, Param | None], ...], changing: frozenset[str]
) -> Iterator[tuple[Inside, Store]]:
    """The stores of leaves in a block.

    :param changing: symbols that are assigned on the way.
    """
    for node in block:
        own = (*dims, *((d.name, d.param) for d in dims_of(node)))
        if isinstance(node, Leaf):
            own = (*dims, *((p.name, p) for p in node.params))
            yield from ((Inside(s, own, changing | node.defined), s) for s in node.stores)
        for inner in children(node):
            yield from _stores(inner, own, changing)


def _alone(store: Store, params: tuple[Param, ...]) -> set[str]:
    names = {p.name for p in params}
    found = set()
    for expr in store.index:
        mine = free_names(expr)
        if len(mine) == 1 and mine <= names:
            found |= mine
    return found
