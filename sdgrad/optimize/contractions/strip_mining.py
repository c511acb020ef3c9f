"""Run the iterations of a loop in strips, so that their matrix-vector products become matrix products.

A loop whose iterations each multiply a shared matrix by a private vector passes over the matrix in every iteration.
Where the iterations share nothing but sums, strip mining (Wolfe 1989) cuts the loop into strips of up to 32 iterations,
and loop distribution (Allen & Kennedy 2001, ch. 5) gives each statement a loop of its own within a strip. Private
arrays that one of these loops leaves for the next get one element for each iteration of the strip::

    loop i:                      loop strip_i step 32:
      q[:] = ..                    loop i in strip:  all_q[i - strip_i, :] = ..
      s[:] += K @ q         ->     map trip, k, l:   all_s[trip, k] += K[k, l] * all_q[trip, l]
      y[i] = f(s)                  loop i in strip:  y[i] = f(all_s[i - strip_i, :])

The matrix may be a window of rows that slides along with the iterations
(:mod:`sdgrad.optimize.contractions.sliding_windows`). Then a strip multiplies all rows that any of its iterations
uses, by vectors that are padded with zeros. The pass declines if an iteration may depend on another one, if the bounds
are no numbers, or if the loop has fewer iterations than two strips.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import dace
import numpy as np
import sympy
from dace import data as dt

from sdgrad.analysis.access_relations import loop_param, value_expr
from sdgrad.analysis.loop_private import within_blocks
from sdgrad.analysis.uses import used
from sdgrad.config import config
from sdgrad.optimize.contractions.independent_iterations import independent_but_for_sums, symbols_first
from sdgrad.optimize.contractions.sliding_windows import Product, Trips, Window
from sdgrad.program.leaves import as_loops
from sdgrad.program.names import Names
from sdgrad.program.symbols import unbound_symbols
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
    map_blocks,
    reads,
)
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.rewrite.fusion import fuse_block
from sdgrad.rewrite.scalar_expansion import indexed, wider
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import substitute, sym, to_ast

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
FEWEST, MOST = 8, 32
"""Iterations of a strip."""


def strips_of_products(program: Program, names: Names) -> Program:
    """Strip-mine the loops of a program that multiply a shared matrix by private vectors."""
    stripper = Stripper(program, names)
    body = stripper.block(program.body)
    if not stripper.made:
        return program
    containers = {**program.containers, **stripper.made}
    return replace(program, body=body, containers=containers, symbols={**program.symbols, **stripper.symbols})


@dataclass
class Stripper:
    """Strip-mine the loops of one program.

    :param made: containers that strips need.
    :param symbols: variables and bounds of strips.
    """

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find what all loops need to know: loop-private containers, views, symbols from outside."""
        self.temporary = within_blocks(self.program)
        views = [c for c in self.program.containers.values() if c.view_of is not None]
        self.viewed = {n for c in views for n in (c.name, self.program.root(c.name))}
        self.unbound = unbound_symbols(self.program.body, self.program)

    def block(self, block: Block) -> Block:
        """Return the block with its outermost suitable loops in strips."""
        return tuple(x for node in block for x in self.node(node))

    def node(self, node: Node) -> Block:
        """Return the nodes that replace one node; parallel maps stay as they are."""
        if isinstance(node, (Leaf, Scope)):
            return (node,)
        if isinstance(node, Loop):
            trips = loop_param(node)
            body = Body.of(node, trips, self) if trips is not None else None
            done = body.in_strips() if body is not None else None
            if done is not None:
                return done
        return (map_blocks(node, self.block),)


@dataclass(frozen=True)
class Rows:
    """Hold the rows of a matrix that a strip uses: from ``low`` to ``high``, at most ``most``."""

    low: Expr
    high: Expr
    most: int


@dataclass
class Strip:
    """Collect the nodes of one strip.

    :param heads: run at its start: the rows of its windows, zeros of padded vectors.
    :param segments: leaves that run iteration by iteration.
    :param between: products that follow each segment but the last one.
    :param rows: rows of each window.
    """

    heads: list[Node] = field(default_factory=list)
    segments: list[list[Leaf]] = field(default_factory=lambda: [[]])
    between: list[list[Leaf]] = field(default_factory=list)
    rows: dict[tuple[Expr, Expr], Rows] = field(default_factory=dict)


@dataclass(frozen=True)
class Steps:
    """Hold the steps of one product in a strip: zeros at its start, copies before, the product, copies behind it."""

    product: Leaf
    zeros: tuple[Leaf, ...] = ()
    before: tuple[Leaf, ...] = ()
    behind: tuple[Leaf, ...] = ()


