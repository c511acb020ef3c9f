"""Handle index expressions: SymPy expressions over integer symbols, which are addressed by name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import TypeAlias

import sympy
from dace import dtypes, subsets, symbolic

Expr: TypeAlias = "sympy.Expr"


def _order_types() -> None:
    """Define an order of DaCe's types: SymPy sorts the factors of bounds that DaCe types by it."""
    if "__lt__" not in vars(dtypes.typeclass):
        dtypes.typeclass.__lt__ = lambda a, b: a.to_string() < b.to_string()
        dtypes.typeclass.__gt__ = lambda a, b: a.to_string() > b.to_string()


_order_types()


@cache
def sym(name: str) -> sympy.Symbol:
    """Return the integer symbol of a name."""
    return symbolic.symbol(name)


def to_expr(value: object) -> Expr:
    """Return a SymPy expression for an integer, a string or an expression."""
    return symbolic.pystr_to_symbolic(str(value)) if isinstance(value, str) else sympy.sympify(value)


def substitute(expr: Expr, env: Mapping[str, Expr]) -> Expr:
    """Return ``expr`` with symbols replaced by name; a symbol's assumptions do not matter."""
    if not env:
        return expr
    if isinstance(expr, sympy.Symbol):
        return sympy.sympify(env[expr.name]) if expr.name in env else expr
    found = {s: sympy.sympify(env[s.name]) for s in expr.free_symbols if s.name in env and env[s.name] != s}
    return expr.xreplace(found) if found else expr  # ``subs`` would try more, and find the same


def free_names(*exprs: Expr) -> set[str]:
    """Return the names of the symbols in some expressions."""
    return set().union(*map(_names_of, exprs))


@lru_cache(maxsize=1 << 14)
def _names_of(expr: Expr) -> frozenset[str]:
    return frozenset(s.name for s in sympy.sympify(expr).free_symbols)


def substitute_range(subset: subsets.Range, env: Mapping[str, Expr]) -> subsets.Range:
    """Return a subset with symbols replaced by name."""
    return subsets.Range([tuple(substitute(to_expr(x), env) for x in dim) for dim in as_range(subset).ranges])


def as_range(subset: subsets.Subset) -> subsets.Range:
    """Return any of DaCe's subsets as a range."""
    return subset if isinstance(subset, subsets.Range) else subsets.Range.from_indices(subset)


def is_zero(expr: Expr) -> bool:
    """True if an expression is provably zero."""
    return expr == 0 or (not isinstance(expr, (int, sympy.Integer)) and sympy.expand(expr) == 0)


def same(a: Iterable[Expr], b: Iterable[Expr]) -> bool:
    """True if two tuples of expressions are provably equal."""
    a, b = tuple(a), tuple(b)
    return len(a) == len(b) and all(x == y or _differ_by_zero(x, y) for x, y in zip(a, b, strict=False))


@lru_cache(maxsize=1 << 14)
def _differ_by_zero(a: Expr, b: Expr) -> bool:
    return is_zero(a - b)


@lru_cache(maxsize=1 << 12)
def to_ast(expr: Expr) -> ast.expr:
    """Return an index expression as Python code."""
    return ast.parse(symbolic.symstr(expr), mode="eval").body


def total(factors: Iterable[Expr]) -> Expr:
    """Return the product of some extents."""
    result: Expr = sympy.Integer(1)
    for factor in factors:
        result = result * factor
    return result
