"""Products over triangles as products over rectangles: ``C[i, j] += A[i, k] * B[j, k]`` for ``j <= i``, block by block.

BLAS has no product for such a domain. Cut into blocks of rows, nearly all of it is rectangular. Where both sides of the
triangle are rows and columns of the result, a block's whole bounding rectangle is computed, and what belongs to the
triangle is taken from it; where one of them is summed over, the largest rectangle in a block is a product, and the rest
of the block stays as loops.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import dace
import sympy
from dace import data as dt

from sdgrad.config import config
from sdgrad.optimize.contractions.recognition import Contraction, recognise, split_stores
from sdgrad.optimize.locality.loop_interchange import exchanged
from sdgrad.optimize.locality.strides import known_trips, steps
from sdgrad.program.leaves import as_loops, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import (
    Block,
    Container,
    Expr,
    Leaf,
    Let,
    Load,
    Node,
    Param,
    Program,
    Scope,
    Store,
    children,
    with_children,
)
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, sym, to_ast


def split_triangles(program: Program, names: Names) -> Program:
    """The program with triangular contractions cut into rectangles, and what these leave."""
    splitter = Splitter(program, names)
    body = splitter.block(program.body)
    containers, symbols = {**program.containers, **splitter.made}, {**program.symbols, **splitter.symbols}
    return replace(program, body=body, containers=containers, symbols=symbols)


@dataclass(frozen=True)
class Triangle:
    """``column`` runs between bounds that are linear in ``row``; the third parameter is free of both."""

    row: Param
    column: Param
    third: Param

    @staticmethod
    def of(leaf: Leaf) -> Triangle | None:
        names = {p.name for p in leaf.params}
        bound = [p for p in leaf.params if free_names(p.start, p.stop) & names]
        if len(leaf.params) != 3 or len(bound) != 1 or any(p.step != 1 for p in leaf.params):
            return None
        (column,) = bound
        rows = free_names(column.start, column.stop) & names
        if len(rows) != 1:
            return None
        (row,) = (p for p in leaf.params if p.name in rows)
        (third,) = (p for p in leaf.params if p not in (row, column))
        slopes = {sympy.expand(e).coeff(sym(row.name)) for e in (column.start, column.stop)}
        numbers = all(e.is_number for e in (row.start, row.stop, third.start, third.stop))
        return Triangle(row, column, third) if slopes <= {-1, 0, 1} and numbers else None

    def bounds(self, first: Expr, last: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """The columns of some rows: the least and the greatest first one, the least and the greatest last one."""
        found: list[Expr] = []
        for e in (self.column.start, self.column.stop):
            ends = [sympy.expand(e.subs(sym(self.row.name), at)) for at in (first, last)]
            found += ends if sympy.expand(e).coeff(sym(self.row.name)) >= 0 else ends[::-1]
        return found[0], found[1], found[2], found[3]

    def exchanged(self) -> tuple[Param, Param, Param] | None:
        """The same domain with rows between bounds that are linear in columns; None where that takes more bounds."""
        pair = exchanged(self.row, self.column)
        return (*pair, self.third) if pair is not None else None


@dataclass
class Splitter:
    """One program; ``made`` are the rectangles of blocks."""

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        return tuple(x for node in block for x in self.node(node))

    def node(self, node: Node) -> Block:
        if isinstance(node, Scope):
            return (node,)
        if isinstance(node, Leaf):
            return split_stores(node, self.program, self.split) if Triangle.of(node) is not None else (node,)
        return (with_children(node, tuple(self.block(b) for b in children(node))),)

    def split(self, leaf: Leaf) -> Block | None:
        """A contraction over a triangle as blocks; None where that does not pay, or is no such contraction."""
        found, triangle = recognise(leaf), Triangle.of(leaf)
        if found is None or triangle is None or known_trips(triangle.row) < 2 * config.machine.triangle_rows:
            return None
        found, triangle = _upright(found, triangle)
        out = free_names(*found.store.index)
        inside = [n in out for n in (triangle.row.name, triangle.column.name)]
        if not any(inside) or all(inside) and any(_both(x, triangle) for x in (found.a, found.b)):
            return None
        if not all(inside) and found.store.fresh:
            if not inside[0]:
                exchanged = triangle.exchanged()
                return self.split(replace(leaf, params=exchanged)) if exchanged is not None else None
            start = begin(found.store, found.leaf, code.constant(0), self.names.fresh("v"))
            return (start, *self.blocks(_unfresh(found), triangle, False))
        return tuple(self.blocks(found, triangle, all(inside)))

    def blocks(self, c: Contraction, triangle: Triangle, masked: bool) -> Iterator[Node]:
        row, count = triangle.row, known_trips(triangle.row)
        whole = count // config.machine.triangle_rows
        first = Param(
            self.names.fresh(row.name),
            row.start,
            row.start + (whole - 1) * config.machine.triangle_rows,
            sympy.Integer(config.machine.triangle_rows),
        )
        self.symbols[first.name] = dace.int64
        make = self.masked if masked else self.rectangle
        yield from as_loops(
            [first],
            make(c, triangle, sym(first.name), config.machine.triangle_rows, (first.start, first.stop)),
            c.leaf.source,
        )
        if count % config.machine.triangle_rows:
            start = row.start + whole * config.machine.triangle_rows
            yield from make(c, triangle, start, count % config.machine.triangle_rows, (start, start))

    def masked(
        self, c: Contraction, triangle: Triangle, start: Expr, rows: int, starts: tuple[Expr, Expr]
    ) -> tuple[Node, ...]:
        """The bounding rectangle of a block of rows, and what of it belongs to the triangle."""
        row = replace(triangle.row, start=start, stop=start + rows - 1)
        low, _, _, high = triangle.bounds(row.start, row.stop)
        wide = [sympy.expand((high - low + 1).subs({x: s for x in start.free_symbols})) for s in starts]
        dtype = self.program.containers[c.store.container].dtype
        block = Container(
            self.names.fresh(f"block_{c.store.container}"), dt.Array(dtype, [rows, max(wide)], transient=True)
        )
        self.made[block.name] = block
        index = (sym(row.name) - start, sym(triangle.column.name) - low)
        inner = Store(block.name, index, c.store.value, "sum", fresh=True)
        params = (row, replace(triangle.column, start=low, stop=high), triangle.third)
        body = tuple(inner if i is c.store else i for i in c.leaf.body)
        v = self.names.fresh("v")
        out = replace(c.store, value=v, mode="set" if c.store.fresh else "sum", fresh=False)
        take = Leaf((row, triangle.column), (Load(v, block.name, index), out), c.leaf.source)
        return Leaf(params, body, c.leaf.source), take

    def rectangle(
        self, c: Contraction, triangle: Triangle, start: Expr, rows: int, starts: tuple[Expr, Expr]
    ) -> tuple[Node, ...]:
        """The largest rectangle in a block of rows, and what is left and right of it."""
        row, column = replace(triangle.row, start=start, stop=start + rows - 1), triangle.column
        _, low, high, _ = triangle.bounds(row.start, row.stop)
        parts = [(low, high)]
        parts += [(column.start, low - 1)] if free_names(column.start) & {row.name} else []
        parts += [(high + 1, column.stop)] if free_names(column.stop) & {row.name} else []
        found: list[Node] = []
        for first, last in parts:
            part = replace(column, start=sympy.expand(first), stop=sympy.expand(last))
            rest = self.padded(c, triangle, row, part) if free_names(first, last) & {row.name} else None
            found += rest or [replace(c.leaf, params=self.by_memory(c, row, part, triangle.third))]
        widths = [sympy.expand((high - low + 1).subs({x: s for x in start.free_symbols})) for s in starts]
        if min(widths) < 0:  # the block is no wider than its triangle
            return (replace(c.leaf, params=self.by_memory(c, row, column, triangle.third)),)
        return tuple(found)

    def padded(self, c: Contraction, triangle: Triangle, row: Param, part: Param) -> list[Node] | None:
        """A product over what is left of a block: a factor is copied with zeros around it. None where that is none."""
        slanted = [x for x in (c.a, c.b) if _both(x, triangle)]
        low, _, _, high = replace(triangle, column=part).bounds(row.start, row.stop)
        wide = sympy.expand(high - low + 1)
        if (
            len(slanted) != 1
            or not wide.is_number
            or wide > 2 * config.machine.triangle_rows
            or not known_trips(triangle.third) >= config.machine.triangle_rows
        ):
            return None
        (factor,) = slanted
        dtype = self.program.containers[factor.container].dtype
        rows = row.stop - row.start + 1
        block = Container(self.names.fresh(f"corner_{factor.container}"), dt.Array(dtype, [rows, wide], transient=True))
        self.made[block.name] = block
        v, inside, kept = (self.names.fresh(n) for n in ("v", "c", "v"))
        column = replace(part, start=low, stop=high)
        here = code.name(column.name)
        tests: list[ast.expr] = [ast.Compare(left=to_ast(part.start), ops=[ast.LtE()], comparators=[here])]
        tests.append(ast.Compare(left=here, ops=[ast.LtE()], comparators=[to_ast(part.stop)]))
        index = (sym(row.name) - row.start, sym(column.name) - low)
        body = (
            Let(inside, ast.BoolOp(op=ast.And(), values=tests)),
            replace(factor, name=v, guard=inside),
            Let(kept, code.choose(code.name(inside), code.name(v), code.constant(0))),
            Store(block.name, index, kept),
        )
        copied = replace(factor, container=block.name, index=index)
        product = tuple(copied if i is factor else i for i in c.leaf.body)
        copy = Leaf((row, column), body, c.leaf.source)
        return [copy, replace(c.leaf, params=(row, column, triangle.third), body=product)]

    def by_memory(self, c: Contraction, row: Param, column: Param, third: Param) -> tuple[Param, ...]:
        """The order of loops in which the innermost one walks through memory step by step."""
        near = [sum(steps(x, p, self.program) == 1 for x in (c.store, c.a, c.b)) for p in (column, third)]
        return (third, row, column) if near[0] > near[1] else (row, column, third)


def _both(access: Load | Store, triangle: Triangle) -> bool:
    return {triangle.row.name, triangle.column.name} <= free_names(*access.index)


def _upright(c: Contraction, triangle: Triangle) -> tuple[Contraction, Triangle]:
    """With columns counted so that rows and columns are mentioned apart: ``x[k, i + j]`` as ``x[k, j]``."""
    row, column = sym(triangle.row.name), sym(triangle.column.name)
    places = [e for x in (c.a, c.b, c.store) for e in x.index]
    slanted = {s for e in places for s in (1, -1) if not sympy.expand(e - column - s * row).has(row, column)}
    if len(slanted) != 1:
        return c, triangle
    (sign,) = slanted
    env: dict[str, Expr] = {triangle.column.name: column - sign * row}
    body = tuple(rename_instr(i, {}, env) for i in c.leaf.body)
    start, stop = (sympy.expand(e + sign * row) for e in (triangle.column.start, triangle.column.stop))
    moved = replace(triangle.column, start=start, stop=stop)
    if not free_names(start, stop) & {triangle.row.name}:
        return c, triangle
    params = tuple(moved if p == triangle.column else p for p in c.leaf.params)
    body = tuple(i if isinstance(i, Let) else replace(i, index=tuple(map(sympy.expand, i.index))) for i in body)
    found = recognise(replace(c.leaf, params=params, body=body))
    return (found, replace(triangle, column=moved)) if found is not None else (c, triangle)


def _unfresh(c: Contraction) -> Contraction:
    store = replace(c.store, fresh=False)
    body = tuple(store if i is c.store else i for i in c.leaf.body)
    return replace(c, leaf=replace(c.leaf, body=body), store=store)
