"""Sums that have one term more from element to element: each is the one before it, and that term.

All ``y[i] = sum(x[: i + 1])`` are n additions instead of n * n / 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import sympy

from sdgrad.optimize.locality.loop_interchange import exchanged
from sdgrad.program.leaves import as_loops, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import Leaf, Node, Param
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import Expr, free_names, substitute, sym


@dataclass(frozen=True)
class Running:
    """Elements by ``row``, of which each sums over ``term``, whose range grows by one along ``slope``.

    :param params: those of the leaf, with the bounds of ``term`` given by ``row``.
    """

    params: tuple[Param, ...]
    row: Param
    term: Param
    slope: int

    @property
    def first(self) -> Expr:
        """The row with the fewest terms."""
        return self.row.start if self.slope == 1 else self.row.stop

    def terms(self, row: Expr) -> Param:
        by = {self.row.name: row}
        return replace(self.term, start=substitute(self.term.start, by), stop=substitute(self.term.stop, by))

    def newest(self, row: Expr) -> Expr:
        """The term that a row has and the one before has not."""
        moving = self.term.start if self.row.name in free_names(self.term.start) else self.term.stop
        return substitute(moving, {self.row.name: row})

    def nodes(self, one: Leaf, many: Leaf, names: Names) -> Iterator[Node]:
        """The elements in order.

        :param one: a leaf over ``term`` that adds to the sum, and stores nothing else.
        :param many: a leaf over ``row`` that takes the sum for its elements.
        """
        (store,) = one.stores
        yield begin(store, replace(one, params=_without(self.term, one)), code.constant(0), names.fresh("v"))
        terms = self.terms(self.first)
        if terms.count != 0:
            yield replace(one, params=tuple(terms if p.name == self.term.name else p for p in one.params))
        yield _at(many, self.row, self.first)
        if self.row.count != 1:
            step = Param(names.fresh(self.row.name), sympy.Integer(1), self.row.count - 1, sympy.Integer(1))
            row = sympy.expand(self.first + self.slope * sym(step.name))
            body = (_at(one, self.term, self.newest(row)), _at(many, self.row, row))
            yield from as_loops([step], body, one.source)


def running(params: tuple[Param, ...], rows: set[str]) -> Running | None:
    """The one pair of parameters whose ranges depend on each other, if rows of it are sums that run.

    :param rows: the parameters of elements, in contrast to those that are summed over.
    """
    names = {p.name for p in params}
    bound = [p for p in params if free_names(p.start, p.stop, p.step) & names]
    if len(bound) != 1 or any(p.step != 1 for p in params):
        return None
    (inner,) = bound
    outer = next(p for p in params if p.name in free_names(inner.start, inner.stop))
    if inner.name in rows:
        pair = exchanged(outer, inner)
        if pair is None:
            return None
        inner, outer = pair[1], pair[0]
        params = tuple({inner.name: inner, outer.name: outer}.get(p.name, p) for p in params)
    if outer.name not in rows or inner.name in rows:
        return None
    by = sym(outer.name)
    slopes = [sympy.expand(e).coeff(by) for e in (inner.stop, inner.start)]
    others = free_names(*(sympy.expand(e - s * by) for e, s in zip((inner.stop, inner.start), slopes, strict=True)))
    slope = slopes[0] - slopes[1]
    if others & names or sorted(map(abs, slopes)) != [0, 1]:
        return None
    found = Running(params, outer, inner, int(slope))
    fewest = found.terms(found.first).count
    return found if fewest.is_nonnegative and (outer.count - 1).is_nonnegative else None


def _without(param: Param, leaf: Leaf) -> tuple[Param, ...]:
    return tuple(p for p in leaf.params if p.name != param.name)


def _at(leaf: Leaf, param: Param, place: Expr) -> Leaf:
    """The instances of a leaf at one value of a parameter."""
    body = tuple(rename_instr(i, {}, {param.name: place}) for i in leaf.body)
    return replace(leaf, params=_without(param, leaf), body=body)
