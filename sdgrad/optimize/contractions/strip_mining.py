"""Loops whose trips multiply a matrix with a vector of their own do so for many trips at once.

``for i: s = K[a(i):b(i)] @ q[i]; ..; y[i] = w @ V[a(i):b(i)]`` passes over the matrix in every trip. Where trips share
nothing but sums, a loop is cut into strips of trips, and its statements are distributed over loops of their own (Allen
and Kennedy, Optimizing Compilers for Modern Architectures, ch. 5 and 9): what one of these leaves for the next gets an
element for each trip of the strip, and the products of a strip are one product of matrices. Rows of the matrix that
slide along with the trips are those of the whole strip then; the factors are zero where a trip does not use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import dace
import numpy as np
import sympy
from dace import data as dt

from sdgrad.analysis.access_relations import loop_param, value_expr
from sdgrad.analysis.loop_private import used, within_blocks
from sdgrad.config import config
from sdgrad.optimize.contractions.sliding_windows import Product, Trips, Window
from sdgrad.program.leaves import as_loops
from sdgrad.program.names import Names
from sdgrad.program.symbols import unbound_symbols, used_symbols
from sdgrad.program.tree import (
    Block,
    Container,
    Expr,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    Param,
    Program,
    Scope,
    Store,
    SymbolAssign,
    Value,
    children,
    reads,
    with_children,
)
from sdgrad.rewrite.fusion import drop_stores, fuse_block
from sdgrad.rewrite.scalar_expansion import indexed, wider
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, is_zero, substitute, sym, to_ast

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
FEWEST, MOST = 8, 32  # trips of a strip


def strips_of_products(program: Program, names: Names) -> Program:
    """The program with such loops in strips."""
    stripper = Stripper(program, names)
    body = stripper.block(program.body)
    if not stripper.made:
        return program
    containers = {**program.containers, **stripper.made}
    return replace(program, body=body, containers=containers, symbols={**program.symbols, **stripper.symbols})


@dataclass
class Stripper:
    """One program; ``made`` and ``symbols`` are what strips need."""

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.temporary = within_blocks(self.program)
        views = [c for c in self.program.containers.values() if c.view_of is not None]
        self.viewed = {n for c in views for n in (c.name, self.program.root(c.name))}
        self.unbound = unbound_symbols(self.program.body, self.program)

    def block(self, block: Block) -> Block:
        return tuple(x for node in block for x in self.node(node))

    def node(self, node: Node) -> Block:
        if isinstance(node, (Leaf, Scope)):
            return (node,)
        if isinstance(node, Loop):
            trips = loop_param(node)
            body = Body.of(node, trips, self) if trips is not None else None
            done = body.in_strips() if body is not None else None
            if done is not None:
                return done
        return (with_children(node, tuple(self.block(b) for b in children(node))),)


@dataclass(frozen=True)
class Rows:
    """The matrix's rows that a strip uses, for one window: from ``low`` to ``high``, at most ``most``."""

    low: Expr
    high: Expr
    most: int


