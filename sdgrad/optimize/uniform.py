"""What is the same along a dimension is computed once, and read where it is not repeated.

The cotangent of a sum is one number for every element, and of a product of matrices with such a cotangent all rows are
equal. As arrays these go through matrix products; as what they are, through sums of rows and columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import sympy
from dace import data as dt

from sdgrad.analysis.relations import covers
from sdgrad.names import Names
from sdgrad.normalize.fuse import drop_stores
from sdgrad.optimize.copies import elsewhere, stores_of
from sdgrad.program.leaves import mentioned, slice_for
from sdgrad.program.naming import all_names
from sdgrad.program.rename import renamed
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Leaf,
    Load,
    Node,
    NodeCall,
    Program,
    Store,
    children,
    reads,
    walk,
    with_children,
    writes,
)
from sdgrad.program.window import Axis, Window
from sdgrad.symbolic.expr import free_names

ONE = sympy.Integer(1)


def compute_once(program: Program) -> Program:
    """The program with arrays of equal rows, columns or elements read as what they repeat."""
    viewed = {c.view_of for c in program.containers.values()}
    whole = {n for n, c in program.containers.items() if c.view_of is None and n not in viewed}
    written = Counter(n for node in walk(program.body) for n in stores_of(node))
    summed = {
        x.container
        for n in walk(program.body)
        if isinstance(n, Leaf) and any(s.mode == "sum" for s in n.stores)
        for x in n.loads
    }
    worker = Worker(program, all_names(program), whole, {n for n in whole if written[n] == 1}, summed)
    body = worker.block(program.body)
    return replace(program, body=body, containers={**program.containers, **worker.made})


@dataclass
class Worker:
    """Goes through a program in order.

    :param whole: containers with memory of their own, of which there are no views.
    :param once: those that one store writes.
    :param summed: what nests with sums read.
    """

    program: Program
    names: Names
    whole: set[str]
    once: set[str]
    summed: set[str]
    made: dict[str, Container] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        out: list[Node] = []
        todo = list(block)
        while todo:
            node = todo.pop(0)
            parts = self.narrowed(node) if isinstance(node, Leaf) else [self.inside(node)]
            out += parts
            for leaf in parts:
                for copy in self.repeated(leaf) if isinstance(leaf, Leaf) else ():
                    if not any(copy.target in reads(n) for n in out) and not elsewhere(
                        copy.target, block, self.program
                    ):
                        self.forward(copy, todo)
        return tuple(out)

    def inside(self, node: Node) -> Node:
        return with_children(node, tuple(self.block(b) for b in children(node)))

    def container(self, name: str) -> Container:
        return self.made[name] if name in self.made else self.program.containers[name]

    # -- what is computed once
    def narrowed(self, leaf: Leaf) -> list[Node]:
        """A leaf, with what it computes again and again for the elements of a row in leaves of their own."""
        before: list[Node] = []
        behind: list[Node] = []
        for store in leaf.stores if not leaf.sequential else ():
            repeated = self.repeats(store, leaf)
            if repeated:
                one, many = self.split(store, leaf, repeated)
                before.append(one)
                behind.append(many)
                leaf = drop_stores(leaf, lambda s, done=store: s is done)
        return [*before, *([leaf] if leaf.stores else []), *behind]

    def repeats(self, store: Store, leaf: Leaf) -> set[str]:
        """The parameters of an element that its value does not depend on, where it pays to know; else none."""
        names = {p.name for p in leaf.params}
        index = _plain(store.index)
        if store.container not in self.whole or store.guard is not None or not index or not set(index) <= names:
            return set()
        inner = names - set(index)
        if store.mode == "set":
            direct = any(isinstance(i, Load) and i.name == store.value for i in leaf.body)
            if inner or direct or store.container not in self.summed:
                return set()
        elif store.mode != "sum" or not inner:
            return set()
        needed = slice_for(leaf.body, {store.value})
        if not any(isinstance(i, Load) for i in needed):  # zeros that something is added to, mostly
            return set()
        used = {n for i in needed for n in mentioned(i)} & names
        repeated = {p.name for p in leaf.params if p.name in index and p.name not in used and p.count != 1}
        own = {s.container for s in leaf.stores}
        if not repeated or sum(s.container == store.container for s in leaf.stores) > 1:
            return set()
        if any(x.container in own for x in needed if isinstance(x, Load)) or store.container in reads(leaf):
            return set()
        for p in leaf.params:
            if free_names(p.start, p.stop, p.step) & (names if p.name in index else repeated):
                return set()
        return repeated

    def split(self, store: Store, leaf: Leaf, repeated: set[str]) -> tuple[Leaf, Leaf]:
        """What a store writes, without parameters that it does not depend on; and the elements that are the same."""
        whole = self.container(store.container)
        kept = [(d, e) for d, e in enumerate(store.index) if str(e) not in repeated]
        name = self.names.fresh(f"{store.container}_once")
        desc = dt.Array(whole.dtype, [whole.shape[d] for d, _ in kept] or [ONE], transient=True)
        self.made[name] = Container(name, desc)
        self.whole.add(name)
        self.once.add(name)
        index = tuple(e for _, e in kept) or SCALAR
        needed = slice_for(leaf.body, {store.value})
        own = tuple(p for p in leaf.params if p.name not in repeated)
        fresh = store.mode == "sum"
        one = Leaf(own, (*needed, Store(name, index, store.value, store.mode, None, fresh)), leaf.source)
        v = self.names.fresh("v")
        mode = "set" if store.fresh else store.mode
        params = tuple(p for p in leaf.params if p.name in _plain(store.index))
        return one, Leaf(params, (Load(v, name, index), Store(store.container, store.index, v, mode)), leaf.source)

    # -- what is read instead
    def repeated(self, leaf: Leaf) -> list[Copy]:
        """Containers that a leaf fills with copies of the elements of smaller ones."""
        loads = {i.name: i for i in leaf.body if isinstance(i, Load) and i.guard is None}
        found = []
        for store in leaf.stores:
            index, load = _plain(store.index), loads.get(store.value)
            if store.mode != "set" or store.guard is not None or load is None or not index:
                continue
            if (
                store.container not in self.once
                or load.container not in self.whole
                or store.container == load.container
            ):
                continue
            window = _window(load, index, {p.name for p in leaf.params})
            whole = self.container(store.container)
            if window is None or whole.dtype != self.container(load.container).dtype:
                continue
            if covers(store, leaf, whole.shape):
                found.append(Copy(store.container, window))
        return found

    def forward(self, copy: Copy, todo: list[Node]) -> None:
        """Let nodes that follow read what is repeated, until that is overwritten."""
        for j, node in enumerate(todo):
            if copy.window.container in writes(node) or copy.target in writes(node):
                return
            calls = (n for n in walk((node,)) if isinstance(n, NodeCall))
            if copy.target in reads(node) and not any(copy.target in reads(n) for n in calls):
                (todo[j],) = renamed((node,), {copy.target: copy.window}, {})


@dataclass(frozen=True)
class Copy:
    """A container, and where its elements are copied from."""

    target: str
    window: Window


def _plain(index: Sequence[sympy.Expr]) -> list[str]:
    """The names that an index consists of; empty where it is anything but names, each once."""
    names = [str(e) for e in index if isinstance(e, sympy.Symbol)]
    return names if len(set(names)) == len(index) else []


def _window(load: Load, index: Sequence[str], params: set[str]) -> Window | None:
    """A container's elements by the parameters of a larger one; None where none of these is left out."""
    axes: list[Axis | None] = [None] * len(index)
    base = list(load.index)
    for d, e in enumerate(load.index):
        if isinstance(e, sympy.Symbol) and str(e) in index:
            j = index.index(str(e))
            if axes[j] is not None:
                return None
            axes[j], base[d] = Axis(d, ONE), sympy.Integer(0)
        elif not e.is_Integer:
            return None
    if all(a is not None for a in axes) or not set(index) <= params:
        return None
    return Window(load.container, tuple(base), tuple(axes))
