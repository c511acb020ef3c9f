"""Make the trees of converted code: calls of operators, functions without arguments, names."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from sdgrad.convert.lowering import PREFIX
from sdgrad.convert.scopes import own_nodes

OPERATORS = f"{PREFIX}operators"


def is_plain(target: ast.expr) -> bool:
    """True if an assignment to a target is left to Python: names."""
    stores = (n for n in ast.walk(target) if isinstance(n, ast.Subscript | ast.Attribute))
    return not any(isinstance(n.ctx, ast.Store) for n in stores)


def computes(value: ast.expr) -> bool:
    """True of expressions whose value may be new: neither a name nor a constant."""
    return not isinstance(value, (ast.Name, ast.Constant))


def names_of(target: ast.expr) -> list[str]:
    """Return the names of a target that binds nothing else: one, or those of a tuple; none of other targets."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return [p.id for p in parts if isinstance(p, ast.Name)] if all(isinstance(p, ast.Name) for p in parts) else []


def thunk(value: ast.expr) -> ast.expr:
    """Return a function without arguments that computes a value; what binds a name is computed where it stands."""
    nothing = ast.arguments([], [], None, [], [], None, [])
    return located(operator_call("already", value) if binds(value) else ast.Lambda(nothing, value), value)


def binds(*values: ast.expr) -> bool:
    """True if expressions bind names or stop a generator: they cannot move into a function of their own."""
    return any(isinstance(n, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) for n in own_nodes(values))


def named(name: str, ctx: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(name, ctx or ast.Load())


def attribute_of(name: str, attribute: str) -> ast.Attribute:
    return ast.Attribute(named(name), attribute, ast.Load())


def method_call(name: str, method: str, *args: ast.expr) -> ast.Call:
    return ast.Call(attribute_of(name, method), list(args), [])


def operator_call(operator: str, *args: ast.expr) -> ast.Call:
    return method_call(OPERATORS, operator, *args)


def constants(names: Iterable[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(n) for n in names], ast.Load())


def located(node: Any, at: ast.AST) -> Any:
    """Give a new node the place of an old one; what is new inside of it inherits that in the end."""
    return ast.copy_location(node, at)