class Body:
    """The body of a loop whose trips are independent, but for sums."""

    def __init__(self, loop: Loop, variable: Param, stripper: Stripper, private: set[str]) -> None:
        self.loop, self.variable, self.stripper = loop, variable.name, stripper
        self.program, self.names = stripper.program, stripper.names
        self.assigns = [n for n in loop.body if isinstance(n, SymbolAssign)]
        means: dict[str, Expr] = {}
        for node in self.assigns:
            means[node.symbol] = substitute(value_expr(node.value) or ZERO, means)
        self.trips = Trips(variable, means, private, self.program)
        self.strip = MOST
        self.pads: dict[str, Container] = {}
        self.wide: dict[str, Container] = {}

    @staticmethod
    def of(loop: Loop, trips: Param, stripper: Stripper) -> Body | None:
        """The body, if its trips can come in any order."""
        program = stripper.program
        plain = loop.also is None and loop.last is None and abs(trips.step) == 1
        if not plain or not (trips.start.is_number and trips.stop.is_number):
            return None
        if not 2 * FEWEST <= abs(trips.stop - trips.start) <= config.machine.strip_trips:
            return None
        if not all(isinstance(n, (Leaf, SymbolAssign)) and not getattr(n, "sequential", False) for n in loop.body):
            return None
        assigned = {n.symbol for n in loop.body if isinstance(n, SymbolAssign)} | {loop.symbol}
        if assigned & stripper.unbound or not _symbols_first(loop, program):
            return None
        touched = {c for n in loop.body for c in used(n, program)}
        if touched & stripper.viewed:
            return None
        private = touched & stripper.temporary
        leaves = [n for n in loop.body if isinstance(n, Leaf)]
        alone = all(_shared(n, leaves, loop.symbol) for n in touched - private)
        return Body(loop, trips, stripper, private) if alone else None

    def in_strips(self) -> Block | None:
        """The loop in strips; None where there is nothing to gain."""
        parts: list[tuple[list[Product], list[Leaf]]] = []
        for node in self.loop.body:
            if isinstance(node, Leaf):
                parts.append(self.trips.products(node))
        found = [p for products, _ in parts for p in products]
        if not found:
            return None
        widths = [self.trips.evaluated(p.window.last - p.window.first) for p in found]
        widest = max(int(w.max()) + 1 for w in widths if w is not None)
        fixed = all(not self.trips.unknown(p.window.first, p.window.last) for p in found)
        self.strip = MOST if fixed else max(FEWEST, min(MOST, widest // config.machine.window_share))
        if self.trips.high - self.trips.low + 1 < 2 * self.strip or not fixed and widest < FEWEST:
            return None
        return self.distributed(parts)

    def distributed(self, parts: Sequence[tuple[list[Product], list[Leaf]]]) -> Block | None:
        """A loop over strips, in it loops over the strip's trips, and products between these."""
        name = self.names.fresh(f"strip_{self.variable}")
        start, end = sym(name), sympy.Min(sym(name) + self.strip - 1, self.trips.high)
        own = Param(self.variable, start, end, ONE)
        heads: list[Node] = []  # at the start of a strip: its rows, zeros
        segments: list[list[Leaf]] = [[]]
        between: list[list[Leaf]] = []
        rows: dict[tuple[Expr, Expr], Rows] = {}
        for products, rest in parts:
            done = []
            after: list[Leaf] = []
            pads: dict[tuple, Container] = {}
            for p in products:
                key = (p.window.first, p.window.last)
                if key not in rows:
                    rows[key], assigns = self.rows(p.window, start, end)
                    heads += assigns
                zeros, before, product, behind = self.together(p, rows[key], own, pads)
                heads += zeros
                segments[-1] += before
                done.append(product)
                after += behind
            if products:
                between.append(done)
                segments.append(after)
            segments[-1] += rest
        segments = self.without_unread(segments, between)
        if not self.widen(segments, between):
            return None
        body: list[Node] = [*heads]
        for k, segment in enumerate(segments):
            leaves = tuple(self.expanded(leaf, own) for leaf in segment)
            body += (
                as_loops((own,), fuse_block((*self.assigns, *leaves), self.known()), self.loop.source) if leaves else ()
            )
            body += [self.expanded(leaf, leaf.params[0]) for leaf in between[k]] if k < len(between) else []
        self.stripper.made |= {**self.pads, **{c.name: c for c in self.wide.values()}}
        low, high, step = (Value((), code.constant(x)) for x in (self.trips.low, self.trips.high, self.strip))
        return (Loop(name, low, high, step, tuple(body), self.loop.source),)

    def known(self) -> Program:
        """The program with the containers that are made for this loop."""
        made = {**self.pads, **{c.name: c for c in self.wide.values()}}
        return replace(self.program, containers={**self.program.containers, **made})

    def rows(self, window: Window, start: Expr, end: Expr) -> tuple[Rows, list[Node]]:
        """The rows that a strip uses, and what computes them."""
        found, assigns = [], []
        for expr, trip, what in ((window.first, start, "low"), (window.last, end, "high")):
            expr = substitute(expr, {self.variable: trip})
            if not expr.is_number:
                symbol = self.names.fresh(f"{what}_{self.variable}")
                self.stripper.symbols[symbol] = dace.int64
                assigns.append(SymbolAssign(symbol, Value((), to_ast(expr)), dace.int64, self.loop.source))
                expr = sym(symbol)
            found.append(expr)
        firsts, lasts = self.trips.evaluated(window.first), self.trips.evaluated(window.last)
        assert firsts is not None and lasts is not None, "checked before"
        ends = np.minimum(np.arange(0, len(firsts), self.strip) + self.strip, len(firsts)) - 1
        most = int((lasts[ends] - firsts[:: self.strip]).max()) + 1
        return Rows(found[0], found[1], max(most, 1)), list(assigns)

    def together(
        self, p: Product, rows: Rows, own: Param, pads: dict[tuple, Container]
    ) -> tuple[list[Leaf], list[Leaf], Leaf, list[Leaf]]:
        """Zeros for a strip; a trip's part before; the product; a trip's part behind.

        :param pads: vectors along windows that other products of the leaf read.
        """
        c, window = p.found, p.window
        source, dtype = c.leaf.source, self.program.containers[p.along.container].dtype
        shape = [sympy.Integer(self.strip), sympy.Integer(rows.most)]
        same = (p.along.container, p.along.index, window) if isinstance(p.along, Load) else (id(p),)
        seen = pads.get(same)
        pad = seen or Container(self.names.fresh(f"rows_{p.along.container}"), dt.Array(dtype, shape, transient=True))
        pads[same] = self.pads[pad.name] = pad
        trip, row, v = self.names.fresh("trip"), window.param.name, self.names.fresh("v")
        place = (sym(trip), sym(row) - rows.low)
        mine = (sym(own.name) - own.start, sym(row) + window.shift - rows.low)
        env = {own.name: own.start + sym(trip)}

        def changed(access: Load | Store) -> Load | Store:
            if access is p.along:
                return replace(access, container=pad.name, index=place)
            found = self.trips.by_rows(access, window) if access is p.matrix else access
            return replace(found, index=tuple(substitute(substitute(e, self.trips.means), env) for e in found.index))

        across = Param(trip, ZERO, own.stop - own.start, ONE)
        params = (
            across,
            *(replace(q, start=rows.low, stop=rows.high) if q is window.param else q for q in c.leaf.params),
        )
        accesses = {id(x): changed(x) for x in (c.store, c.a, c.b)}
        if isinstance(p.along, Store):
            accesses[id(p.along)] = replace(p.along, container=pad.name, index=place, fresh=True)
        body = tuple(i if isinstance(i, Let) else accesses.get(id(i), i) for i in c.leaf.body)
        product = replace(c.leaf, params=params, body=body)
        if isinstance(p.along, Store):
            mode = "set" if c.store.fresh else "sum"
            store = replace(p.along, value=v, mode=mode, fresh=False)
            return [], [], product, [Leaf((window.param,), (Load(v, pad.name, mine), store), source)]
        if seen is not None:
            return [], [], product, []
        whole = (across, Param(row, rows.low, rows.high, ONE))
        zero = Leaf(whole, (Let(v, code.constant(0)), Store(pad.name, place, v)), source)
        copied = Leaf((window.param,), (replace(p.along, name=v), Store(pad.name, mine, v)), source)
        return [zero], [copied], product, []

    def without_unread(self, segments: list[list[Leaf]], between: Sequence[Sequence[Leaf]]) -> list[list[Leaf]]:
        """The segments without what is stored and never read, now that products take it from elsewhere."""
        while True:
            leaves = [leaf for part in (*segments, *between) for leaf in part]
            read = {c for leaf in leaves for c in reads(leaf)}
            dead = self.trips.private - read
            left = [[drop_stores(leaf, lambda s: s.container in dead) for leaf in part] for part in segments]  # noqa: B023
            left = [[leaf for leaf in part if leaf.stores] for part in left]
            if left == segments:
                return segments
            segments = left

    def widen(self, segments: Sequence[Sequence[Leaf]], between: Sequence[Sequence[Leaf]]) -> bool:
        """Give what goes from one loop of a strip to the next an element for each trip, where that is little."""
        where: dict[str, set[int]] = {}
        for k, segment in enumerate(segments):
            for leaf in segment:
                for name in used(leaf, self.known()) & self.trips.private:
                    where.setdefault(name, set()).add(k)
        for products in between:
            for leaf in products:
                for name in used(leaf, self.known()) & self.trips.private:
                    where.setdefault(name, set()).update((-1, -2))
        crossing = [n for n, places in where.items() if len(places) > 1]
        count = sympy.Integer(self.strip)
        found = {
            n: wider(self.program.containers[n], count, config.machine.expanded_elements, self.names)
            for n in sorted(crossing)
        }
        if None in found.values():
            return False
        self.wide = {n: c for n, c in found.items() if c is not None}
        return True

    def expanded(self, leaf: Leaf, trips: Param) -> Leaf:
        """A leaf that uses its trip's part of what has one for each trip."""
        for name, wide in self.wide.items():
            leaf = indexed(leaf, self.program.containers[name], wide.name, trips)
        return leaf


def _symbols_first(loop: Loop, program: Program) -> bool:
    """Whether the symbols of a loop's body are known before it runs: by its variable, and assigned once, before use."""
    assigned: set[str] = set()
    seen: set[str] = set()
    for node in loop.body:
        if isinstance(node, SymbolAssign):
            expr = value_expr(node.value)
            if expr is None or free_names(expr) - assigned - {loop.symbol} or node.symbol in assigned | seen:
                return False
            assigned.add(node.symbol)
        else:
            seen |= used_symbols(node, program)
    return True


def _shared(name: str, leaves: Sequence[Leaf], symbol: str) -> bool:
    """Whether trips do not meet in a container: nobody writes, each has a part of its own, or all only add."""
    accesses = list(_accesses(name, leaves))
    stores = [x for x in accesses if isinstance(x, Store)]
    if not stores or len(stores) == len(accesses) and all(s.mode == "sum" and not s.fresh for s in stores):
        return True
    own = [[d for d, e in enumerate(x.index) if symbol in free_names(e)] for x in accesses]
    dims = set(range(len(accesses[0].index))).intersection(*own)
    return any(
        all(is_zero(x.index[d] - accesses[0].index[d]) for x in accesses) and _steps(accesses[0].index[d], symbol)
        for d in dims
    )


def _steps(expr: Expr, symbol: str) -> bool:
    """Whether an index is the loop's variable, up to a number."""
    return bool((expr - sym(symbol)).is_number)


def _accesses(name: str, leaves: Sequence[Leaf]) -> Iterator[Load | Store]:
    for leaf in leaves:
        yield from (x for x in leaf.loads if x.container == name)
        yield from (x for x in leaf.stores if x.container == name)
