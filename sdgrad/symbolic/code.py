"""Build, rename and search Python expression trees."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any


def names_in(expr: ast.AST) -> set[str]:
    """Return the names in an expression, without the names of functions."""
    return {n.id for n in walk_values(expr) if isinstance(n, ast.Name)}


def walk_values(expr: ast.AST):
    """Yield every node of an expression that denotes a value; callees are skipped."""
    yield expr
    for field, child in ast.iter_fields(expr):
        if isinstance(expr, ast.Call) and field == "func":
            continue
        for node in child if isinstance(child, list) else [child]:
            if isinstance(node, ast.AST):
                yield from walk_values(node)


def _with_parts(expr: ast.AST, change: Callable[[Any], Any]) -> Any:
    """Return a node whose children are changed; the node itself if all stay. A called function's name is no child."""
    new: dict[str, Any] = {}
    for field in expr._fields:
        old = getattr(expr, field, None)
        if field == "func" and isinstance(expr, ast.Call):
            continue
        if isinstance(old, (ast.expr, ast.keyword)):
            part: Any = change(old)
        elif isinstance(old, list):
            part = [change(x) if isinstance(x, ast.AST) else x for x in old]
            part = old if all(x is y for x, y in zip(part, old, strict=True)) else part
        else:
            continue
        if part is not old:
            new[field] = part
    return type(expr)(**{f: new.get(f, getattr(expr, f, None)) for f in expr._fields}) if new else expr


def rename(expr: ast.expr, env: Mapping[str, ast.expr]) -> ast.expr:
    """Return an expression with names replaced by expressions, except for names of functions; parts may be shared."""

    def changed(node: ast.AST) -> Any:
        if isinstance(node, ast.Name):
            return env.get(node.id, node)
        found = _with_parts(node, changed)
        return _grouped(found) if found is not node and isinstance(found, ast.BinOp) else found

    return changed(expr) if env else expr


def rename_names(expr: ast.expr, env: Mapping[str, str]) -> ast.expr:
    """Return a copy of the expression with names replaced by names."""
    relevant = {old: name(new) for old, new in env.items() if old != new}
    return rename(expr, relevant) if relevant.keys() & names_in(expr) else expr


def parse(text: str) -> ast.expr:
    """Return the tree of one expression."""
    return ast.parse(text, mode="eval").body


def name(identifier: str) -> ast.Name:
    return ast.Name(id=identifier, ctx=ast.Load())


def constant(value: Any) -> ast.Constant:
    return ast.Constant(value=value)


def number_of(expr: ast.expr) -> int | float | None:
    """Return the real number that an expression is; None if it is none."""
    try:
        value = ast.literal_eval(expr)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def is_atom(expr: ast.expr) -> bool:
    """True of names and constants, negative numbers too."""
    return isinstance(expr, (ast.Name, ast.Constant)) or number_of(expr) is not None


def call(function: str, *args: ast.expr) -> ast.expr:
    """Return a call of a function by its name; dots are attributes."""
    func: ast.expr = name(function.split(".")[0])
    for part in function.split(".")[1:]:
        func = ast.Attribute(value=func, attr=part, ctx=ast.Load())
    return ast.Call(func=func, args=list(args), keywords=[])


def binary(op: type[ast.operator], left: ast.expr, right: ast.expr) -> ast.expr:
    return _grouped(ast.BinOp(left=left, op=op(), right=right))


def _grouped(expr: ast.BinOp) -> ast.BinOp:
    """Return an operation whose text is itself: a power of the constant -1 prints as ``-1 ** i``, which is another."""
    base = expr.left.value if isinstance(expr.op, ast.Pow) and isinstance(expr.left, ast.Constant) else None
    if isinstance(base, (int, float)) and math.copysign(1, base) < 0:
        return ast.BinOp(
            left=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=-base)), op=expr.op, right=expr.right
        )
    return expr


def choose(condition: ast.expr, then: ast.expr, otherwise: ast.expr) -> ast.expr:
    return ast.IfExp(test=condition, body=then, orelse=otherwise)


def both(a: str | None, b: str | None) -> ast.expr | None:
    """Return the conjunction of two named conditions; None is true."""
    if a is None or b is None:
        known = a or b
        return name(known) if known else None
    return ast.BoolOp(op=ast.And(), values=[name(a), name(b)])


def callee(expr: ast.Call) -> str:
    """Return the last part of a called function's name: ``math.sin``, ``np.sin`` and ``sin`` are all ``sin``."""
    func = expr.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", ast.unparse(func))


def bottom_up(expr: ast.expr, visit: Callable[[ast.expr], ast.expr]) -> ast.expr:
    """Rebuild an expression from its leaves upwards by ``visit``; parts that stay are shared."""

    def rebuilt(node: ast.AST) -> Any:
        found = _with_parts(node, rebuilt)
        return visit(found) if isinstance(found, ast.expr) else found

    return rebuilt(expr)
