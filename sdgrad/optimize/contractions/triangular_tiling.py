"""Tile contractions over triangles, so that most of the work is contractions over rectangles.

BLAS has no product for a domain such as ``j <= i``. Tiling it (Wolfe 1989) into blocks of rows makes nearly all of it
rectangular::

    map i=0:n, j=0:i+1, k: C[i, j] += A[i, k] * B[j, k]

    loop b step 64:
      map i=b:b+64, j=0:b+64, k: block[i-b, j] += A[i, k] * B[j, k] (fresh)
      map i=b:b+64, j=0:i+1:     C[i, j] += block[i-b, j]

If both sides of the triangle are dimensions of the result, as here, a block computes its bounding rectangle, and the
triangle is taken from it. If one of them is summed over, the largest rectangle in a block is a contraction by itself;
the rest of the block is another one, of a factor that is padded with zeros, or stays as loops. The pass declines if the
triangle has fewer than two blocks of rows, or if its bounds are not affine with slope 0, 1 or -1.
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
    Index,
    Instr,
    Leaf,
    Let,
    Load,
    Node,
    Param,
    Program,
    Scope,
    Store,
    map_blocks,
)
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, sym, to_ast


def split_triangles(program: Program, names: Names) -> Program:
    """Tile the contractions of a program over triangles."""
    splitter = Splitter(program, names)
    body = splitter.block(program.body)
    containers, symbols = {**program.containers, **splitter.made}, {**program.symbols, **splitter.symbols}
    return replace(program, body=body, containers=containers, symbols=symbols)


@dataclass(frozen=True)
class Triangle:
    """Hold the parameters of a triangular domain.

    The bounds of ``column`` are affine in ``row``; those of ``row`` and of ``third`` are numbers.
    """

    row: Param
    column: Param
    third: Param

    @staticmethod
    def of(leaf: Leaf) -> Triangle | None:
        """Return the triangle that a leaf runs over; None if its domain is another one."""
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
        triangle = Triangle(row, column, third)
        return triangle if triangle.is_regular() else None

    def is_regular(self) -> bool:
        """True if the slopes of its sides are 0, 1 or -1, and its other bounds numbers."""
        slopes = {sympy.expand(e).coeff(sym(self.row.name)) for e in (self.column.start, self.column.stop)}
        ends = (self.row.start, self.row.stop, self.third.start, self.third.stop)
        return slopes <= {-1, 0, 1} and all(e.is_number for e in ends)

    def bounds(self, first: Expr, last: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """Return the extremes of the columns of some rows: least and greatest start, least and greatest stop."""
        found: list[Expr] = []
        for e in (self.column.start, self.column.stop):
            ends = [sympy.expand(e.subs(sym(self.row.name), at)) for at in (first, last)]
            found += ends if sympy.expand(e).coeff(sym(self.row.name)) >= 0 else ends[::-1]
        return found[0], found[1], found[2], found[3]

    def exchanged(self) -> tuple[Param, Param, Param] | None:
        """Return the parameters after loop interchange of rows and columns; None if that takes more bounds."""
        pair = exchanged(self.row, self.column)
        return (*pair, self.third) if pair is not None else None

    def spanned_by(self, access: Load | Store) -> bool:
        """True if the subscripts of an access use both row and column."""
        return {self.row.name, self.column.name} <= access.index_names


@dataclass
class Splitter:
    """Tile the triangles of one program.

    :param made: bounding rectangles and padded factors of blocks.
    :param symbols: variables of loops over blocks.
    """

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        """Return the block with tiles in place of its triangles."""
        return tuple(x for node in block for x in self.node(node))

    def node(self, node: Node) -> Block:
        """Return the nodes that replace one node; parallel maps stay as they are."""
        if isinstance(node, Scope):
            return (node,)
        if isinstance(node, Leaf):
            return split_stores(node, self.program, self.split) if Triangle.of(node) is not None else (node,)
        return (map_blocks(node, self.block),)

    def split(self, leaf: Leaf) -> Block | None:
        """Return the tiles of a contraction over a triangle; None if it is none, or too small to pay."""
        found, triangle = recognise(leaf), Triangle.of(leaf)
        if found is None or triangle is None or known_trips(triangle.row) < 2 * config.machine.triangle_rows:
            return None
        found, triangle = _upright(found, triangle)
        kept = found.store.index_names & {triangle.row.name, triangle.column.name}
        if len(kept) == 2:
            factors = any(map(triangle.spanned_by, (found.a, found.b)))
            return None if factors else tuple(self.blocks(found, triangle, masked=True))
        return self.split_sum(found, triangle, skewed=found.leaf is not leaf) if kept else None

    def split_sum(self, c: Contraction, triangle: Triangle, skewed: bool) -> Block | None:
        """Return the tiles of a contraction that sums over one side of a triangle; None if there is no way.

        A sum over rows that starts from zero needs an interchange of rows and columns first, because the leaf of its
        zeros needs constant bounds. A skewed triangle is not interchanged.
        """
        if not c.store.fresh:
            return tuple(self.blocks(c, triangle, masked=False))
        if triangle.row.name not in c.store.index_names:
            exchanged = triangle.exchanged() if not skewed else None
            return self.split(replace(c.leaf, params=exchanged)) if exchanged is not None else None
        start = begin(c.store, c.leaf, code.constant(0), self.names.fresh("v"))
        return (start, *self.blocks(c.continued(), triangle, masked=False))

    def blocks(self, c: Contraction, triangle: Triangle, masked: bool) -> Iterator[Node]:
        """Yield the loop over blocks of rows, and the nodes of the rows that are left.

        :param masked: compute bounding rectangles and take the triangle from them.
        """
        rows = config.machine.triangle_rows
        row, count = triangle.row, known_trips(triangle.row)
        whole = count // rows
        first = Param(self.names.fresh(row.name), row.start, row.start + (whole - 1) * rows, sympy.Integer(rows))
        self.symbols[first.name] = dace.int64
        make = self.masked if masked else self.rectangle
        inner = make(c, triangle, sym(first.name), rows, (first.start, first.stop))
        yield from as_loops([first], inner, c.leaf.source)
        if count % rows:
            start = row.start + whole * rows
            yield from make(c, triangle, start, count % rows, (start, start))

    def masked(
        self, c: Contraction, triangle: Triangle, start: Expr, rows: int, starts: tuple[Expr, Expr]
    ) -> tuple[Node, ...]:
        """Return the bounding rectangle of a block of rows, and the leaf that takes the triangle from it.

        :param starts: the least and the greatest ``start`` of a block.
        """
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
        """Return the largest rectangle in a block of rows, and the triangles left and right of it.

        :param starts: the least and the greatest ``start`` of a block.
        """
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
        """Return a triangle of a block as a product over its bounding rectangle, and the leaf that pads a factor.

        None if no factor, or both, span the triangle, or if the rectangle is too wide or the product too small.
        """
        slanted = [x for x in (c.a, c.b) if triangle.spanned_by(x)]
        low, _, _, high = replace(triangle, column=part).bounds(row.start, row.stop)
        wide = sympy.expand(high - low + 1)
        if len(slanted) != 1 or not self.pads(wide, triangle.third):
            return None
        (factor,) = slanted
        dtype = self.program.containers[factor.container].dtype
        rows = row.stop - row.start + 1
        block = Container(self.names.fresh(f"corner_{factor.container}"), dt.Array(dtype, [rows, wide], transient=True))
        self.made[block.name] = block
        column = replace(part, start=low, stop=high)
        index = (sym(row.name) - row.start, sym(column.name) - low)
        copy = Leaf((row, column), self.zero_padding(factor, part, block.name, index), c.leaf.source)
        copied = replace(factor, container=block.name, index=index)
        product = tuple(copied if i is factor else i for i in c.leaf.body)
        return [copy, replace(c.leaf, params=(row, column, triangle.third), body=product)]

    def pads(self, wide: Expr, third: Param) -> bool:
        """True if a padded rectangle of this width is small, and used by enough products."""
        rows = config.machine.triangle_rows
        return bool(wide.is_number) and bool(wide <= 2 * rows) and known_trips(third) >= rows

    def zero_padding(self, factor: Load, part: Param, block: str, index: Index) -> tuple[Instr, ...]:
        """Return the body of a leaf that stores a factor's elements within the bounds of columns, and zeros outside."""
        v, inside, kept = (self.names.fresh(n) for n in ("v", "c", "v"))
        here = code.name(part.name)
        tests: list[ast.expr] = [
            ast.Compare(left=to_ast(part.start), ops=[ast.LtE()], comparators=[here]),
            ast.Compare(left=here, ops=[ast.LtE()], comparators=[to_ast(part.stop)]),
        ]
        return (
            Let(inside, ast.BoolOp(op=ast.And(), values=tests)),
            replace(factor, name=v, guard=inside),
            Let(kept, code.choose(code.name(inside), code.name(v), code.constant(0))),
            Store(block, index, kept),
        )

    def by_memory(self, c: Contraction, row: Param, column: Param, third: Param) -> tuple[Param, ...]:
        """Return the order of loops whose innermost one has unit stride in more accesses."""
        near = [sum(steps(x, p, self.program) == 1 for x in (c.store, c.a, c.b)) for p in (column, third)]
        return (third, row, column) if near[0] > near[1] else (row, column, third)


def _upright(c: Contraction, triangle: Triangle) -> tuple[Contraction, Triangle]:
    """Skew a triangle, so that subscripts use its row and its column apart: ``x[k, i + j]`` becomes ``x[k, j]``.

    Both stay unchanged if subscripts have other sums of row and column, or if the triangle became a rectangle.
    """
    sign = _skew(c, triangle)
    if sign is None:
        return c, triangle
    row, column = sym(triangle.row.name), sym(triangle.column.name)
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


def _skew(c: Contraction, triangle: Triangle) -> int | None:
    """Return the sign of the row in subscripts ``column + row`` or ``column - row``; None for none, or both."""
    row, column = sym(triangle.row.name), sym(triangle.column.name)
    places = [e for x in (c.a, c.b, c.store) for e in x.index]
    signs = {s for e in places for s in (1, -1) if not sympy.expand(e - column - s * row).has(row, column)}
    return signs.pop() if len(signs) == 1 else None
