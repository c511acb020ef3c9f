"""Merge the matrix products that the iterations of a loop add up into one product behind the loop.

The adjoint of a recurrent network adds one small product in each iteration, and each passes over all of ``dW``. Nobody
reads ``dW`` before the loop ends, so the sum over the iterations may be part of the product::

    for t: d = ..; dW += d.T @ h[t]      ->      for t: all_d[t] = ..
                                                 for t (parallel): dW += all_d[t].T @ h[t]

This is loop distribution with scalar expansion (Allen & Kennedy 2001, ch. 5): an operand that the next iteration
overwrites gets one element for each iteration. Statements that only accumulate need no further dependence test. A
product stays in the loop if the loop reads its result, if its subscripts depend on symbols that the loop assigns, or
if an operand would need too much memory.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import sympy

from sdgrad.analysis.access_relations import covers, loop_param
from sdgrad.analysis.loop_private import region_locals
from sdgrad.analysis.uses import used, users
from sdgrad.optimize.contractions.recognition import Contraction, recognise, terms
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
    map_blocks,
    rewritten,
    walk,
    writes,
)
from sdgrad.rewrite.scalar_expansion import indexed, over_trips, share_of, wider
from sdgrad.symbolic.expr import free_names, substitute


def sums_behind_loops(program: Program, names: Names) -> Program:
    """Move the products that loops add up behind these loops."""
    mover = Mover(program, names)
    body = mover.block(program.body)
    return replace(program, body=body, containers={**program.containers, **mover.made})


@dataclass
class Mover:
    """Move products out of the loops of one program.

    :param made: operands that have one element for each iteration.
    """

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find what all loops need to know: users of each container, the memory limit, containers with views."""
        self.users: Counter[str] = users(self.program.body, self.program)
        self.share = share_of(self.program)
        seen = [c for c in self.program.containers.values() if c.view_of is not None]
        self.viewed = {self.program.root(c.name) for c in seen}

    def block(self, block: Block) -> Block:
        """Return the block with products behind its loops, innermost loops first."""
        return tuple(x for node in block for x in self.node(node))

    def node(self, node: Node) -> Block:
        """Return the nodes that replace one node; parallel maps stay as they are."""
        if isinstance(node, (Leaf, Scope)):
            return (node,)
        changed = map_blocks(node, self.block)
        if not isinstance(node, Loop) or not isinstance(changed, Loop):
            return (changed,)
        private = region_locals(node, self.users, self.program) - self.viewed
        return self.loop(changed, private)

    def loop(self, loop: Loop, private: frozenset[str]) -> Block:
        """Return a loop, and its products behind it; the loop alone if none can be moved."""
        body = self.counted(loop, private)
        if body is None:
            return (loop,)
        kept, moved = body.distributed()
        if not moved or not kept:  # nodes behind it may read where the loop ended, even an empty one
            return (loop,)
        self.made |= {c.name: c for c in body.wide.values()}
        name = self.names.fresh(body.trips.name)
        behind = tuple(over_trips(body.expanded(leaf), body.trips, name) for leaf in moved)
        inside = rewritten(tuple(kept), lambda n: (body.expanded(n),) if isinstance(n, Leaf) else (n,))
        return replace(loop, body=inside), *behind

    def counted(self, loop: Loop, private: frozenset[str]) -> Body | None:
        """Return the body of a loop; None unless it runs for each integer between bounds that it does not assign."""
        trips = loop_param(loop)
        if trips is None or abs(trips.step) != 1 or loop.also is not None or loop.last is not None:
            return None
        known = {**self.program.containers, **self.made}
        body = Body(loop, trips, replace(self.program, containers=known), private, self)
        return None if free_names(trips.start, trips.stop) & body.assigned else body


