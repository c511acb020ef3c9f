"""Bound integer expressions over loop indices, to know whether slices lie in their arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, TypeAlias

import sympy
from dace.symbolic import int_floor

from sdgrad.symbolic.expr import sym

Bound: TypeAlias = sympy.Expr | None
MOST_PARTS = 64
"""Sums that a sum of minima is written as."""


@dataclass
class IndexRanges:
    """The least and the largest values of loop indices, over the indices of outer loops; None where unknown.

    :param named: expressions that have a symbol of their own, with the block where it is assigned.
    :param means: these symbols.
    :param by_data: symbols of the ends of slices that data decide.
    :param trusted: an algorithm of ours is recorded: what it indexes by counts from 0, and lies inside.
    """

    known: dict[str, tuple[Bound, Bound]] = field(default_factory=dict)
    named: dict[sympy.Expr, tuple[str, list]] = field(default_factory=dict)
    means: dict[sympy.Symbol, sympy.Expr] = field(default_factory=dict)
    by_data: set[str] = field(default_factory=set)
    trusted: bool = False

    def add(self, symbol: str, least: Any, most: Any = None) -> None:
        """Remember the range of a new index: integers, or recorded ones."""
        self.known[symbol] = (_expr(least), _expr(most))

    def least(self, expr: Any) -> Bound:
        """Return a lower bound of an expression, over symbols that are no indices; None if none is known."""
        return self._extreme(expr, 0)

    def most(self, expr: Any) -> Bound:
        """Return an upper bound of an expression, over symbols that are no indices; None if none is known."""
        return self._extreme(expr, 1)

    def is_never_negative(self, expr: Any) -> bool:
        """True if an expression is certainly not negative."""
        least = self.least(expr)
        return least is not None and bool(least.is_nonnegative)

    def may_be_short(self, extent: Any) -> bool:
        """True of an extent that data decide: only a run knows whether there are elements."""
        return not isinstance(extent, int) and any(str(s) in self.by_data for s in extent.free_symbols)

    def name(self, expr: sympy.Expr, symbol: str, block: list) -> None:
        """Remember that an expression is assigned to a symbol in a block."""
        self.named[expr] = symbol, block
        self.means[sym(symbol)] = plain(expr).xreplace(self.means)

    def _extreme(self, expr: Any, side: int) -> Bound:
        """Return a bound: of a minimum (side 0) the least bound of its parts, and of a maximum any of theirs."""
        whole = plain(expr).xreplace(self.means)
        ends: list[Bound] = []
        for part in _parts(whole, side):
            found = [e for p in _parts(part, 1 - side) if (e := self._without_indices(p, side)) is not None]
            ends.append((sympy.Min if side else sympy.Max)(*found) if found else None)
        return None if any(e is None for e in ends) else (sympy.Max if side else sympy.Min)(*ends)

    def _without_indices(self, part: sympy.Expr, side: int) -> Bound:
        found: Bound = part
        for name in reversed([*self.known]):  # inner loops first: their ranges depend on outer indices
            if found is not None and sym(name) in found.free_symbols:
                found = _at_end(found, sym(name), self.known[name], side)
        return found


def _parts(expr: sympy.Expr, side: int) -> list[sympy.Expr]:
    """Return expressions whose minimum (side 0) or maximum an expression is: a sum of minima is a minimum of sums."""
    if isinstance(expr, sympy.Max if side else sympy.Min):
        return [p for a in expr.args for p in _parts(a, side)]
    if isinstance(expr, sympy.Add):
        rows = [_parts(a, side) for a in expr.args]
        return [sympy.Add(*row) for row in product(*rows)] if prod(map(len, rows)) <= MOST_PARTS else [expr]
    number, other = expr.as_coeff_Mul()
    if number != 1 and other.has(sympy.Max, sympy.Min):
        return [number * p for p in _parts(other, side if number > 0 else 1 - side)]
    return [expr]


def _at_end(expr: sympy.Expr, symbol: sympy.Symbol, ends: tuple[Bound, Bound], side: int) -> Bound:
    """Return a bound of an expression without a symbol, which lies between two ends."""
    if not expr.has(symbol):
        return expr
    factor = expr.coeff(symbol)
    if factor.is_number and not (rest := sympy.expand(expr - factor * symbol)).has(symbol):
        end = ends[side if factor > 0 else 1 - side]
        return None if end is None else sympy.expand(factor * end + rest)
    number, other = expr.as_coeff_Mul()
    if number != 1:
        found = _at_end(other, symbol, ends, side if number > 0 else 1 - side)
        return None if found is None else number * found
    if isinstance(expr, sympy.Mod) and expr.args[1].is_positive:
        return (expr.args[1] - 1) * side
    if isinstance(expr, int_floor) and expr.args[1].is_positive:
        found = _at_end(expr.args[0], symbol, ends, side)
        return None if found is None else int_floor(found, expr.args[1])
    if not isinstance(expr, (sympy.Add, sympy.Max, sympy.Min)):
        return None
    parts = [_at_end(a, symbol, ends, side) for a in expr.args]
    return None if any(p is None for p in parts) else sympy.expand(expr.func(*parts))


def plain(expr: Any) -> sympy.Expr:
    """Return an expression over symbols that are equal if their names are: some come with assumptions."""
    found = sympy.sympify(expr)
    return found.xreplace({s: sym(s.name) for s in found.free_symbols})


def _expr(value: Any) -> Bound:
    """Return an integer, or what a recorded one is over symbols."""
    given = value if isinstance(value, int) else getattr(value, "expr", None)
    return None if given is None else plain(given)
