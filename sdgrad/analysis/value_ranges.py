"""The least and the greatest value of an index expression over the range of one of its symbols."""

from __future__ import annotations

import itertools
from functools import reduce

import sympy
from dace import symbolic

from sdgrad.program.tree import Expr

Range = tuple[Expr, Expr]


class Unbounded(ValueError):
    """An expression of which nothing is known."""


def extreme(expr: Expr, name: str, low: Expr, high: Expr, largest: bool) -> Expr:
    """An upper bound of an expression over a symbol's range, or a lower one; where it is monotone, its extreme.

    :raises Unbounded: it holds a function that may have any value.
    """
    symbol = next((s for s in expr.free_symbols if s.name == name), None)
    return expr if symbol is None else bounds(expr, symbol, (low, high))[largest]


def bounds(expr: Expr, symbol: sympy.Symbol, over: Range) -> Range:
    """Interval arithmetic (Moore, *Interval Analysis*, 1966), exact where an expression is monotone."""
    if not expr.has(symbol):
        return expr, expr
    if (found := _monotone(expr, symbol, over)) is not None:
        return found
    inner = [bounds(a, symbol, over) for a in expr.args]
    if isinstance(expr, (sympy.Add, sympy.Min, sympy.Max, sympy.floor, sympy.ceiling)):
        return expr.func(*(a for a, _ in inner)), expr.func(*(b for _, b in inner))
    if isinstance(expr, sympy.Mul):
        return reduce(_product, inner)
    if isinstance(expr, sympy.Pow) and isinstance(expr.exp, sympy.Integer) and expr.exp > 0:
        return _power(inner[0], int(expr.exp))
    if isinstance(expr, sympy.Mod):
        return _remainder(inner[1])
    if isinstance(expr, (symbolic.int_floor, symbolic.int_ceil)) and not expr.args[1].has(symbol):
        ends = inner[0] if not expr.args[1].is_negative else inner[0][::-1]
        return expr.func(ends[0], expr.args[1]), expr.func(ends[1], expr.args[1])
    if isinstance(expr, sympy.Abs):
        return sympy.Integer(0), sympy.Max(-inner[0][0], inner[0][1])
    raise Unbounded(expr)


def _monotone(expr: Expr, symbol: sympy.Symbol, over: Range) -> Range | None:
    """The values at both ends, for a polynomial whose slope has one sign in between; None where that is not known."""
    if not expr.is_polynomial(symbol):
        return None
    slope = sympy.diff(expr, symbol)
    signs = [slope] if slope.is_number else [slope.subs(symbol, end) for end in over]
    if not all(s.is_number for s in signs) or sympy.degree(slope, symbol) > 1 and not slope.is_number:
        return None
    ends = expr.subs(symbol, over[0]), expr.subs(symbol, over[1])
    if all(s >= 0 for s in signs):
        return ends
    return ends[::-1] if all(s <= 0 for s in signs) else None


def _product(a: Range, b: Range) -> Range:
    corners = [x * y for x, y in itertools.product(dict.fromkeys(a), dict.fromkeys(b))]
    return sympy.Min(*corners), sympy.Max(*corners)


def _power(base: Range, exponent: int) -> Range:
    ends = base[0] ** exponent, base[1] ** exponent
    if exponent % 2 or base[0].is_nonnegative:
        return ends
    return sympy.Integer(0), sympy.Max(*ends)


def _remainder(modulus: Range) -> Range:
    """Remainders have the sign of the modulus; one whose sign is not known is a size."""
    zero, one = sympy.Integer(0), sympy.Integer(1)
    if modulus[1].is_negative:
        return modulus[0] + one, zero
    return zero, modulus[1] - one
