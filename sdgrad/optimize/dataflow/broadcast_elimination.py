"""What is the same along a dimension is computed once, and read where it is not repeated.

The cotangent of a sum is one number for every element, and of a product of matrices with such a cotangent all rows are
equal. As arrays these go through matrix products; as what they are, through sums of rows and columns.
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
from sdgrad.optimize.dataflow.prefix_sums import Running, running
from sdgrad.optimize.dataflow.sum_and_product_terms import addends, each_sum, factors, range_without, upright
from sdgrad.program.leaves import live, mentioned, slice_for
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
    Param,
    Program,
    Store,
    SymbolAssign,
    children,
    reads,
    rewritten,
    walk,
    with_children,
    writes,
)
from sdgrad.rewrite.fusion import drop_stores, fuse
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names

ONE = sympy.Integer(1)


MOST_ROUNDS = 4


def compute_once(program: Program) -> Program:
    """The program with arrays of equal rows, columns or elements read as what they repeat.

    Where some elements are changed in between, nests are cut to read the others, if that leaves less to do.
    """
    once, more = _round(program, parts=False)
    if not more:
        return once
    cut = program
    for _ in range(MOST_ROUNDS):
        before, (cut, _) = cut, _round(cut, parts=True)
        if cut.body == before.body:
            break
        cut = fuse(cut)
    return cut if instances(cut.body) < instances(fuse(once).body) else once


def _round(program: Program, parts: bool) -> tuple[Program, bool]:
    """The program, and whether there were arrays that are uniform in part."""
    viewed = {c.view_of for c in program.containers.values()}
    whole = {n for n, c in program.containers.items() if c.view_of is None and n not in viewed}
    summed = {
        x.container
        for n in walk(program.body)
        if isinstance(n, Leaf) and any(s.mode == "sum" for s in n.stores)
        for x in n.loads
    }
    assigned = {n.symbol for n in walk(program.body) if isinstance(n, (SymbolAssign, Loop))}
    worker = Worker(program, all_names(program), whole, summed, assigned, parts)
    body = worker.block(program.body)
    containers, symbols = {**program.containers, **worker.made}, {**program.symbols, **worker.symbols}
    return replace(program, body=body, containers=containers, symbols=symbols), worker.more


@dataclass
class Worker:
    """Goes through a program in order.

    :param whole: containers with memory of their own, of which there are no views.
    :param summed: what nests with sums read.
    :param assigned: symbols that change.
    :param parts: look at arrays that are uniform in part as well.
    """

    program: Program
    names: Names
    whole: set[str]
    summed: set[str]
    assigned: set[str]
    parts: bool
    more: bool = False  # where there are such arrays
    made: dict[str, Container] = field(default_factory=dict)
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        out: list[Node] = []
        todo = [x for node in block for x in self.alone(node)]
        while todo:
            node = todo.pop(0)
            parts = self.narrowed(node) if isinstance(node, Leaf) else [self.inside(node)]
            out += parts
            for leaf in parts:
                for copy in self.repeated(leaf) if isinstance(leaf, Leaf) else ():
                    self.forward(copy, todo)
        return tuple(out)

    def alone(self, node: Node) -> Block:
        """Sums in one array each by itself, since it takes that to tell what repeats."""
        return each_sum(node) if self.parts and isinstance(node, Leaf) else (node,)

    def inside(self, node: Node) -> Node:
        return with_children(node, tuple(self.block(b) for b in children(node)))

    def container(self, name: str) -> Container:
        return self.made[name] if name in self.made else self.program.containers[name]

    # -- what is computed once
    def narrowed(self, leaf: Leaf) -> list[Node]:
        """A leaf, with what it computes again and again for the elements of a row in leaves of their own."""
        before: list[Node] = []
        behind: list[Node] = []
        original, leaf = leaf, upright(leaf)
        for store in leaf.stores if not leaf.sequential else ():
            terms = addends(leaf, store.value) if store.mode == "sum" else [code.name(store.value)]
            found = [(t, self.repetition(store, leaf, t)) for t in terms]
            left = [t for t, how in found if how is None]
            if len(left) == len(found):
                continue
            mode = "set" if store.mode == "set" or store.fresh and not left else "sum"
            for how in (how for _, how in found if how is not None):
                one, many = self.split(store, leaf, how, mode)
                if how.running is None:
                    before.append(one)
                    behind.append(many)
                else:
                    behind += self.in_order(how.running, one, many)
                mode = store.mode
            leaf = with_value(leaf, store, left, self.names)
        return [*before, *([leaf] if leaf.stores else []), *behind] if behind else [original]

    def repetition(self, store: Store, leaf: Leaf, value: ast.expr) -> Repetition | None:
        """What of a term does not depend on parameters of its element, where it pays to know."""
        names = {p.name for p in leaf.params}
        index = set(shifted(store.index))
        if store.container not in self.whole or store.guard is not None or not index or not index <= names:
            return None
        inner = names - index
        own = {s.container for s in leaf.stores}
        if sum(s.container == store.container for s in leaf.stores) > 1 or own & {x.container for x in leaf.loads}:
            return None
        depends = Dependence(leaf, names)
        if store.mode == "set":
            direct = any(isinstance(i, Load) and i.name == store.value for i in leaf.body)
            if inner or direct or store.container not in self.summed or not depends.loads(store.value):
                return None
            once, others = [value], []
        elif store.mode == "sum" and inner:
            found = factors(leaf, value)
            once = [f for f in found if depends.of(f) & inner]
        else:
            return None
        used = {n for f in once for n in depends.of(f)}
        repeated = {p.name for p in leaf.params if p.name in index - used and p.count != 1}
        if not once or not repeated:
            return None
        if store.mode == "sum":
            others = [f for f in found if depends.of(f) & repeated]
            once = [f for f in found if not depends.of(f) & repeated]
        sums = None
        for p in leaf.params:
            apart = repeated if p.name in inner else inner if p.name in repeated else set()
            if free_names(p.start, p.stop, p.step) & apart:  # what is summed over differs among what is repeated
                sums = running(leaf.params, repeated)
                if sums is None:
                    return None
        params = sums.params if sums is not None else leaf.params
        kept = [p if p.name in inner else range_without(p, repeated, params) for p in params if p.name not in repeated]
        element = [range_without(p, inner, params) for p in params if p.name in index]
        if None in kept or None in element:
            return None
        return Repetition(repeated, once, others, tuple(filter(None, kept)), tuple(filter(None, element)), sums)

    def split(self, store: Store, leaf: Leaf, how: Repetition, mode: str) -> tuple[Leaf, Leaf]:
        """What a store writes, without parameters that it does not depend on; and the elements that are the same."""
        whole = self.container(store.container)
        kept = [(d, e) for d, e in enumerate(store.index) if not free_names(e) & how.repeated]
        name = self.names.fresh(f"{store.container}_once")
        desc = dt.Array(whole.dtype, [whole.shape[d] for d, _ in kept] or [ONE], transient=True)
        self.made[name] = Container(name, desc)
        self.whole.add(name)
        index = tuple(e for _, e in kept) or SCALAR
        v, u = self.names.fresh("v"), self.names.fresh("v")
        let = Let(v, reduce(lambda a, b: code.binary(ast.Mult, a, b), how.once))
        fresh = store.mode == "sum" and how.running is None
        one = (*needed(leaf, how.once), let, Store(name, index, v, store.mode, None, fresh))
        many: tuple[Instr, ...] = (Load(u, name, index), Store(store.container, store.index, u, mode))
        if how.others:
            w = self.names.fresh("v")
            let = Let(w, reduce(lambda a, b: code.binary(ast.Mult, a, b), [code.name(u), *how.others]))
            many = (many[0], *needed(leaf, how.others), let, Store(store.container, store.index, w, mode))
        return Leaf(how.kept, one, leaf.source), Leaf(how.element, many, leaf.source)

    def in_order(self, sums: Running, one: Leaf, many: Leaf) -> list[Node]:
        """Elements whose sums have one term more each."""
        nodes = list(sums.nodes(one, many, self.names))
        self.symbols |= {n.symbol: dace.int64 for n in nodes if isinstance(n, Loop)}
        return nodes

    # -- what is read instead
    def repeated(self, leaf: Leaf) -> list[Copy]:
        """Containers that a leaf fills with copies of the elements of smaller ones."""
        loads = {i.name: i for i in leaf.body if isinstance(i, Load) and i.guard is None}
        found = []
        for store in leaf.stores:
            index, load = shifted(store.index), loads.get(store.value)
            if store.mode != "set" or store.guard is not None or load is None or not index:
                continue
            written = [s.container for s in leaf.stores]
            if not {store.container, load.container} <= self.whole or load.container in written:
                continue
            if written.count(store.container) > 1:
                continue
            window = window_of(load, store.index, {p.name for p in leaf.params})
            whole = self.container(store.container)
            if window is None or whole.dtype != self.container(load.container).dtype:
                continue
            if covers(store, leaf, whole.shape):
                found.append(Copy(store.container, window))
            elif self.parts and (part := copied_elements(store, leaf, len(whole.shape), self.assigned)) is not None:
                found.append(Copy(store.container, window, part))
            self.more = True
        return found

    def forward(self, copy: Copy, todo: list[Node]) -> None:
        """Let nodes that follow read what is repeated, until that is overwritten."""

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
        """A node that reads what is repeated where that is copied from; a leaf in two, if only one of them can."""

        def moved(node: Node) -> Block:
            if not isinstance(node, Leaf) or copy.target not in reads(node) or not holds_for(copy, node, self.assigned):
                return (node,)
            leaf = from_original(copy, node)
            return (leaf if self.pays(leaf, copy.window.container) else node,)

        if copy.part is not None and isinstance(node, Leaf) and not holds_for(copy, node, self.assigned):
            two = peeled(copy, node, self.assigned)
            return (two[0], *rest) if two is not None and (rest := moved(two[1])) != two[1:] else (node,)
        return rewritten((node,), moved)

    def written(self, copy: Copy, node: Node, todo: list[Node], j: int) -> Copy | None:
        """What is still a copy behind a node that writes to some elements; what it reads of them is a copy, too."""
        self.more = self.more or isinstance(node, Leaf)
        if not self.parts or not isinstance(node, Leaf):
            return None
        leaf = spelled_out(copy, node, self.names)
        if sees_copies(copy, leaf, self.assigned):
            todo[j] = from_original(copy, leaf)
        return left_of(copy, node, self.container(copy.target).shape, self.assigned)

    def pays(self, leaf: Leaf, container: str) -> bool:
        """Whether sums over what is read from a container will be taken apart: else they are better as products."""
        leaf = upright(leaf)
        names = {i.name for i in leaf.loads if i.container == container}
        for store in leaf.stores:
            if store.mode == "sum" and len(store.index) < len(leaf.params):
                for term in addends(leaf, store.value):
                    uses = {i.name for i in slice_for(leaf.body, code.names_in(term)) if isinstance(i, Load)}
                    if uses & names and self.repetition(store, leaf, term) is None:
                        return False
        return True


@dataclass(frozen=True)
class Repetition:
    """A value as a product: ``once`` does not depend on ``repeated``, and ``others`` on nothing that is summed over.

    :param kept: the parameters by which ``once`` is computed, those that are summed over included.
    :param element: the parameters of an element.
    :param running: where there is one term more from element to element.
    """

    repeated: set[str]
    once: Sequence[ast.expr]
    others: Sequence[ast.expr]
    kept: tuple[Param, ...]
    element: tuple[Param, ...]
    running: Running | None = None


@dataclass
class Dependence:
    """Which parameters the values of a leaf depend on."""

    leaf: Leaf
    params: set[str]

    def of(self, expr: ast.expr) -> set[str]:
        found = code.names_in(expr)
        return {n for i in slice_for(self.leaf.body, found) for n in mentioned(i)} & self.params | found & self.params

    def loads(self, name: str) -> bool:
        return any(isinstance(i, Load) for i in slice_for(self.leaf.body, {name}))


def with_value(leaf: Leaf, store: Store, terms: Sequence[ast.expr], names: Names) -> Leaf:
    """The leaf with a sum of terms in a store, or without the store where there are none."""
    if not terms:
        return drop_stores(leaf, lambda s: s is store)
    v = names.fresh("v")
    let = Let(v, reduce(lambda a, b: code.binary(ast.Add, a, b), terms))
    body: list[Instr] = []
    for instr in leaf.body:
        body += [let, replace(store, value=v)] if instr is store else [instr]
    return replace(leaf, body=live(body, set()))


def needed(leaf: Leaf, exprs: Sequence[ast.expr]) -> tuple[Instr, ...]:
    """The loads and lets that expressions need."""
    return slice_for(leaf.body, {n for e in exprs for n in code.names_in(e)})
