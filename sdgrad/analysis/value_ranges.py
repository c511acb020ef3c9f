"""Bound an index expression over the range of one of its symbols, by interval arithmetic (Moore 1966).

The bounds are the exact extremes where the expression is a monotone polynomial of the symbol.
"""

from __future__ import annotations

import itertools
from functools import reduce

import sympy
from dace import symbolic

from sdgrad.program.tree import Expr

Range = tuple[Expr, Expr]
"""A lower and an upper bound."""


class Unbounded(ValueError):
    """Report an expression without known bounds."""


def extreme(expr: Expr, name: str, low: Expr, high: Expr, largest: bool) -> Expr:
    """Bound an expression from above or below over a symbol's range.

    :raises Unbounded: the expression has a function without known bounds.
    """
    symbol = next((s for s in expr.free_symbols if s.name == name), None)
    return expr if symbol is None else bounds(expr, symbol, (low, high))[largest]


def bounds(expr: Expr, symbol: sympy.Symbol, over: Range) -> Range:
    """Bound an expression from both sides: exactly if it is monotone, else by interval arithmetic.

    :raises Unbounded: the expression has a function without known bounds.
    """
    if not expr.has(symbol):
        return expr, expr
    if (found := _monotone(expr, symbol, over)) is not None:
        return found
    inner = [bounds(a, symbol, over) for a in expr.args]
    if isinstance(expr, (sympy.Add, sympy.Min, sympy.Max, sympy.floor, sympy.ceiling)):
        return _increasing(expr, inner)
    if isinstance(expr, sympy.Mul):
        return reduce(_product, inner)
    if isinstance(expr, sympy.Pow) and isinstance(expr.exp, sympy.Integer) and expr.exp > 0:
        return _power(inner[0], int(expr.exp))
    if isinstance(expr, sympy.Mod):
        return _remainder(inner[1])
    if isinstance(expr, (symbolic.int_floor, symbolic.int_ceil)) and not expr.args[1].has(symbol):
        return _quotient(expr, inner[0])
    if isinstance(expr, sympy.Abs):
        return sympy.Integer(0), sympy.Max(-inner[0][0], inner[0][1])
    raise Unbounded(expr)


def _monotone(expr: Expr, symbol: sympy.Symbol, over: Range) -> Range | None:
    """Evaluate a polynomial at both ends, if its derivative has one known sign in between; None otherwise."""
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


def _increasing(expr: Expr, operands: list[Range]) -> Range:
    """Bound a function that increases with each of its operands."""
    return expr.func(*(low for low, _ in operands)), expr.func(*(high for _, high in operands))


def _quotient(expr: Expr, numerator: Range) -> Range:
    """Bound a rounded quotient with an invariant denominator. An unknown sign is taken for that of a size."""
    low, high = numerator[::-1] if expr.args[1].is_negative else numerator
    return expr.func(low, expr.args[1]), expr.func(high, expr.args[1])


def _product(a: Range, b: Range) -> Range:
    """Bound a product by the products of the bounds."""
    corners = [x * y for x, y in itertools.product(dict.fromkeys(a), dict.fromkeys(b))]
    return sympy.Min(*corners), sympy.Max(*corners)


def _power(base: Range, exponent: int) -> Range:
    """Bound a power with a positive integer exponent."""
    ends = base[0] ** exponent, base[1] ** exponent
    if exponent % 2 or base[0].is_nonnegative:
        return ends
    return sympy.Integer(0), sympy.Max(*ends)


def _remainder(modulus: Range) -> Range:
    """Bound a remainder, which has the sign of the modulus. An unknown sign is taken for that of a size."""
    zero, one = sympy.Integer(0), sympy.Integer(1)
    if modulus[1].is_negative:
        return modulus[0] + one, zero
    return zero, modulus[1] - one
