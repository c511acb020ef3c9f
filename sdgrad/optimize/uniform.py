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

from sdgrad.analysis.relations import covers
from sdgrad.names import Names
from sdgrad.normalize.fuse import drop_stores
from sdgrad.optimize.running import Running, running
from sdgrad.program.leaves import live, mentioned, rename_instr, slice_for
from sdgrad.program.naming import all_names
from sdgrad.program.rename import renamed
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
    children,
    reads,
    rewritten,
    walk,
    with_children,
    writes,
)
from sdgrad.program.window import Axis, Window
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, sym

ONE = sympy.Integer(1)


def compute_once(program: Program) -> Program:
    """The program with arrays of equal rows, columns or elements read as what they repeat."""
    viewed = {c.view_of for c in program.containers.values()}
    whole = {n for n, c in program.containers.items() if c.view_of is None and n not in viewed}
    summed = {
        x.container
        for n in walk(program.body)
        if isinstance(n, Leaf) and any(s.mode == "sum" for s in n.stores)
        for x in n.loads
    }
    worker = Worker(program, all_names(program), whole, summed)
    body = worker.block(program.body)
    containers, symbols = {**program.containers, **worker.made}, {**program.symbols, **worker.symbols}
    return replace(program, body=body, containers=containers, symbols=symbols)


@dataclass
class Worker:
    """Goes through a program in order.

    :param whole: containers with memory of their own, of which there are no views.
    :param summed: what nests with sums read.
    """

    program: Program
    names: Names
    whole: set[str]
    summed: set[str]
    made: dict[str, Container] = field(default_factory=dict)
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        out: list[Node] = []
        todo = list(block)
        while todo:
            node = todo.pop(0)
            parts = self.narrowed(node) if isinstance(node, Leaf) else [self.inside(node)]
            out += parts
            for leaf in parts:
                for copy in self.repeated(leaf) if isinstance(leaf, Leaf) else ():
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
        index = set(_shifted(store.index))
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
            index, load = _plain(store.index), loads.get(store.value)
            if store.mode != "set" or store.guard is not None or load is None or not index:
                continue
            written = [s.container for s in leaf.stores]
            if not {store.container, load.container} <= self.whole or load.container in written:
                continue
            if written.count(store.container) > 1:
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

        def moved(node: Node) -> Block:
            if not isinstance(node, Leaf) or copy.target not in reads(node):
                return (node,)
            (leaf,) = renamed((node,), {copy.target: copy.window}, {})
            assert isinstance(leaf, Leaf)
            return (leaf if self.pays(leaf, copy.window.container) else node,)

        for j, node in enumerate(todo):
            if {copy.window.container, copy.target} & writes(node):
                return
            if copy.target in reads(node):
                (todo[j],) = rewritten((node,), moved)

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
class Copy:
    """A container, and where its elements are copied from."""

    target: str
    window: Window


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


def upright(leaf: Leaf) -> Leaf:
    """The leaf with parameters that are only used as distances from others as places: ``p + q`` becomes ``p``."""
    pairs = ((p, q) for p in leaf.params for q in leaf.params if p is not q)
    return next((moved for p, q in pairs if (moved := _from(p, q, leaf)) is not None), leaf)


def _from(p: Param, q: Param, leaf: Leaf) -> Leaf | None:
    by, origin = sym(p.name), sym(q.name)
    if any(p.name in mentioned(i) for i in leaf.lets) or free_names(q.start, q.stop) & {p.name}:
        return None
    seen = [sympy.expand(e) for i in leaf.body if not isinstance(i, Let) for e in i.index if p.name in free_names(e)]
    if not seen or any(e.coeff(by) != 1 or e.coeff(origin) != 1 or (e - by - origin).has(by, origin) for e in seen):
        return None
    if any(p.name in free_names(o.start, o.stop) for o in leaf.params):
        return None
    moved = (rename_instr(i, {}, {p.name: by - origin}) for i in leaf.body)
    body = tuple(i if isinstance(i, Let) else replace(i, index=tuple(map(sympy.expand, i.index))) for i in moved)
    params = (*(o for o in leaf.params if o is not p), replace(p, start=p.start + origin, stop=p.stop + origin))
    return replace(leaf, params=params, body=body)


def range_without(param: Param, gone: set[str], params: Sequence[Param]) -> Param | None:
    """A parameter with all the values that it takes for any of other parameters; None where that is no plain range."""
    starts, stops = (free_names(e) & gone for e in (param.start, param.stop))
    if not starts and not stops:
        return param
    if (starts and stops) or len(starts | stops) > 1 or param.step != 1:
        return None
    other = next(p for p in params if p.name in starts | stops)
    if free_names(other.start, other.stop) & {p.name for p in params} or other.step != 1:
        return None
    bound = sympy.expand(param.start if starts else param.stop)
    by = sym(other.name)
    slope = bound.coeff(by)
    if slope not in (1, -1) or (bound - slope * by).has(by):
        return None
    end = other.start if (slope == 1) == bool(starts) else other.stop
    return replace(param, **{"start" if starts else "stop": bound.subs(by, end)})


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


def factors(leaf: Leaf, value: ast.expr) -> list[ast.expr]:
    """A value as a product, as far as it is written as one."""
    return _operands(leaf, value, ast.Mult)


def addends(leaf: Leaf, name: str) -> list[ast.expr]:
    """A value as a sum, as far as it is written as one."""
    return _operands(leaf, code.name(name), ast.Add)


def _operands(leaf: Leaf, value: ast.expr, op: type[ast.operator]) -> list[ast.expr]:
    lets = {i.name: i.expr for i in leaf.lets}

    def taken_apart(expr: ast.expr) -> list[ast.expr]:
        if isinstance(expr, ast.Name) and isinstance(lets.get(expr.id), (ast.Name, ast.BinOp)):
            inner = taken_apart(lets[expr.id])
            return inner if len(inner) > 1 or isinstance(inner[0], ast.Name) else [expr]
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, op):
            return [*taken_apart(expr.left), *taken_apart(expr.right)]
        return [expr]

    return taken_apart(value)


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


def _plain(index: Sequence[sympy.Expr]) -> list[str]:
    """The names that an index consists of; empty where it is anything but names, each once."""
    names = [str(e) for e in index if isinstance(e, sympy.Symbol)]
    return names if len(set(names)) == len(index) else []


def _shifted(index: Sequence[sympy.Expr]) -> list[str]:
    """The same where numbers are added to the names."""
    return _plain([next(iter(e.free_symbols)) if len(e.free_symbols) == 1 and _is_shift(e) else e for e in index])


def _is_shift(e: sympy.Expr) -> bool:
    (symbol,) = e.free_symbols
    return bool((e - symbol).is_Integer)


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
