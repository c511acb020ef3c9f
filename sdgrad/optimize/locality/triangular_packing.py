"""Temporaries of which a triangle or a band is used: its rows lie behind each other, without what lay between them.

What a loop keeps of the part that it has not reached yet, or of the part behind it, is a row that shrinks or grows from
trip to trip. In a rectangle half of the memory is never touched, but lies between what is.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import dace
import islpy as isl
import sympy
from dace import data as dt
from dace import subsets
from dace.symbolic import int_floor

from sdgrad.analysis.access_relations import access_relation
from sdgrad.analysis.enclosing import places
from sdgrad.analysis.loop_private import used
from sdgrad.config import config
from sdgrad.program.tree import (
    Block,
    Container,
    Expr,
    Index,
    Leaf,
    Load,
    Node,
    NodeCall,
    Param,
    Program,
    Store,
    local_names,
    reads,
    rewritten,
    walk,
    writes,
)
from sdgrad.runtime.call.persistent_workspace import LEAST
from sdgrad.symbolic.expr import same, sym

ROW = sympy.Dummy("row", integer=True)


@dataclass(frozen=True)
class Packing:
    """Of an array's dimensions, the outer ones stay; each ``row`` has, of the inner ones, its own part.

    :param inner: for each inner dimension, slowest first: its first index, and how many are kept, in terms of ``ROW``.
    :param places: elements before a row, in terms of ``ROW``.
    :param size: elements of all rows.
    """

    outer: tuple[int, ...]
    row: int
    inner: tuple[tuple[int, Expr, Expr], ...]
    places: Expr
    size: int
    shape: tuple[int, ...]

    @staticmethod
    def of(container: Container, elements: isl.Set) -> Packing | None:
        """The smallest one that has a place for some elements; None where the rectangle is hardly larger."""
        shape = tuple(int(n) for n in container.shape)
        order = sorted(range(len(shape)), key=lambda d: -container.desc.strides[d])
        found = (_rows(elements, shape, order, k) for k in range(len(order) - 1) if shape[order[k]] > 1)
        best = min(found, key=lambda p: p.total, default=None)
        return (
            best
            if best is not None and best.total <= config.machine.packed_share * int(container.desc.total_size)
            else None
        )

    @property
    def total(self) -> int:
        """Elements of the packed array."""
        return self.size * int(sympy.prod([self.shape[d] for d in self.outer]))

    @property
    def strides(self) -> dict[int, Expr]:
        """By inner dimension, how far apart its neighbours are."""
        found: dict[int, Expr] = {}
        step: Expr = sympy.Integer(1)
        for d, _, width in reversed(self.inner):
            found[d] = step
            step = step * width
        return found

    def place(self, index: Index) -> Expr:
        """Where an element is."""
        outer: Expr = sympy.Integer(0)
        for d in self.outer:
            outer = outer * self.shape[d] + index[d]
        strides = self.strides
        within = sum(((index[d] - first) * strides[d] for d, first, _ in self.inner), sympy.Integer(0))
        number, divisor = sympy.fraction(sympy.together(self.places))
        before = sympy.factor(number).subs(ROW, index[self.row])
        before = before if divisor == 1 else int_floor(before, divisor)
        return outer * self.size + before + within.subs(ROW, index[self.row])

    def view(self, view: Container, base: Container) -> Container | None:
        """A view of a part of one row, as a view of the packed array; None where it is none."""
        assert view.view_subset is not None
        ranges = view.view_subset.ranges
        dims = _dims(view, base)
        if dims is None or self.row in dims or any(b != e for d, (b, e, _) in enumerate(ranges) if d not in dims):
            return None
        if not set(dims) <= {d for d, _, _ in self.inner}:
            return None
        row, strides = ranges[self.row][0], self.strides
        desc = dt.ArrayView(
            view.dtype,
            list(view.desc.shape),
            strides=[strides[d].subs(ROW, row) for d in dims],
            storage=view.desc.storage,
            transient=True,
        )
        ends = (tuple(r[k] for r in ranges) for k in (0, 1))
        first, last = (sympy.expand(self.place(end)) for end in ends)
        return Container(view.name, desc, base.name, subsets.Range([(first, last, 1)]))


def _dims(view: Container, base: Container) -> list[int] | None:
    """For each dimension of a view, the one of its base that it is a part of; None where it is none."""
    assert view.view_subset is not None
    dims: list[int] = []
    for count, step in zip(view.desc.shape, view.desc.strides, strict=True):
        alike = [d for d, n in enumerate(base.shape) if n != 1 and base.desc.strides[d] == step]
        if len(alike) != 1 or alike[0] in dims:
            return None
        first, last, by = view.view_subset.ranges[alike[0]]
        if by != 1 or not same((last - first + 1,), (count,)):
            return None
        dims += alike
    return dims


def _rows(elements: isl.Set, shape: tuple[int, ...], order: Sequence[int], k: int) -> Packing:
    """The rows along the ``k``-th dimension of an order, each as long as what is used of it."""
    row = order[k]
    inner = []
    for d in order[k + 1 :]:
        lows, highs = ([(m, _extreme(elements, d, row, m, up)) for m in _slopes(elements, d, row, up)] for up in (0, 1))
        best = min((_part(low, high, shape[row]) for low in lows for high in highs), key=lambda x: x[0])
        inner.append((d, best[1], best[2]))
    each = sympy.expand(sympy.prod([width for _, _, width in inner]))
    before = sympy.Dummy("before", integer=True)
    sums = sympy.expand(sympy.summation(each.subs(ROW, before), (before, 0, ROW - 1)))
    size = int(sums.subs(ROW, shape[row]))
    return Packing(tuple(order[:k]), row, tuple(inner), sums, size, shape)


def _part(low: tuple[int, int], high: tuple[int, int], rows: int) -> tuple[int, Expr, Expr]:
    """How many elements lie between two lines, in all rows; the first of a row, and how many it has: one at least."""
    slope = high[0] - low[0]
    width = high[1] - low[1] + 1
    lacking = max(0, 1 - width, 1 - (width + slope * (rows - 1)))  # also where nothing is used, BLAS wants a step
    width, start = width + lacking, low[1] - lacking
    total = width * rows + slope * rows * (rows - 1) // 2
    return total, start + low[0] * ROW, width + slope * ROW


def _slopes(elements: isl.Set, dim: int, row: int, largest: int) -> set[int]:
    """How far lines that may bound the rows move from one to the next: not at all, or as far as from first to last."""
    rows = [_extreme(elements, row, row, 0, last) for last in (0, 1)]
    ends = [_extreme(elements.fix_val(isl.dim_type.set, row, k), dim, row, 0, largest) for k in rows]
    steep = Fraction(ends[1] - ends[0], max(rows[1] - rows[0], 1))
    return {0, math.floor(steep), math.ceil(steep)}


def _extreme(elements: isl.Set, dim: int, row: int, slope: int, largest: int) -> int:
    """The least or greatest of ``index - slope * row``."""
    names = ", ".join(f"e{k}" for k in range(elements.dim(isl.dim_type.set)))
    lines = elements.apply(isl.Map(f"{{ [{names}] -> [e{dim} - {slope} * e{row}] }}"))
    value = lines.dim_max_val(0) if largest else lines.dim_min_val(0)
    return int(value.to_python())


# --- what is used ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Use:
    """One access: its indices, the dimensions of the instances it has, and names that only a run knows."""

    index: Index
    dims: tuple[tuple[str, Param | None], ...]
    local: frozenset[str]

    def everything(self, shape: Index) -> bool:
        """Whether this is an array from one end to the other, as far as ranges of numbers show it."""
        ranges = {n: p for n, p in self.dims if p is not None}
        for i, n in zip(self.index, shape, strict=True):
            p = ranges.get(getattr(i, "name", ""))
            if n != 1 and (p is None or {p.start, p.stop} != {sympy.Integer(0), n - 1}):
                return False
        return True

    def elements(self) -> isl.Set:
        """What the access touches, and perhaps more."""
        return access_relation(self.index, self.dims, self.local, len(self.index)).elements


def pack_triangles(program: Program) -> Program:
    """The program with its triangles and bands without gaps."""
    packings: dict[str, Packing] = {}
    containers: dict[str, Container] = {}
    operands = {n for node in walk(program.body) if isinstance(node, NodeCall) for n in reads(node) | writes(node)}
    for name, uses in _uses(program).items():
        container = program.containers[name]
        packing = _packing(container, uses)
        views = [program.containers[n] for n in sorted(operands) if program.containers[n].view_of == name]
        moved = [packing.view(v, container) for v in views] if packing is not None else []
        if packing is None or None in moved:
            continue
        packings[name] = packing
        desc = dt.Array(container.dtype, [packing.total], storage=container.desc.storage, transient=True)
        containers |= {c.name: c for c in (replace(container, desc=desc), *moved) if c is not None}

    def change(node: Node) -> Block:
        if not isinstance(node, Leaf):
            return (node,)
        body = (
            replace(i, index=(packings[i.container].place(i.index),))
            if isinstance(i, (Load, Store)) and i.container in packings
            else i
            for i in node.body
        )
        return (replace(node, body=tuple(body)),)

    if not packings:
        return program
    return replace(program, body=rewritten(program.body, change), containers={**program.containers, **containers})


def _packing(container: Container, uses: Sequence[Use]) -> Packing | None:
    if any(u.everything(container.shape) for u in uses):
        return None
    touched = [u.elements() for u in uses]
    if not touched or any(t.dim(isl.dim_type.param) for t in touched):
        return None
    box = " and ".join(f"0 <= e{d} < {n}" for d, n in enumerate(container.shape))
    names = ", ".join(f"e{d}" for d in range(len(container.shape)))
    elements = isl.Set(f"{{ [{names}] : {box} }}").intersect(_union(touched))
    return Packing.of(container, elements) if not elements.is_empty() else None


def _union(sets: Sequence[isl.Set]) -> isl.Set:
    found = sets[0]
    for other in sets[1:]:
        found = found.union(other)
    return found


def _uses(program: Program) -> dict[str, list[Use]]:
    """Of each array that may be packed, all its uses: elements in nests, and views in calls."""
    views = {c.name: c for c in program.containers.values() if c.view_of is not None}
    free = {n for n, c in program.containers.items() if _is_large(c)} - set(program.arguments)
    free -= {n for v in views.values() if (n := program.root(v.name)) != v.view_of}
    found: dict[str, list[Use]] = defaultdict(list)
    for node in walk(program.body):
        plain = isinstance(node, (Leaf, NodeCall))
        free -= local_names(node) | (set() if plain else used(node, program))
    for place, node in places(program.body) if free else ():
        outer = tuple((d.name, d.param) for d in place.dims)
        if isinstance(node, Leaf):
            dims = (*outer, *((p.name, p) for p in node.params))
            accesses = [i for i in node.body if isinstance(i, (Load, Store))]
            free -= {program.root(i.container) for i in accesses if i.container in views}
            for access in accesses:
                if access.container in free:
                    found[access.container].append(Use(access.index, dims, node.defined))
        elif isinstance(node, NodeCall):
            for region in (*node.inputs.values(), *node.outputs.values()):
                if region.container in free:
                    free.discard(region.container)
                elif region.container in views and views[region.container].view_of in free:
                    found[views[region.container].view_of or ""].append(_viewed(views[region.container], outer))
    return {n: uses for n, uses in found.items() if n in free}


def _viewed(view: Container, outer: tuple[tuple[str, Param | None], ...]) -> Use:
    assert view.view_subset is not None
    walked = [Param(f"operand_{d}", b, e, sympy.Integer(1)) for d, (b, e, _) in enumerate(view.view_subset.ranges)]
    return Use(tuple(sym(p.name) for p in walked), (*outer, *((p.name, p) for p in walked)), frozenset())


def _is_large(container: Container) -> bool:
    desc = container.desc
    if type(desc) is not dt.Array or not desc.transient or container.view_of is not None or desc.free_symbols:
        return False
    if desc.storage != dace.StorageType.Default or int(desc.total_size) * desc.dtype.bytes < LEAST:
        return False
    return sum(n != 1 for n in desc.shape) > 1 and int(sympy.prod(desc.shape)) == int(desc.total_size)