class Body:
    """Strip-mine a loop whose iterations are independent but for sums."""

    def __init__(self, loop: Loop, variable: Param, stripper: Stripper, private: set[str]) -> None:
        """Express the symbols that the body assigns as functions of the loop's variable."""
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
        """Return the body of a loop; None unless its iterations may run in any order."""
        if not _is_counted(loop, trips) or not all(map(_is_parallel, loop.body)):
            return None
        program = stripper.program
        assigned = {n.symbol for n in loop.body if isinstance(n, SymbolAssign)} | {loop.symbol}
        if assigned & stripper.unbound or not symbols_first(loop, program):
            return None
        touched = {c for n in loop.body for c in used(n, program)}
        if touched & stripper.viewed:
            return None
        private = touched & stripper.temporary
        leaves = [n for n in loop.body if isinstance(n, Leaf)]
        independent = all(independent_but_for_sums(n, leaves, loop.symbol) for n in touched - private)
        return Body(loop, trips, stripper, private) if independent else None

    def in_strips(self) -> Block | None:
        """Return the loop over strips; None if there is no product, or too few iterations."""
        parts = [self.trips.products(node) for node in self.loop.body if isinstance(node, Leaf)]
        windows = [p.window for products, _ in parts for p in products]
        return self.distributed(parts) if windows and self.choose_strip(windows) else None

    def choose_strip(self, windows: Sequence[Window]) -> bool:
        """Choose the iterations of a strip; False if the loop has fewer than two strips, or windows are narrow.

        A window that slides gets shorter strips, so that few of its rows are multiplied by zeros.
        """
        widths = [self.trips.evaluated(w.last - w.first) for w in windows]
        widest = max(int(w.max()) + 1 for w in widths if w is not None)
        fixed = all(not self.trips.unknown(w.first, w.last) for w in windows)
        self.strip = MOST if fixed else max(FEWEST, min(MOST, widest // config.machine.window_share))
        enough = self.trips.high - self.trips.low + 1 >= 2 * self.strip
        return enough and (fixed or widest >= FEWEST)

    def distributed(self, parts: Sequence[tuple[list[Product], list[Leaf]]]) -> Block | None:
        """Return a loop over strips, with loops over a strip's iterations and products between these.

        None if an array that needs one element for each iteration of a strip would be too large.
        """
        name = self.names.fresh(f"strip_{self.variable}")
        own = Param(self.variable, sym(name), sympy.Min(sym(name) + self.strip - 1, self.trips.high), ONE)
        strip = Strip()
        for products, rest in parts:
            self.add(strip, products, rest, own)
        strip.segments = self.without_unread(strip.segments, strip.between)
        if not self.widen(strip.segments, strip.between):
            return None
        body = self.joined(strip, own)
        self.stripper.made |= {**self.pads, **{c.name: c for c in self.wide.values()}}
        low, high, step = (Value((), code.constant(x)) for x in (self.trips.low, self.trips.high, self.strip))
        return (Loop(name, low, high, step, body, self.loop.source),)

    def add(self, strip: Strip, products: Sequence[Product], rest: Sequence[Leaf], own: Param) -> None:
        """Add the products and the other leaves of one statement to a strip."""
        done: list[Leaf] = []
        after: list[Leaf] = []
        pads: dict[tuple, Container] = {}
        for p in products:
            key = (p.window.first, p.window.last)
            if key not in strip.rows:
                strip.rows[key], assigns = self.rows(p.window, own.start, own.stop)
                strip.heads += assigns
            steps = self.together(p, strip.rows[key], own, pads)
            strip.heads += steps.zeros
            strip.segments[-1] += steps.before
            done.append(steps.product)
            after += steps.behind
        if products:
            strip.between.append(done)
            strip.segments.append(after)
        strip.segments[-1] += rest

    def joined(self, strip: Strip, own: Param) -> Block:
        """Return the nodes of a strip in order, each segment as a loop over the strip's iterations."""
        body: list[Node] = [*strip.heads]
        for k, segment in enumerate(strip.segments):
            if segment:
                leaves = tuple(self.expanded(leaf, own) for leaf in segment)
                body += as_loops((own,), fuse_block((*self.assigns, *leaves), self.known()), self.loop.source)
            if k < len(strip.between):
                body += [self.expanded(leaf, leaf.params[0]) for leaf in strip.between[k]]
        return tuple(body)

    def known(self) -> Program:
        """Return the program with the containers that are made for this loop."""
        made = {**self.pads, **{c.name: c for c in self.wide.values()}}
        return replace(self.program, containers={**self.program.containers, **made})

    def rows(self, window: Window, start: Expr, end: Expr) -> tuple[Rows, list[Node]]:
        """Return the rows that a strip uses, and the symbol assignments that compute them."""
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

    def together(self, p: Product, rows: Rows, own: Param, pads: dict[tuple, Container]) -> Steps:
        """Return the steps that compute one product for all iterations of a strip.

        :param pads: padded vectors of the leaf's other products, by what they hold.
        """
        same = (p.along.container, p.along.index, p.window) if isinstance(p.along, Load) else (id(p),)
        seen = pads.get(same)
        pad = seen or self.pad(p, rows)
        pads[same] = self.pads[pad.name] = pad
        trip, v = self.names.fresh("trip"), self.names.fresh("v")
        across = Param(trip, ZERO, own.stop - own.start, ONE)
        row = p.window.param.name
        place = (sym(trip), sym(row) - rows.low)
        mine = (sym(own.name) - own.start, sym(row) + p.window.shift - rows.low)
        product = self.widened(p, rows, across, replace(p.along, container=pad.name, index=place), own)
        source = p.found.leaf.source
        if isinstance(p.along, Store):
            store = replace(p.along, value=v, mode="set" if p.along.fresh else "sum", fresh=False)
            return Steps(product, behind=(Leaf((p.window.param,), (Load(v, pad.name, mine), store), source),))
        if seen is not None:
            return Steps(product)
        padded = (across, Param(row, rows.low, rows.high, ONE))
        zero = Leaf(padded, (Let(v, code.constant(0)), Store(pad.name, place, v)), source)
        copied = Leaf((p.window.param,), (replace(p.along, name=v), Store(pad.name, mine, v)), source)
        return Steps(product, zeros=(zero,), before=(copied,))

    def pad(self, p: Product, rows: Rows) -> Container:
        """Return a container of the vectors along a window, one for each iteration of a strip, padded to all rows."""
        shape = [sympy.Integer(self.strip), sympy.Integer(rows.most)]
        desc = dt.Array(self.program.containers[p.along.container].dtype, shape, transient=True)
        return Container(self.names.fresh(f"rows_{p.along.container}"), desc)

    def widened(self, p: Product, rows: Rows, across: Param, along: Load | Store, own: Param) -> Leaf:
        """Return a product over all iterations of a strip.

        :param across: the iterations as a parameter, counted from 0.
        :param along: the padded vector along the window; as a result it starts from zero.
        """
        env = {own.name: own.start + sym(across.name)}

        def changed(access: Load | Store) -> Load | Store:
            if access is p.along:
                return replace(along, fresh=True) if isinstance(along, Store) else along
            found = self.trips.by_rows(access, p.window) if access is p.matrix else access
            return replace(found, index=tuple(substitute(substitute(e, self.trips.means), env) for e in found.index))

        c = p.found
        params = (replace(q, start=rows.low, stop=rows.high) if q is p.window.param else q for q in c.leaf.params)
        accesses = {id(x): changed(x) for x in (c.store, c.a, c.b)}
        body = tuple(i if isinstance(i, Let) else accesses.get(id(i), i) for i in c.leaf.body)
        return replace(c.leaf, params=(across, *params), body=body)

    def without_unread(self, segments: list[list[Leaf]], between: Sequence[Sequence[Leaf]]) -> list[list[Leaf]]:
        """Return the segments without dead stores: products read padded vectors instead."""
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
        """Expand the private arrays that several loops of a strip use; False if one would be too large."""
        count = sympy.Integer(self.strip)
        found = {
            n: wider(self.program.containers[n], count, config.machine.expanded_elements, self.names)
            for n in self.crossing(segments, between)
        }
        if None in found.values():
            return False
        self.wide = {n: c for n, c in found.items() if c is not None}
        return True

    def crossing(self, segments: Sequence[Sequence[Leaf]], between: Sequence[Sequence[Leaf]]) -> list[str]:
        """Return the private arrays that a product uses, or more than one segment, by name."""
        program = self.known()

        def private(leaves: Sequence[Leaf]) -> set[str]:
            return {name for leaf in leaves for name in used(leaf, program) & self.trips.private}

        uses = Counter(name for segment in segments for name in private(segment))
        multiplied = {name for products in between for name in private(products)}
        return sorted(multiplied | {name for name, count in uses.items() if count > 1})

    def expanded(self, leaf: Leaf, trips: Param) -> Leaf:
        """Return the leaf with accesses to its iteration's element of expanded containers."""
        for name, wide in self.wide.items():
            leaf = indexed(leaf, self.program.containers[name], wide.name, trips)
        return leaf


def _is_counted(loop: Loop, trips: Param) -> bool:
    """True if a loop runs for each integer between two numbers, and has enough iterations for two strips."""
    if loop.also is not None or loop.last is not None or abs(trips.step) != 1:
        return False
    if not (trips.start.is_number and trips.stop.is_number):
        return False
    return bool(2 * FEWEST <= abs(trips.stop - trips.start) <= config.machine.strip_trips)


def _is_parallel(node: Node) -> bool:
    """True if a node is a symbol assignment, or a leaf whose instances run in any order."""
    return isinstance(node, SymbolAssign) or isinstance(node, Leaf) and not node.sequential
