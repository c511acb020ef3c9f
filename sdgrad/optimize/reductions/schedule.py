"""Give every accumulation a fixed order, so that no sum needs atomics and none depends on timing.

A leaf may accumulate into one element from many iterations. If the reduced parameters are innermost, it becomes a
parallel map with a sequential reduction inside, ::

    map i=0:n, j=0:m:              map i=0:n:
      t = x[i, j]                    acc = 0.0
      y[i] += t                      for j=0:m:
                                       t = x[i, j]
                                       acc += t
                                     y[i] += acc

and otherwise a nest that adds whole rows, a nest with several sums, chunks with private memory, or a sequential loop.
Unchanged are leaves whose iterations store to different elements. (Allen & Kennedy 2001, on reductions and loop
distribution.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from sdgrad.analysis.access_relations import Inside, apart_over
from sdgrad.analysis.conflicts import overwrites_itself, scope_overwrites_itself
from sdgrad.analysis.cost_model import of_body
from sdgrad.analysis.enclosing import dims_of
from sdgrad.config import config, device
from sdgrad.optimize.locality.loop_interchange import reduced_last
from sdgrad.optimize.reductions.innermost_loop import InnermostLoop
from sdgrad.optimize.reductions.nests import Nests, unfresh, wide
from sdgrad.optimize.reductions.store_groups import StoreGroups, only, rereading
from sdgrad.program.naming import all_names
from sdgrad.program.tree import (
    Block,
    Leaf,
    Node,
    Param,
    Program,
    Scope,
    Store,
    SymbolAssign,
    children,
    local_names,
    map_blocks,
    walk,
    with_children,
)
from sdgrad.symbolic.expr import free_names


def schedule_accumulations(program: Program) -> Program:
    """Give every conflicting accumulation of a program a fixed order."""
    nests = Nests(program, all_names(program))
    body = Scheduler(program, nests).block(program.body, ())
    return replace(program, body=body, containers={**program.containers, **nests.made})


class Scheduler:
    """Choose the form of each accumulation."""

    def __init__(self, program: Program, nests: Nests) -> None:
        self.program, self.nests = program, nests
        self.stores = StoreGroups(program)
        self.rows = InnermostLoop(program, self.stores)

    def block(self, block: Block, outer: tuple[Param, ...]) -> Block:
        """Order the accumulations of a block inside parallel parameters."""
        return tuple(n for node in block for n in self.node(node, outer))

    def node(self, node: Node, outer: tuple[Param, ...]) -> list[Node]:
        """Order the accumulations of a node inside parallel parameters."""
        if isinstance(node, Leaf):
            return self.leaf(node, outer)
        if isinstance(node, Scope):
            return [self.scope(node, outer)]
        return [map_blocks(node, lambda b: self.block(b, outer))]

    def scope(self, node: Scope, outer: tuple[Param, ...]) -> Node:
        """Order the body of a structured map; the map is sequential if its iterations may store to one element."""
        inner = with_children(node, (self.block(node.body, (*outer, *node.params)),))
        assert isinstance(inner, Scope)
        in_order = scope_overwrites_itself(node) or not self.is_conflict_free(node)
        return replace(inner, sequential=True) if in_order else inner

    def is_conflict_free(self, scope: Scope) -> bool:
        """True if no element to which a structured map accumulates is stored to by two of the map's iterations."""
        local = {c for n in walk((scope,)) for c in local_names(n)}
        changing = frozenset(n.symbol for n in walk(scope.body) if isinstance(n, SymbolAssign))
        stores = [(i, s) for i, s in _stores(scope.body, (), changing) if s.container not in local]
        names = {p.name for p in scope.params}
        if not all(_alone(s, scope.params) >= names for _, s in stores if s.mode != "set"):
            return False
        return not any(
            self.program.root(a.container) == self.program.root(b.container) and not apart_over(i, j, scope.params)
            for (i, a), (j, b) in combinations(stores, 2)
            if (a.mode, b.mode) != ("set", "set")
        )

    def leaf(self, leaf: Leaf, outer: tuple[Param, ...]) -> list[Node]:
        """Order the stores of a leaf; make it parallel as it is, sequential, one nest, or several."""
        if overwrites_itself(leaf):
            return self.in_order(leaf)
        conflicts = self.stores.conflicting(leaf)
        plain = [s for s in leaf.stores if s not in conflicts]
        if not leaf.params or not conflicts and not self.stores.overlapping(plain, leaf):
            return [unfresh(leaf)]
        if leaf.sequential or self.stores.assigns_and_sums(leaf) or self.stores.reads_sums(leaf, conflicts):
            return self.in_order(leaf)
        groups = self.stores.partition(leaf)
        if (row := self.shared_row(leaf, groups)) is not None:
            return self.nests.joint(leaf, row, shared=not outer)
        return self.distributed(leaf, groups, conflicts, outer)

    def in_order(self, leaf: Leaf) -> list[Node]:
        """Run the iterations of a leaf one after another, behind the initialisation of its fresh reductions."""
        return [*self.nests.inits(leaf), replace(unfresh(leaf), sequential=True)]

    def distributed(
        self, leaf: Leaf, groups: list[list[Store]], conflicts: list[Store], outer: tuple[Param, ...]
    ) -> list[Node]:
        """Distribute a leaf over its groups of stores; run it in order if two groups change what it reads."""
        loaded = self.stores.roots(leaf.loads)
        changing = [g for g in groups if loaded & self.stores.roots(g)]
        if len(changing) > 1:
            return self.in_order(leaf)
        out: list[Node] = []
        groups = self.stores.with_checks(leaf, groups)
        order = [g for g in groups if g not in changing] + changing  # the other groups still read the old values
        if kept := self.stores.kept(leaf):
            rest = ([s for s in g if s not in kept] for g in order)
            order = [kept, *(g for g in rest if g)]
        for group in order:
            part = only(rereading(leaf, kept) if group is not kept else leaf, group)
            out += self.accumulate(part, outer) if any(s in conflicts for s in group) else [unfresh(part)]
        return out

    def shared_row(self, leaf: Leaf, groups: list[list[Store]]) -> Param | None:
        """Choose the inner loop of one nest for all groups; None if separate nests repeat little work."""
        apart = sum(of_body(only(leaf, g).body) for g in groups)
        return (
            self.rows.row(leaf)
            if len(groups) > 1 and apart >= config.machine.joint_nest_gain * of_body(leaf.body)
            else None
        )

    def accumulate(self, leaf: Leaf, outer: tuple[Param, ...]) -> list[Node]:
        """Make nests of a leaf whose conflicting sums can share a loop."""
        leaf = reduced_last(leaf)
        if all(self.stores.is_regular(s, leaf) for s in leaf.stores):
            return self.reduced(leaf, outer)
        if (row := self.rows.row(leaf)) is not None:
            return self.nests.joint(leaf, row, shared=not outer)
        return [*self.nests.inits(leaf), self.nests.scattered(unfresh(self.rows.interchanged(leaf)))]

    def reduced(self, leaf: Leaf, outer: tuple[Param, ...]) -> list[Node]:
        """Make nests of regular sums: add whole rows, privatize chunks, or reduce each element in a loop of its own."""
        used = free_names(*leaf.stores[0].index)
        kept = tuple(p for p in leaf.params if p.name in used)
        reduced = tuple(p for p in leaf.params if p.name not in used)
        if device() == "cpu" and not self.is_narrow(leaf):
            along = self.rows.along(leaf, kept, reduced)
            if along in kept and along.name not in free_names(*(b for p in reduced for b in (p.start, p.stop, p.step))):
                return self.nests.outer(leaf, kept, (*reduced, along))
            if not kept and not outer and (parts := self.nests.chunked(leaf)):
                return parts
        return [self.nests.inner(leaf, kept, reduced)]

    def is_narrow(self, leaf: Leaf) -> bool:
        """True if a sum of a leaf needs an accumulator of higher precision than its container has."""
        return any(wide(dtype, s.mode) != dtype for s in leaf.stores if (dtype := self.nests.dtype(s)))


def _stores(
    block: Block, dims: tuple[tuple[str, Param | None], ...], changing: frozenset[str]
) -> Iterator[tuple[Inside, Store]]:
    """Yield the stores of all leaves in a block, with the loops around them.

    :param changing: symbols that the block assigns, which stand for any number.
    """
    for node in block:
        own = (*dims, *((d.name, d.param) for d in dims_of(node)))
        if isinstance(node, Leaf):
            own = (*dims, *((p.name, p) for p in node.params))
            yield from ((Inside(s, own, changing | node.defined), s) for s in node.stores)
        for inner in children(node):
            yield from _stores(inner, own, changing)


def _alone(store: Store, params: tuple[Param, ...]) -> set[str]:
    """Return the parameters that a subscript depends on alone: different values of these give different elements."""
    names = {p.name for p in params}
    found = set()
    for expr in store.index:
        mine = free_names(expr)
        if len(mine) == 1 and mine <= names:
            found |= mine
    return found
