"""Conflict-free accumulation: every sum gets a fixed order, and nothing needs an atomic.

A leaf may accumulate into one element from many instances. Here such leaves become: a parallel map with a sequential
reduction inside (where the reduced parameters are the innermost), or a sequential nest.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import combinations

import dace
import sympy
from dace import data as dt

from sdgrad.analysis.relations import apart, injective
from sdgrad.config import device
from sdgrad.names import Names
from sdgrad.optimize.layout import contiguous
from sdgrad.program.leaves import begin, live, overwrites_itself, scope_overwrites_itself, set_scalar
from sdgrad.program.naming import all_names
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Instr,
    Leaf,
    Load,
    Node,
    Param,
    Program,
    Scope,
    Store,
    Value,
    children,
    local_names,
    walk,
    with_children,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names
from sdgrad.symbolic.kinds import kind_of

ZERO = sympy.Integer(0)


def identity(mode: str, dtype: dace.typeclass) -> ast.expr:
    """Where a reduction starts."""
    if mode in ("max", "min") and kind_of(dtype) == "float":
        return code.parse("-1e309" if mode == "max" else "1e309")  # beyond the largest double: infinite
    if mode in ("max", "min"):
        extreme = dace.dtypes.min_value(dtype) if mode == "max" else dace.dtypes.max_value(dtype)
        return code.parse(repr(extreme.item() if hasattr(extreme, "item") else extreme))
    return code.constant({"prod": 1, "and": True, "bitand": -1}.get(mode, 0))


def schedule_accumulations(program: Program) -> Program:
    """The program with every conflicting accumulation in a fixed order."""
    scheduler = Scheduler(program, all_names(program), {})
    body = scheduler.block(program.body, ())
    return replace(program, body=body, containers={**program.containers, **scheduler.made})


class Scheduler:
    def __init__(self, program: Program, names: Names, made: dict[str, Container]) -> None:
        self.program, self.names, self.made = program, names, made

    def block(self, block: Block, outer: tuple[Param, ...]) -> Block:
        return tuple(n for node in block for n in self.node(node, outer))

    def node(self, node: Node, outer: tuple[Param, ...]) -> list[Node]:
        if isinstance(node, Leaf):
            return self.leaf(node)
        if isinstance(node, Scope):
            return [self.scope(node)]
        return [with_children(node, tuple(self.block(b, outer) for b in children(node)))]

    def scope(self, node: Scope) -> Node:
        """A structured map is sequential where its instances may accumulate into the same element."""
        inner = with_children(node, (self.block(node.body, node.params),))
        local = {c for n in walk((node,)) for c in local_names(n)}
        assert isinstance(inner, Scope)
        if scope_overwrites_itself(node):
            return replace(inner, sequential=True)
        for n in walk(node.body):
            if isinstance(n, Leaf):
                for s in n.stores:
                    if s.container not in local and s.mode != "set" and not self.safe(s, n, node.params):
                        return replace(inner, sequential=True)
        return inner

    def safe(self, store: Store, leaf: Leaf, outer: tuple[Param, ...]) -> bool:
        """Whether different instances of the enclosing map accumulate into different elements."""
        return {p.name for p in outer} <= _alone(store, outer)

    def leaf(self, leaf: Leaf) -> list[Node]:
        if overwrites_itself(leaf):
            return [*self.inits(leaf), replace(unfresh(leaf), sequential=True)]
        conflicts = [
            s for s in leaf.stores if s.mode != "set" and not (self.is_injective(s, leaf) and _starts(s, leaf))
        ]
        plain = [s for s in leaf.stores if s not in conflicts]
        if not leaf.params or not conflicts and not self.overlapping(plain, leaf):
            return [unfresh(leaf)]
        if leaf.sequential:
            return [*self.inits(leaf), unfresh(leaf)]
        stored = {self.program.root(s.container) for s in leaf.stores}
        loaded = {self.program.root(x.container) for x in leaf.loads}
        summed, assigned = (
            {self.program.root(s.container) for s in leaf.stores if (s.mode != "set") == sums} for sums in (True, False)
        )
        if summed & assigned:  # an element may be assigned, and then added to
            return [*self.inits(leaf), replace(unfresh(leaf), sequential=True)]
        parts = [[s] for s in leaf.stores if s.mode != "set"] + [[s for s in leaf.stores if s.mode == "set"]]
        if len([p for p in parts if p]) > 1 and stored & loaded & {self.program.root(s.container) for s in conflicts}:
            return [*self.inits(leaf), replace(unfresh(leaf), sequential=True)]
        groups = self.group(leaf)
        changing = [g for g in groups if loaded & {self.program.root(s.container) for s in g}]
        if len(groups) > 1 and len(changing) > 1:
            return [*self.inits(leaf), replace(unfresh(leaf), sequential=True)]
        out: list[Node] = []
        # what the others still read is changed last
        for group in [g for g in groups if g not in changing] + changing:
            part = replace(leaf, body=live((i for i in leaf.body if not isinstance(i, Store) or i in group), set()))
            out += self.accumulate(part) if any(s in conflicts for s in group) else [unfresh(part)]
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
        """Whether a sum can be computed beside others, over the same parameters: what they add up is computed once."""
        loaded = {self.program.root(x.container) for x in leaf.loads}
        roots = [self.program.root(s.container) for s in (*group, store)]
        params = {p.name for p in leaf.params}
        return (
            len(set(roots)) == len(roots)
            and not loaded & set(roots)
            and len({frozenset(free_names(*s.index) & params) for s in (*group, store)}) == 1
            and all(not self.is_injective(s, leaf) and self.is_regular(s, leaf) for s in (*group, store))
        )

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
        return first.mode != second.mode or not apart(first, second, leaf, len(first.index))

    def is_injective(self, store: Store, leaf: Leaf) -> bool:
        return injective(store, leaf, len(store.index))

    def inits(self, leaf: Leaf) -> list[Node]:
        """Leaves that start fresh reductions from their identity."""
        out: list[Node] = []
        for s in leaf.stores:
            if s.fresh:
                start = identity(s.mode, self.program.containers[s.container].dtype)
                out.append(begin(s, leaf, start, self.names.fresh("v")))
        return out

    def accumulate(self, leaf: Leaf) -> list[Node]:
        """A leaf with conflicting accumulations that can run side by side."""
        if not all(self.is_regular(s, leaf) for s in leaf.stores):
            one = len(leaf.stores) == 1
            return [*self.inits(leaf), replace(unfresh(leaf), sequential=True) if one else unfresh(leaf)]
        used = free_names(*leaf.stores[0].index)
        kept = tuple(p for p in leaf.params if p.name in used)
        reduced = tuple(p for p in leaf.params if p.name not in used)
        narrow = any(wide(dtype, s.mode) != dtype for s in leaf.stores if (dtype := self.dtype(s)))
        along = contiguous(leaf, self.program) if not narrow and device() == "cpu" else None
        if along in kept and along.name not in free_names(*(b for p in reduced for b in (p.start, p.stop, p.step))):
            return self.outer_reduction(leaf, kept, (*reduced, along))
        return [self.inner_reduction(leaf, kept, reduced)]

    def dtype(self, store: Store) -> dace.typeclass:
        return self.program.containers[store.container].dtype

    def outer_reduction(self, leaf: Leaf, kept: tuple[Param, ...], inner: tuple[Param, ...]) -> list[Node]:
        """``map kept: for reduced: for the contiguous one: target += value``: rows are added up as a whole."""
        outer = tuple(p for p in kept if p not in inner)
        body = [*self.inits(replace(leaf, params=inner)), replace(unfresh(leaf), params=inner, sequential=True)]
        return [Scope(outer, tuple(body), (), leaf.source, schedule=leaf.schedule)] if outer else body

    def inner_reduction(self, leaf: Leaf, kept: tuple[Param, ...], reduced: tuple[Param, ...]) -> Scope:
        """``map kept: acc = identity; for reduced: acc += value; target += acc``."""
        starts: list[Node] = []
        sums: list[Instr] = []
        ends: list[Node] = []
        own: list[Container] = []
        for store in leaf.stores:
            dtype = self.dtype(store)
            name = self.names.fresh(f"acc_{store.container}")
            acc = self.made[name] = Container(name, dt.Scalar(wide(dtype, store.mode), transient=True))
            zero, total = self.names.fresh("v"), self.names.fresh("v")
            mode = "set" if store.fresh else store.mode
            end = (Load(total, name, SCALAR), Store(store.container, store.index, total, mode))
            starts.append(set_scalar(name, Value((), identity(store.mode, dtype)), zero, leaf.source))
            sums.append(Store(name, SCALAR, store.value, store.mode))
            ends.append(Leaf((), end, leaf.source))
            own.append(acc)
        body = tuple(i for i in leaf.body if not isinstance(i, Store))
        middle = Leaf(reduced, (*body, *sums), leaf.source, sequential=True)
        return Scope(kept, (*starts, middle, *ends), tuple(own), leaf.source, schedule=leaf.schedule)


def wide(dtype: dace.typeclass, mode: str) -> dace.typeclass:
    """Low-precision sums are accumulated in float32."""
    return dace.float32 if dtype == dace.float16 and mode in ("sum", "prod") else dtype


def _alone(store: Store, params: tuple[Param, ...]) -> set[str]:
    names = {p.name for p in params}
    found = set()
    for expr in store.index:
        mine = free_names(expr)
        if len(mine) == 1 and mine <= names:
            found |= mine
    return found


def unfresh(leaf: Leaf) -> Leaf:
    """Fresh reductions that never meet themselves are assignments; others have been started already."""
    body = tuple(
        replace(i, fresh=False, mode="set" if _single(i, leaf) else i.mode) if isinstance(i, Store) and i.fresh else i
        for i in leaf.body
    )
    return replace(leaf, body=body)


def _single(store: Store, leaf: Leaf) -> bool:
    return injective(store, leaf, len(store.index)) and _starts(store, leaf) and store.guard is None


def _starts(store: Store, leaf: Leaf) -> bool:
    """Whether no element of a fresh reduction goes without an instance: nothing else would give it its start."""
    used = free_names(*store.index)
    return not store.fresh or all(p.name in used or (p.stop - p.start).is_nonnegative for p in leaf.params)
