"""Products that the trips of a loop add up become one product behind the loop.

``for t: ..; dW += d[t].T @ h[t]`` passes over ``dW`` in every trip, and each of its products is small. Nobody reads
what is added up before the loop ends, so that the sum over ``t`` may be part of the product; what a trip hands to it,
and is overwritten in the next, gets an element for every trip. (Loop distribution: Allen and Kennedy, Optimizing
Compilers for Modern Architectures, ch. 5; statements that only accumulate need no more than this.)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import sympy

from sdgrad.analysis.access_relations import covers, loop_param
from sdgrad.analysis.loop_private import region_locals, used, users
from sdgrad.optimize.contractions.recognition import recognise, terms
from sdgrad.program.leaves import live
from sdgrad.program.names import Names
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import (
    Block,
    Container,
    Expr,
    Leaf,
    Load,
    Loop,
    Node,
    Param,
    Program,
    Scope,
    Store,
    SymbolAssign,
    children,
    rewritten,
    walk,
    with_children,
    writes,
)
from sdgrad.rewrite.scalar_expansion import indexed, over_trips, share_of, wider
from sdgrad.symbolic.expr import free_names, substitute


def sums_behind_loops(program: Program, names: Names) -> Program:
    """The program with products that loops add up behind these loops."""
    mover = Mover(program, names)
    body = mover.block(program.body)
    return replace(program, body=body, containers={**program.containers, **mover.made})


@dataclass
class Mover:
    """One program; ``made`` are containers with an element for every trip."""

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.users: Counter[str] = users(self.program.body, self.program)
        self.share = share_of(self.program)
        seen = [c for c in self.program.containers.values() if c.view_of is not None]
        self.viewed = {self.program.root(c.name) for c in seen}

    def block(self, block: Block) -> Block:
        return tuple(x for node in block for x in self.node(node))

    def node(self, node: Node) -> Block:
        if isinstance(node, (Leaf, Scope)):
            return (node,)
        changed = with_children(node, tuple(self.block(b) for b in children(node)))
        if not isinstance(node, Loop) or not isinstance(changed, Loop):
            return (changed,)
        private = region_locals(node, self.users, self.program) - self.viewed
        return self.loop(changed, private)

    def loop(self, loop: Loop, private: frozenset[str]) -> Block:
        trips = loop_param(loop)
        if trips is None or abs(trips.step) != 1 or loop.also is not None or loop.last is not None:
            return (loop,)
        known = {**self.program.containers, **self.made}
        body = Body(loop, trips, replace(self.program, containers=known), private, self)
        if free_names(trips.start, trips.stop) & body.assigned:
            return (loop,)
        kept: list[Node] = []
        moved: list[Leaf] = []
        for k, node in enumerate(loop.body):
            if isinstance(node, Leaf) and not node.sequential:
                gone = {id(s): leaves for s in node.stores if (leaves := body.movable(k, node, s))}
                moved += [leaf for leaves in gone.values() for leaf in leaves]
                node = replace(node, body=live((i for i in node.body if id(i) not in gone), set())) if gone else node
            if not isinstance(node, Leaf) or node.stores:
                kept.append(node)
        if not moved or not kept:  # what follows may read where the loop ended
            return (loop,)
        self.made |= {c.name: c for c in body.wide.values()}
        name = self.names.fresh(trips.name)
        behind = tuple(over_trips(body.expanded(leaf), trips, name) for leaf in moved)
        inside = rewritten(tuple(kept), lambda n: (body.expanded(n),) if isinstance(n, Leaf) else (n,))
        return replace(loop, body=inside), *behind


class Body:
    """What is known of a loop's trips. ``wide`` are containers that are to have an element for every trip."""

    def __init__(self, loop: Loop, trips: Param, program: Program, private: frozenset[str], mover: Mover) -> None:
        self.loop, self.trips, self.program, self.private, self.mover = loop, trips, program, private, mover
        self.written = [{program.root(w) for w in writes(n)} for n in loop.body]
        self.assigned = {n.symbol for n in walk(loop.body) if isinstance(n, (SymbolAssign, Loop))}
        self.wide: dict[str, Container] = {}

    def expanded(self, leaf: Leaf) -> Leaf:
        for name, wide in self.wide.items():
            leaf = indexed(leaf, self.program.containers[name], wide.name, self.trips)
        return leaf

    def movable(self, k: int, leaf: Leaf, store: Store) -> list[Leaf] | None:
        """The products that a store of the loop's k-th node adds up, as leaves of their own; None if it has to stay."""
        if store.mode != "sum" or store.fresh or store.guard is not None or not self.only_added_to(store):
            return None
        wanted: set[str] = set()
        moved = [self.product(k, alone, wanted) for alone in terms(leaf, store)]
        wide = {n: self.wider(n) for n in sorted(wanted - self.wide.keys())}
        if None in moved or None in wide.values():
            return None
        self.wide |= {n: c for n, c in wide.items() if c is not None}
        return [leaf for leaf in moved if leaf is not None]

    def only_added_to(self, store: Store) -> bool:
        """Whether all that the loop does with what a store adds to is adding."""
        root = self.program.root(store.container)
        for node in walk(self.loop.body):
            if isinstance(node, Leaf):
                if any(self.program.root(x.container) == root for x in node.loads):
                    return False
                mine = [s for s in node.stores if self.program.root(s.container) == root]
                if any(s.mode != "sum" or s.fresh for s in mine):
                    return False
            elif root in used(node, self.program):
                return False
        return True

    def product(self, k: int, alone: Leaf, wanted: set[str]) -> Leaf | None:
        """A leaf with one product, which reads what is there behind the loop.

        :param wanted: gets the containers that have to have an element for every trip.
        """
        found = recognise(alone)
        mine = used_symbols(alone, self.program)
        if found is None or mine & self.assigned or self.trips.name in free_names(*found.store.index):
            return None
        bounds = [free_names(p.start, p.stop) for p in alone.params]
        if any(self.trips.name in names for names in (*bounds, *(free_names(*x.index) for x in found.constants))):
            return None
        if any(self.changes(x) for x in found.constants):
            return None
        changed: dict[str, Load] = {}
        for load in (found.a, found.b):
            root = self.program.root(load.container)
            if not self.changes(load):
                continue
            if (original := self.original(k, load)) is not None:
                changed[load.name] = original
            elif root == load.container and root in self.private and not any(root in w for w in self.written[k:]):
                wanted.add(root)
            else:
                return None
        factors = [changed.get(x.name, x) for x in (found.a, found.b)]
        if not all(x.container in wanted or self.trips.name in free_names(*x.index) for x in factors):
            return None  # a sum of one factor, which BLAS has no call for
        body = (changed.get(i.name, i) if isinstance(i, Load) else i for i in alone.body)
        return replace(alone, body=tuple(body))

    def changes(self, load: Load) -> bool:
        """Whether the loop writes what is read."""
        return any(self.program.root(load.container) in w for w in self.written)

    def original(self, k: int, load: Load) -> Load | None:
        """What an element is a copy of, where the loop does not write that."""
        root = self.program.root(load.container)
        if root != load.container or root in self.written[k]:
            return None
        last = max((j for j in range(k) if root in self.written[j]), default=None)
        node = self.loop.body[last] if last is not None else None
        if not isinstance(node, Leaf):
            return None
        stores = [s for s in node.stores if self.program.root(s.container) == root]
        loads = {x.name: x for x in node.loads}
        if len(stores) != 1 or stores[0].mode != "set" or stores[0].value not in loads:
            return None
        (store,), source = stores, loads[stores[0].value]
        places = [getattr(e, "name", "") for e in store.index]
        plain = len(set(places)) == len(places) and {p.name for p in node.params} == set(places)
        if not plain or source.guard or store.container != root or free_names(*source.index) & node.defined:
            return None
        kept = not self.changes(source)
        kept = kept and self.program.containers[source.container].dtype == self.program.containers[root].dtype
        if not kept or free_names(*source.index) & self.assigned:
            return None
        if not covers(store, node, self.program.containers[root].shape):
            return None
        env = dict(zip(places, load.index, strict=True))
        return replace(load, container=source.container, index=tuple(substitute(e, env) for e in source.index))

    def wider(self, name: str) -> Container | None:
        """A container with an element for every trip; None where that is not to be."""
        if not all(isinstance(n, Leaf) for n in walk(self.loop.body) if name in used(n, self.program)):
            return None
        count: Expr = sympy.expand((self.trips.stop - self.trips.start) * self.trips.step) + 1
        return wider(self.program.containers[name], count, self.mover.share, self.mover.names)
