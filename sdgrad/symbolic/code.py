"""Build, rename and search Python expression trees."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any


def names_in(expr: ast.AST) -> set[str]:
    """Return the names in an expression, without the names of functions."""
    return {n.id for n in walk_values(expr) if isinstance(n, ast.Name)}


_PARTS: dict[type[ast.AST], tuple[str, ...]] = {}  # by the kind of a node: its fields that may hold values
_LOAD = ast.Load()


def _fields_with_parts(expr: ast.AST) -> tuple[str, ...]:
    """Return the fields of a node that may hold values; a called function's name is none."""
    kind = type(expr)
    found = _PARTS.get(kind)
    if found is None:
        none = {"op", "ops", "ctx", "id", "attr", "arg", "kind", *(["value"] if kind is ast.Constant else [])}
        none |= {"func"} if kind is ast.Call else set()
        found = _PARTS[kind] = tuple(f for f in expr._fields if f not in none)
    return found


def walk_values(expr: ast.AST) -> Iterator[ast.AST]:
    """Yield every node of an expression that denotes a value, before its parts; callees are skipped."""
    left = [expr]
    while left:
        node = left.pop()
        yield node
        for field in reversed(_fields_with_parts(node)):
            child = getattr(node, field, None)
            if isinstance(child, list):
                left += [x for x in reversed(child) if isinstance(x, ast.AST)]
            elif isinstance(child, ast.AST):
                left.append(child)


def _with_parts(expr: ast.AST, change: Callable[[Any], Any]) -> Any:
    """Return a node whose children are changed; the node itself if all stay. A called function's name is no child."""
    new: dict[str, Any] = {}
    for field in _fields_with_parts(expr):
        old = getattr(expr, field, None)
        if isinstance(old, list):
            part: Any = [change(x) if isinstance(x, ast.AST) else x for x in old]
            part = old if all(map(operator.is_, part, old)) else part
        elif isinstance(old, ast.AST):
            part = change(old)
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
    return ast.Name(id=identifier, ctx=_LOAD)


def constant(value: Any) -> ast.Constant:
    return ast.Constant(value=value)


def number_of(expr: ast.expr) -> int | float | None:
    """Return the real number that an expression is; None if it is none."""
    if not isinstance(expr, (ast.Constant, ast.UnaryOp)):
        return None
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
        func = ast.Attribute(value=func, attr=part, ctx=_LOAD)
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