class Body:
    """Decide for the body of one loop which products can be moved behind it.

    ``wide`` are containers that need one element for each iteration.
    """

    def __init__(self, loop: Loop, trips: Param, program: Program, private: frozenset[str], mover: Mover) -> None:
        """Collect the arrays that each node writes, and the symbols that the loop assigns.

        :param trips: the iterations as a parameter.
        :param private: containers that live within one iteration.
        """
        self.loop, self.trips, self.program, self.private, self.mover = loop, trips, program, private, mover
        self.written = [{program.root(w) for w in writes(n)} for n in loop.body]
        self.assigned = {n.symbol for n in walk(loop.body) if isinstance(n, (SymbolAssign, Loop))}
        self.wide: dict[str, Container] = {}

    def expanded(self, leaf: Leaf) -> Leaf:
        """Return the leaf with accesses to the current iteration's element of expanded containers."""
        for name, wide in self.wide.items():
            leaf = indexed(leaf, self.program.containers[name], wide.name, self.trips)
        return leaf

    def distributed(self) -> tuple[list[Node], list[Leaf]]:
        """Return the nodes that stay in the loop, and the products that move behind it."""
        kept: list[Node] = []
        moved: list[Leaf] = []
        for k, node in enumerate(self.loop.body):
            if isinstance(node, Leaf) and not node.sequential:
                gone = {id(s): leaves for s in node.stores if (leaves := self.movable(k, node, s))}
                moved += [leaf for leaves in gone.values() for leaf in leaves]
                node = replace(node, body=live((i for i in node.body if id(i) not in gone), set())) if gone else node
            if not isinstance(node, Leaf) or node.stores:
                kept.append(node)
        return kept, moved

    def movable(self, k: int, leaf: Leaf, store: Store) -> list[Leaf] | None:
        """Return the products that a store of the loop's k-th node adds up, one leaf each; None if it has to stay."""
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
        """True if the loop accesses the store's target by accumulation only."""
        root = self.program.root(store.container)
        return all(self.only_adds(node, root) for node in walk(self.loop.body))

    def only_adds(self, node: Node, root: str) -> bool:
        """True if a node does not use an array, or only adds to it."""
        if not isinstance(node, Leaf):
            return root not in used(node, self.program)
        if any(self.program.root(x.container) == root for x in node.loads):
            return False
        return all(s.mode == "sum" and not s.fresh for s in node.stores if self.program.root(s.container) == root)

    def product(self, k: int, alone: Leaf, wanted: set[str]) -> Leaf | None:
        """Return a contraction that computes the same behind the loop; None if there is none.

        :param wanted: gets the operands that need one element for each iteration.
        """
        found = recognise(alone)
        if found is None or not self.same_terms(alone, found):
            return None
        changed: dict[str, Load] = {}
        for load in (found.a, found.b):
            if not self.changes(load):
                continue
            if (original := self.original(k, load)) is not None:
                changed[load.name] = original
            elif self.expandable(k, load):
                wanted.add(load.container)
            else:
                return None
        factors = [changed.get(x.name, x) for x in (found.a, found.b)]
        if not all(x.container in wanted or self.trips.name in x.index_names for x in factors):
            return None  # one operand is the same in all iterations: the sum of the other is no call of BLAS
        body = (changed.get(i.name, i) if isinstance(i, Load) else i for i in alone.body)
        return replace(alone, body=tuple(body))

    def same_terms(self, alone: Leaf, found: Contraction) -> bool:
        """True if iterations differ in the operands only: not in the result's elements, the ranges, or the scale."""
        if used_symbols(alone, self.program) & self.assigned or any(map(self.changes, found.constants)):
            return False
        bounds = [e for p in alone.params for e in (p.start, p.stop)]
        indices = [*found.store.index, *(e for x in found.constants for e in x.index)]
        return self.trips.name not in free_names(*bounds, *indices)

    def changes(self, load: Load) -> bool:
        """True if the loop writes the array of a load."""
        return any(self.program.root(load.container) in w for w in self.written)

    def expandable(self, k: int, load: Load) -> bool:
        """True if a load reads a private array, and no node from the k-th on writes that array."""
        root = self.program.root(load.container)
        return root == load.container and root in self.private and not any(root in w for w in self.written[k:])

    def original(self, k: int, load: Load) -> Load | None:
        """Return a load of the element that a copy was made from; None unless the loop leaves that element alone."""
        root = self.program.root(load.container)
        if root != load.container or root in self.written[k]:
            return None
        node = self.last_definition(k, root)
        copy = self.copied(node, root) if node is not None else None
        if node is None or copy is None:
            return None
        store, source = copy
        if self.changes(source) or source.index_names & (node.defined | self.assigned):
            return None
        if self.program.containers[source.container].dtype != self.program.containers[root].dtype:
            return None
        if not covers(store, node, self.program.containers[root].shape):
            return None
        env = dict(zip((str(e) for e in store.index), load.index, strict=True))
        return replace(load, container=source.container, index=tuple(substitute(e, env) for e in source.index))

    def last_definition(self, k: int, root: str) -> Leaf | None:
        """Return the last leaf before the k-th node that writes an array; None if there is none, or no leaf."""
        last = max((j for j in range(k) if root in self.written[j]), default=None)
        node = self.loop.body[last] if last is not None else None
        return node if isinstance(node, Leaf) else None

    def copied(self, node: Leaf, root: str) -> tuple[Store, Load] | None:
        """Return the store and the load of a leaf that copies into an array; None if it computes the values.

        The store's subscripts are the leaf's parameters, each once.
        """
        stores = [s for s in node.stores if self.program.root(s.container) == root]
        if len(stores) != 1 or stores[0].mode != "set" or stores[0].container != root:
            return None
        (store,) = stores
        source = {x.name: x for x in node.loads}.get(store.value)
        places = [getattr(e, "name", "") for e in store.index]
        plain = len(set(places)) == len(places) and {p.name for p in node.params} == set(places)
        return (store, source) if plain and source is not None and not source.guard else None

    def wider(self, name: str) -> Container | None:
        """Return a container with one element for each iteration; None if it is too large, or used outside leaves."""
        if not all(isinstance(n, Leaf) for n in walk(self.loop.body) if name in used(n, self.program)):
            return None
        count: Expr = sympy.expand((self.trips.stop - self.trips.start) * self.trips.step) + 1
        return wider(self.program.containers[name], count, self.mover.share, self.mover.names)
