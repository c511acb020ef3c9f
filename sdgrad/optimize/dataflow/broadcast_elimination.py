"""Compute what is invariant along a dimension once, and read the smaller array where its broadcast was read.

The cotangent of a sum is one number for every element. A product of a matrix with such a cotangent has equal rows.
Written as arrays they go through matrix products, and written as what they are through sums of rows and columns::

    map i, j:                             map i, k:
      G[i, j] = g[0]                        once[i] += A[i, k] * g[0]
    map i, j, k:                          map i, j:
      B[i, j] += A[i, k] * G[k, j]          B[i, j] += once[i]

The pass declines a store with a guard, a store through a view, and subscripts that are not parameters of the nest. An
array that is uniform in part is split only if fewer instances are left to run.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import dace
import sympy
from dace import data as dt

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.cost_model import instances
from sdgrad.config import config
from sdgrad.optimize.dataflow.broadcast_copies import (
    Copy,
    copied_elements,
    from_original,
    holds_for,
    left_of,
    peeled,
    sees_copies,
    shifted,
    spelled_out,
    window_of,
)
from sdgrad.optimize.dataflow.broadcast_factors import Broadcast, broadcast_factors
from sdgrad.optimize.dataflow.prefix_sums import Running
from sdgrad.optimize.dataflow.sum_and_product_terms import addends, each_sum, upright
from sdgrad.program.leaves import live, slice_for
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Instr,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    Program,
    Store,
    SymbolAssign,
    map_blocks,
    reads,
    rewritten,
    walk,
    writes,
)
from sdgrad.program.window import Window
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.rewrite.fusion import fuse
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names

ONE = sympy.Integer(1)


def compute_once(program: Program) -> Program:
    """Compute invariant factors once, and forward broadcast copies to their readers.

    If arrays are uniform in part only, cut nests to read the uniform part from its original, provided that fewer
    instances are left.
    """
    once, more = _round(program, parts=False)
    if not more:
        return once
    cut = program
    for _ in range(config.machine.broadcast_rounds):
        before, (cut, _) = cut, _round(cut, parts=True)
        if cut.body == before.body:
            break
        cut = fuse(cut)
    return cut if instances(cut.body) < instances(fuse(once).body) else once


def _round(program: Program, parts: bool) -> tuple[Program, bool]:
    """Go through the program once; also return True if it has arrays that are uniform in part."""
    viewed = {c.view_of for c in program.containers.values()}
    whole = {n for n, c in program.containers.items() if c.view_of is None and n not in viewed}
    summed = {
        x.container
        for n in walk(program.body)
        if isinstance(n, Leaf) and any(s.mode == "sum" for s in n.stores)
        for x in n.loads
    }
    assigned = {n.symbol for n in walk(program.body) if isinstance(n, (SymbolAssign, Loop))}
    worker = BroadcastElimination(program, all_names(program), whole, summed, assigned, parts)
    body = worker.block(program.body)
    containers, symbols = {**program.containers, **worker.made}, {**program.symbols, **worker.symbols}
    return replace(program, body=body, containers=containers, symbols=symbols), worker.more


@dataclass
class BroadcastElimination:
    """One pass over a program in its order.

    :param whole: containers with memory of their own and without views.
    :param summed: containers that leaves with sums read.
    :param assigned: symbols that are assigned somewhere.
    :param parts: True to split arrays that are uniform in part.
    :param more: True if an array is, or may be, uniform in part.
    """

    program: Program
    names: Names
    whole: set[str]
    summed: set[str]
    assigned: set[str]
    parts: bool
    more: bool = False
    made: dict[str, Container] = field(default_factory=dict)
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        """Split the leaves of a block, and forward each broadcast copy to the nodes that follow it."""
        out: list[Node] = []
        todo = [x for node in block for x in self.alone(node)]
        while todo:
            node = todo.pop(0)
            parts = self.narrowed(node) if isinstance(node, Leaf) else [self.inside(node)]
            out += parts
            for leaf in parts:
                for copy in self.copies(leaf) if isinstance(leaf, Leaf) else ():
                    self.forward(copy, todo)
        return tuple(out)

    def alone(self, node: Node) -> Block:
        """Give each sum into one array a leaf of its own if arrays may be split: each may be uniform elsewhere."""
        return each_sum(node) if self.parts and isinstance(node, Leaf) else (node,)

    def inside(self, node: Node) -> Node:
        """Do the same in the blocks of a node."""
        return map_blocks(node, self.block)

    def container(self, name: str) -> Container:
        return self.made[name] if name in self.made else self.program.containers[name]

    # -- what is computed once
    def narrowed(self, leaf: Leaf) -> list[Node]:
        """Move the invariant factors of a leaf's stores to leaves of their own; the leaf alone if it has none."""
        if leaf.sequential:
            return [leaf]
        pieces = Pieces(upright(leaf))
        for store in pieces.leaf.stores:
            self.split_terms(store, pieces)
        return pieces.nodes if pieces.behind else [leaf]

    def split_terms(self, store: Store, pieces: Pieces) -> None:
        """Split off the terms of a store that have invariant factors, and leave the others in the leaf."""
        leaf = pieces.leaf
        terms = addends(leaf, store.value) if store.mode == "sum" else [code.name(store.value)]
        found = [(t, self.factors(store, leaf, t)) for t in terms]
        left = [t for t, how in found if how is None]
        mode = "set" if store.fresh and not left else store.mode
        for how in (how for _, how in found if how is not None):
            one, many = self.split(store, leaf, how, mode)
            if how.nests.running is None:
                pieces.before.append(one)
                pieces.behind.append(many)
            else:
                pieces.behind += self.in_order(how.nests.running, one, many)
            mode = store.mode
        if len(left) < len(found):
            pieces.leaf = with_value(leaf, store, left, self.names)

    def factors(self, store: Store, leaf: Leaf, value: ast.expr) -> Broadcast | None:
        """Split a term into invariant and other factors; None if it does not pay."""
        return broadcast_factors(store, leaf, value, self.whole, self.summed)

    def split(self, store: Store, leaf: Leaf, how: Broadcast, mode: str) -> tuple[Leaf, Leaf]:
        """Write a term as two leaves: one computes the invariant factors, the other broadcasts them to the elements."""
        whole = self.container(store.container)
        kept = [(d, e) for d, e in enumerate(store.index) if not free_names(e) & how.repeated]
        name = self.names.fresh(f"{store.container}_once")
        desc = dt.Array(whole.dtype, [whole.shape[d] for d, _ in kept] or [ONE], transient=True)
        self.made[name] = Container(name, desc)
        self.whole.add(name)
        index = tuple(e for _, e in kept) or SCALAR
        v, u = self.names.fresh("v"), self.names.fresh("v")
        let = Let(v, reduce(lambda a, b: code.binary(ast.Mult, a, b), how.once))
        fresh = store.mode == "sum" and how.nests.running is None
        one = (*needed(leaf, how.once), let, Store(name, index, v, store.mode, None, fresh))
        many: tuple[Instr, ...] = (Load(u, name, index), Store(store.container, store.index, u, mode))
        if how.others:
            w = self.names.fresh("v")
            let = Let(w, reduce(lambda a, b: code.binary(ast.Mult, a, b), [code.name(u), *how.others]))
            many = (many[0], *needed(leaf, how.others), let, Store(store.container, store.index, w, mode))
        return Leaf(how.nests.kept, one, leaf.source), Leaf(how.nests.element, many, leaf.source)

    def in_order(self, sums: Running, one: Leaf, many: Leaf) -> list[Node]:
        """Compute the elements as prefix sums, in a loop over the rows."""
        nodes = list(sums.nodes(one, many, self.names))
        self.symbols |= {n.symbol: dace.int64 for n in nodes if isinstance(n, Loop)}
        return nodes

    # -- what is read instead
    def copies(self, leaf: Leaf) -> list[Copy]:
        """Return the containers, or parts of them, that a leaf fills with broadcast copies of smaller ones."""
        found = (self.copy(store, leaf) for store in leaf.stores)
        return [c for c in found if c is not None]

    def copy(self, store: Store, leaf: Leaf) -> Copy | None:
        """Return what a store copies; None if it is no broadcast copy, or if its elements are unknown."""
        window = self.copied_window(store, leaf)
        if window is None:
            return None
        self.more = True
        shape = self.container(store.container).shape
        if covers(store, leaf, shape):
            return Copy(store.container, window)
        part = copied_elements(store, leaf, len(shape), self.assigned) if self.parts else None
        return Copy(store.container, window, part) if part is not None else None

    def copied_window(self, store: Store, leaf: Leaf) -> Window | None:
        """Return the smaller container that a store copies from, by subscripts of the larger; None if it is no copy."""
        loads = {i.name: i for i in leaf.body if isinstance(i, Load) and i.guard is None}
        load = loads.get(store.value)
        if store.mode != "set" or store.guard is not None or load is None or not shifted(store.index):
            return None
        if not self.is_free_of_aliases(store, load, leaf):
            return None
        return window_of(load, store.index, {p.name for p in leaf.params})

    def is_free_of_aliases(self, store: Store, load: Load, leaf: Leaf) -> bool:
        """True if both containers are whole and of one dtype, and the leaf writes to them by one store only."""
        names = {store.container, load.container}
        written = [s.container for s in leaf.stores]
        if not names <= self.whole or load.container in written or written.count(store.container) > 1:
            return False
        return len({self.container(n).dtype for n in names}) == 1

    def forward(self, copy: Copy, todo: list[Node]) -> None:
        """Let the nodes that follow read the original of a copy, until one of the two is overwritten."""
        j = 0
        while j < len(todo):
            node = todo[j]
            if copy.window.container in writes(node):
                return
            if copy.target in writes(node):
                left = self.written(copy, node, todo, j)
                if left is None:
                    return
                copy = left
            elif copy.target in reads(node):
                todo[j : j + 1] = new = self.reading(copy, node)
                j += len(new) - 1
            j += 1

    def reading(self, copy: Copy, node: Node) -> Block:
        """Let a node read the original of a copy, where that pays; peel one iteration off a leaf if the others can."""
        if copy.part is None or not isinstance(node, Leaf) or holds_for(copy, node, self.assigned):
            return rewritten((node,), lambda n: (self.from_original(copy, n),))
        two = peeled(copy, node, self.assigned)
        if two is None:
            return (node,)
        first, second = two
        moved = self.from_original(copy, second)
        return (first, moved) if moved != second else (node,)

    def from_original(self, copy: Copy, node: Node) -> Node:
        """Return a leaf that reads the original of a copy; the same node if it cannot, or if that does not pay."""
        if not isinstance(node, Leaf) or copy.target not in reads(node) or not holds_for(copy, node, self.assigned):
            return node
        leaf = from_original(copy, node)
        return leaf if self.pays(leaf, copy.window.container) else node

    def written(self, copy: Copy, node: Node, todo: list[Node], j: int) -> Copy | None:
        """Return what is left of a copy behind a node that writes to it, and let the node read the original.

        None if nothing is left, or if arrays are not split.
        """
        self.more = self.more or isinstance(node, Leaf)
        if not self.parts or not isinstance(node, Leaf):
            return None
        leaf = spelled_out(copy, node, self.names)
        if sees_copies(copy, leaf, self.assigned):
            todo[j] = from_original(copy, leaf)
        return left_of(copy, node, self.container(copy.target).shape, self.assigned)

    def pays(self, leaf: Leaf, container: str) -> bool:
        """True if every sum over elements of a container can be split: a sum that cannot is better as a product."""
        leaf = upright(leaf)
        names = {i.name for i in leaf.loads if i.container == container}
        sums = [s for s in leaf.stores if s.mode == "sum" and len(s.index) < len(leaf.params)]
        for store in sums:
            terms = [t for t in addends(leaf, store.value) if self.loaded(leaf, t) & names]
            if any(self.factors(store, leaf, t) is None for t in terms):
                return False
        return True

    def loaded(self, leaf: Leaf, term: ast.expr) -> set[str]:
        """Return the loaded values that a term depends on."""
        return {i.name for i in slice_for(leaf.body, code.names_in(term)) if isinstance(i, Load)}


@dataclass
class Pieces:
    """A leaf, with what was split off it to run before and behind it."""

    leaf: Leaf
    before: list[Node] = field(default_factory=list)
    behind: list[Node] = field(default_factory=list)

    @property
    def nodes(self) -> list[Node]:
        return [*self.before, *([self.leaf] if self.leaf.stores else []), *self.behind]


def with_value(leaf: Leaf, store: Store, terms: Sequence[ast.expr], names: Names) -> Leaf:
    """Let a store write the sum of some terms; drop the store if there are none."""
    if not terms:
        return drop_stores(leaf, lambda s: s is store)
    v = names.fresh("v")
    let = Let(v, reduce(lambda a, b: code.binary(ast.Add, a, b), terms))
    body: list[Instr] = []
    for instr in leaf.body:
        body += [let, replace(store, value=v)] if instr is store else [instr]
    return replace(leaf, body=live(body, set()))


def needed(leaf: Leaf, exprs: Sequence[ast.expr]) -> tuple[Instr, ...]:
    """Return the loads and lets that some expressions depend on."""
    return slice_for(leaf.body, {n for e in exprs for n in code.names_in(e)})
