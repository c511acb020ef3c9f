"""Index expressions: SymPy expressions over integer symbols, addressed by name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TypeAlias

import sympy
from dace import dtypes, subsets, symbolic

Expr: TypeAlias = "sympy.Expr"


def _order_types() -> None:
    """An order of DaCe's types, which its constants lack: SymPy sorts the factors of bounds that DaCe types by it."""
    if "__lt__" not in vars(dtypes.typeclass):
        dtypes.typeclass.__lt__ = lambda a, b: a.to_string() < b.to_string()
        dtypes.typeclass.__gt__ = lambda a, b: a.to_string() > b.to_string()


_order_types()


@cache
def sym(name: str) -> sympy.Symbol:
    """The integer symbol of that name."""
    return symbolic.symbol(name)


def to_expr(value: object) -> Expr:
    """A SymPy expression from an int, a string or an expression."""
    return symbolic.pystr_to_symbolic(str(value)) if isinstance(value, str) else sympy.sympify(value)


def substitute(expr: Expr, env: Mapping[str, Expr]) -> Expr:
    """``expr`` with symbols replaced by name (a symbol's assumptions do not matter)."""
    if not env:
        return expr
    found = {s: env[s.name] for s in expr.free_symbols if s.name in env and env[s.name] != s}
    if not found:
        return expr
    return expr.subs(found, simultaneous=True) if len(found) > 1 else expr.subs(found)


def free_names(*exprs: Expr) -> set[str]:
    """Names of the symbols in some expressions."""
    return {s.name for e in exprs for s in sympy.sympify(e).free_symbols}


def substitute_range(subset: subsets.Range, env: Mapping[str, Expr]) -> subsets.Range:
    """A subset with symbols replaced by name."""
    return subsets.Range([tuple(substitute(to_expr(x), env) for x in dim) for dim in as_range(subset).ranges])


def as_range(subset: subsets.Subset) -> subsets.Range:
    """Any DaCe subset as a range."""
    return subset if isinstance(subset, subsets.Range) else subsets.Range.from_indices(subset)


def is_zero(expr: Expr) -> bool:
    """Whether an expression is provably zero."""
    return expr == 0 or sympy.expand(expr) == 0


def same(a: Iterable[Expr], b: Iterable[Expr]) -> bool:
    """Whether two tuples of expressions are provably equal."""
    a, b = tuple(a), tuple(b)
    return len(a) == len(b) and all(x == y or is_zero(x - y) for x, y in zip(a, b, strict=False))


def to_ast(expr: Expr) -> ast.expr:
    """An index expression as Python code."""
    return ast.parse(symbolic.symstr(expr), mode="eval").body


def total(factors: Iterable[Expr]) -> Expr:
    """The product of some extents."""
    result: Expr = sympy.Integer(1)
    for factor in factors:
        result = result * factor
    return result
