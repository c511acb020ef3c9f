"""Compute sums whose range grows by one term from element to element as prefix sums.

All ``y[i] = sum(x[: i + 1])`` take n additions instead of n * (n + 1) / 2 (Blelloch 1990)::

    map i=0:n, k=0:i+1:              once = 0; once += x[0]; y[0] = once
      y[i] += x[k]                   loop t = 1 .. n - 1:
                                       once += x[t]; y[t] = once

The analysis declines if more than one pair of ranges depends on each other, if a range has gaps, or if it grows by
more than one term.
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
    """Elements by ``row``, each of them a sum over ``term``, whose range grows by one from row to row.

    :param params: the parameters of the leaf, with the bounds of ``term`` given by ``row``.
    :param slope: 1 if the range grows with the row, and -1 if it shrinks.
    """

    params: tuple[Param, ...]
    row: Param
    term: Param
    slope: int

    @property
    def first(self) -> Expr:
        """Return the row with the fewest terms."""
        return self.row.start if self.slope == 1 else self.row.stop

    def terms(self, row: Expr) -> Param:
        """Return the range of the terms of a row."""
        by = {self.row.name: row}
        return replace(self.term, start=substitute(self.term.start, by), stop=substitute(self.term.stop, by))

    def newest(self, row: Expr) -> Expr:
        """Return the term that a row adds to those of the row before it."""
        moving = self.term.start if self.row.name in free_names(self.term.start) else self.term.stop
        return substitute(moving, {self.row.name: row})

    def nodes(self, one: Leaf, many: Leaf, names: Names) -> Iterator[Node]:
        """Yield the first row's sum, and a loop that adds one term and takes the sum for each other row.

        :param one: a leaf over ``term`` that adds to the sum, and stores nothing else.
        :param many: a leaf over ``row`` that reads the sum for its elements.
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
    """Return the one pair of parameters whose ranges depend on each other as prefix sums; None if they are none.

    :param rows: the parameters of elements, in contrast to those that are summed over.
    """
    found = _row_and_term(params, rows)
    if found is None:
        return None
    params, row, term = found
    slope = _growth(row, term, {p.name for p in params})
    if slope is None:
        return None
    sums = Running(params, row, term, slope)
    fewest = sums.terms(sums.first).count
    return sums if fewest.is_nonnegative and (row.count - 1).is_nonnegative else None


def _row_and_term(params: tuple[Param, ...], rows: set[str]) -> tuple[tuple[Param, ...], Param, Param] | None:
    """Return the parameters with the range of the term given by the row, and these two; None if there are none."""
    pair = _dependent_pair(params)
    if pair is None:
        return None
    outer, inner = pair
    if inner.name in rows:
        pair = exchanged(outer, inner)
        if pair is None:
            return None
        outer, inner = pair
        params = tuple({inner.name: inner, outer.name: outer}.get(p.name, p) for p in params)
    return (params, outer, inner) if outer.name in rows and inner.name not in rows else None


def _dependent_pair(params: tuple[Param, ...]) -> tuple[Param, Param] | None:
    """Return a parameter and the only one whose range depends on another; None if there are others, or steps."""
    names = {p.name for p in params}
    bound = [p for p in params if free_names(p.start, p.stop, p.step) & names]
    if len(bound) != 1 or any(p.step != 1 for p in params):
        return None
    (inner,) = bound
    return next(p for p in params if p.name in free_names(inner.start, inner.stop)), inner


def _growth(row: Param, term: Param, names: set[str]) -> int | None:
    """Return by how many terms the range grows from row to row, 1 or -1; None for others and for other dependences."""
    by = sym(row.name)
    ends = (term.stop, term.start)
    slopes = [sympy.expand(e).coeff(by) for e in ends]
    others = free_names(*(sympy.expand(e - s * by) for e, s in zip(ends, slopes, strict=True)))
    if others & names or sorted(map(abs, slopes)) != [0, 1]:
        return None
    return int(slopes[0] - slopes[1])


def _without(param: Param, leaf: Leaf) -> tuple[Param, ...]:
    """Return the other parameters of a leaf."""
    return tuple(p for p in leaf.params if p.name != param.name)


def _at(leaf: Leaf, param: Param, value: Expr) -> Leaf:
    """Return the instances of a leaf at one value of a parameter."""
    body = tuple(rename_instr(i, {}, {param.name: value}) for i in leaf.body)
    return replace(leaf, params=_without(param, leaf), body=body)
