"""Pack temporaries of which only a triangle or a band is used: store the used part of each row, row after row.

Packed storage as LAPACK has it for triangular matrices (Anderson et al. 1999), for parts bounded by affine functions of
the row. A loop that saves ``y[:k]`` in iteration ``k`` fills a triangle of its tape, and a rectangle wastes half::

    local tape: float64[100, 100]                local tape: float64[5050]
    loop k = 1 .. 99:                            loop k = 1 .. 99:
      map i=0:k: tape[k, i] = y[i]                 map i=0:k: tape[k * (k + 1) / 2 + i + 1] = y[i]

The set of used elements is a union of the images of affine accesses (isl, Verdoolaege 2010). Declines if an access is
not affine, if some access covers the whole array, or if packing saves too little.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

import islpy as isl
import sympy
from dace import data as dt
from dace import subsets
from dace.symbolic import int_floor

from sdgrad.analysis.access_relations import access_relation
from sdgrad.analysis.enclosing import places
from sdgrad.analysis.uses import used
from sdgrad.config import config
from sdgrad.program.own_memory import bytes_of, has_own_memory
from sdgrad.program.tree import (
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
"""The number of a row, in the bounds and the offset of a row."""


Domain: TypeAlias = "tuple[tuple[str, Param | None], ...]"
"""The names of loop variables and parameters, each with its range; None if the range is unknown."""


@dataclass(frozen=True)
class Packing:
    """A packed layout of an array: for each row, a box of the inner dimensions whose bounds are affine in the row.

    :param outer: the dimensions before the row, slowest first; they stay dense.
    :param row: the dimension that numbers the rows.
    :param inner: for each dimension after the row, slowest first: its first index and its extent, in terms of ``ROW``.
    :param places: the number of elements before a row, in terms of ``ROW``.
    :param size: the number of elements of all rows.
    :param shape: the shape before packing.
    """

    outer: tuple[int, ...]
    row: int
    inner: tuple[tuple[int, Expr, Expr], ...]
    places: Expr
    size: int
    shape: tuple[int, ...]

    @staticmethod
    def of(container: Container, elements: isl.Set) -> Packing | None:
        """Find the smallest packed layout that holds a set of elements; None if it saves too little memory."""
        shape = tuple(int(n) for n in container.shape)
        order = sorted(range(len(shape)), key=lambda d: -container.desc.strides[d])
        found = (_rows(elements, shape, order, k) for k in range(len(order) - 1) if shape[order[k]] > 1)
        best = min(found, key=lambda p: p.total, default=None)
        if best is None or best.total > config.machine.packed_share * int(container.desc.total_size):
            return None
        return best

    @property
    def total(self) -> int:
        """Return the number of elements of the packed array."""
        return self.size * int(sympy.prod([self.shape[d] for d in self.outer]))

    @property
    def strides(self) -> dict[int, Expr]:
        """Return the stride of each inner dimension, in terms of ``ROW``."""
        found: dict[int, Expr] = {}
        step: Expr = sympy.Integer(1)
        for d, _, width in reversed(self.inner):
            found[d] = step
            step = step * width
        return found

    def place(self, index: Index) -> Expr:
        """Linearize a subscript: the position of an element in the packed array."""
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
        """Rewrite a view of a part of one row as a view of the packed array; None if it spans several rows."""
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
    """Match the dimensions of a view with those of its base, by their strides; None if that is ambiguous."""
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
    """Lay out rows along the ``k``-th dimension of an order, each as long as its used part."""
    row = order[k]
    inner = [(d, *_band(elements, d, row, shape[row])) for d in order[k + 1 :]]
    each = sympy.expand(sympy.prod([width for _, _, width in inner]))
    sums = _sum_of_rows(each)
    size = int(sums.subs(ROW, shape[row]))
    return Packing(tuple(order[:k]), row, tuple(inner), sums, size, shape)


def _sum_of_rows(each: Expr) -> Expr:
    """Sum a polynomial over all rows before ``ROW`` (Faulhaber's formula, DLMF 24.4.7), 0.2 s faster than SymPy."""
    powers = [(c, sympy.bernoulli(p + 1, ROW), p + 1) for (p,), c in sympy.Poly(each, ROW).terms()]
    return sympy.expand(sum((c * (b - b.subs(ROW, 0)) / n for c, b, n in powers), sympy.Integer(0)))


def _band(elements: isl.Set, dim: int, row: int, rows: int) -> tuple[Expr, Expr]:
    """Bound the subscripts of a dimension by the two lines with the least area: the first index and the extent."""
    lows, highs = (
        [(m, _extreme(elements, dim, row, m, upper)) for m in _slopes(elements, dim, row, upper)] for upper in (0, 1)
    )
    _, start, width = min((_part(low, high, rows) for low in lows for high in highs), key=lambda x: x[0])
    return start, width


def _part(low: tuple[int, int], high: tuple[int, int], rows: int) -> tuple[int, Expr, Expr]:
    """Measure the band between two lines ``(slope, intercept)``: its elements, and a row's first index and extent.

    Every row has one element at least, even if none is used: BLAS takes no stride of zero.
    """
    slope = high[0] - low[0]
    width = high[1] - low[1] + 1
    lacking = max(0, 1 - width, 1 - (width + slope * (rows - 1)))
    width, start = width + lacking, low[1] - lacking
    total = width * rows + slope * rows * (rows - 1) // 2
    return total, start + low[0] * ROW, width + slope * ROW


def _slopes(elements: isl.Set, dim: int, row: int, largest: int) -> set[int]:
    """Return the slopes of candidate bounding lines: zero, and the secant from the first to the last used row."""
    rows = [_extreme(elements, row, row, 0, last) for last in (0, 1)]
    ends = [_extreme(elements.fix_val(isl.dim_type.set, row, k), dim, row, 0, largest) for k in rows]
    steep = Fraction(ends[1] - ends[0], max(rows[1] - rows[0], 1))
    return {0, math.floor(steep), math.ceil(steep)}


def _extreme(elements: isl.Set, dim: int, row: int, slope: int, largest: int) -> int:
    """Return the minimum or the maximum of ``index - slope * row`` over a set of elements."""
    names = ", ".join(f"e{k}" for k in range(elements.dim(isl.dim_type.set)))
    lines = elements.apply(isl.Map(f"{{ [{names}] -> [e{dim} - {slope} * e{row}] }}"))
    value = lines.dim_max_val(0) if largest else lines.dim_min_val(0)
    return int(value.to_python())


# --- what is used ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Use:
    """One access: its subscripts, its iteration domain, and the names in subscripts that only a run knows."""

    index: Index
    dims: Domain
    local: frozenset[str]

    def everything(self, shape: Index) -> bool:
        """True if the access covers all of an array, as far as constant bounds show."""
        ranges = {n: p for n, p in self.dims if p is not None}
        for i, n in zip(self.index, shape, strict=True):
            p = ranges.get(getattr(i, "name", ""))
            if n != 1 and (p is None or {p.start, p.stop} != {sympy.Integer(0), n - 1}):
                return False
        return True

    def elements(self) -> isl.Set:
        """Return the image of the access: a superset of the elements that it touches."""
        return access_relation(self.index, self.dims, self.local, len(self.index)).elements


def pack_triangles(program: Program) -> Program:
    """Pack the triangular and banded temporaries; the program is unchanged if there are none."""
    packings: dict[str, Packing] = {}
    containers: dict[str, Container] = {}
    operands = {n for node in walk(program.body) if isinstance(node, NodeCall) for n in reads(node) | writes(node)}
    for name, uses in Uses.of(program).found.items():
        views = [program.containers[n] for n in sorted(operands) if program.containers[n].view_of == name]
        found = _packed(program.containers[name], uses, views)
        if found is not None:
            packings[name], packed = found
            containers |= {c.name: c for c in packed}
    if not packings:
        return program
    body = rewritten(program.body, lambda node: (_linearized(node, packings),))
    return replace(program, body=body, containers={**program.containers, **containers})


def _packed(
    container: Container, uses: Sequence[Use], views: Sequence[Container]
) -> tuple[Packing, list[Container]] | None:
    """Pack an array and its views; None if there is no packed layout, or a view spans several rows."""
    packing = _packing(container, uses)
    if packing is None:
        return None
    moved = [m for v in views if (m := packing.view(v, container)) is not None]
    if len(moved) < len(views):
        return None
    desc = dt.Array(container.dtype, [packing.total], storage=container.desc.storage, transient=True)
    return packing, [replace(container, desc=desc), *moved]


def _linearized(node: Node, packings: Mapping[str, Packing]) -> Node:
    """Replace the subscripts of packed arrays in a leaf by positions; other nodes are unchanged."""
    if not isinstance(node, Leaf):
        return node
    body = (
        replace(i, index=(packings[i.container].place(i.index),))
        if isinstance(i, (Load, Store)) and i.container in packings
        else i
        for i in node.body
    )
    return replace(node, body=tuple(body))


def _packing(container: Container, uses: Sequence[Use]) -> Packing | None:
    """Choose the packed layout of an array by its accesses; None if some access is not affine, or covers it all."""
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
    """Unite sets of one space."""
    found = sets[0]
    for other in sets[1:]:
        found = found.union(other)
    return found


@dataclass
class Uses:
    """All accesses to the arrays that may be packed: by elements in nests, and by views as operands of calls.

    ``candidates`` shrinks while the program is searched; at the end ``found`` has only accesses to candidates.
    """

    views: dict[str, Container]
    candidates: set[str]
    found: dict[str, list[Use]] = field(default_factory=lambda: defaultdict(list))

    @staticmethod
    def of(program: Program) -> Uses:
        """Collect the accesses to the large temporaries of a program."""
        views = {c.name: c for c in program.containers.values() if c.view_of is not None}
        uses = Uses(views, _candidates(program, views))
        for place, node in places(program.body) if uses.candidates else ():
            outer = tuple((d.name, d.param) for d in place.dims)
            if isinstance(node, Leaf):
                uses.candidates -= {program.root(i.container) for i in node.accesses if i.container in views}
                uses.add_leaf(node, outer)
            elif isinstance(node, NodeCall):
                uses.add_call(node, outer)
        uses.found = {n: found for n, found in uses.found.items() if n in uses.candidates}
        return uses

    def add_leaf(self, leaf: Leaf, outer: Domain) -> None:
        """Add the accesses of a leaf."""
        domain = (*outer, *((p.name, p) for p in leaf.params))
        for access in leaf.accesses:
            if access.container in self.candidates:
                self.found[access.container].append(Use(access.index, domain, leaf.defined))

    def add_call(self, call: NodeCall, outer: Domain) -> None:
        """Add the operands of a call that are views; an operand without a view is no candidate any more."""
        for region in (*call.inputs.values(), *call.outputs.values()):
            view = self.views.get(region.container)
            if region.container in self.candidates:
                self.candidates.discard(region.container)
            elif view is not None and view.view_of in self.candidates:
                self.found[view.view_of].append(_viewed(view, outer))


def _candidates(program: Program, views: Mapping[str, Container]) -> set[str]:
    """Return the large temporaries that only leaves and calls use, without views of views and locals of scopes."""
    found = {n for n, c in program.containers.items() if _is_large(c)} - set(program.arguments)
    found -= {n for v in views.values() if (n := program.root(v.name)) != v.view_of}
    for node in walk(program.body):
        found -= local_names(node)
        if not isinstance(node, (Leaf, NodeCall)):
            found -= used(node, program)
    return found


def _viewed(view: Container, outer: Domain) -> Use:
    """Describe a view as an access to all elements of its range."""
    assert view.view_subset is not None
    walked = [Param(f"operand_{d}", b, e, sympy.Integer(1)) for d, (b, e, _) in enumerate(view.view_subset.ranges)]
    return Use(tuple(sym(p.name) for p in walked), (*outer, *((p.name, p) for p in walked)), frozenset())


def _is_large(container: Container) -> bool:
    """True if a container is a dense temporary of fixed size, of two dimensions at least, and large enough to pack."""
    desc = container.desc
    if not has_own_memory(container) or bytes_of(container) < LEAST:
        return False
    return sum(n != 1 for n in desc.shape) > 1 and int(sympy.prod(desc.shape)) == int(desc.total_size)
