"""Statements and the blocks they hold."""

from __future__ import annotations

import ast
from collections.abc import Callable

FIELDS = ("body", "orelse", "finalbody")


def statement(text: str, where: ast.AST) -> ast.stmt:
    """One statement from its text, in the place of another node."""
    return ast.copy_location(ast.parse(text).body[0], where)


def blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks a statement holds."""
    return [b for field in FIELDS if isinstance(b := getattr(node, field, None), list)]


def change_blocks(node: ast.stmt, change: Callable[[list[ast.stmt]], list[ast.stmt]]) -> None:
    """Put other blocks in place of those a statement holds."""
    for field in FIELDS:
        if isinstance(block := getattr(node, field, None), list):
            setattr(node, field, change(block))


def bound_values(function: ast.FunctionDef) -> dict[str, list[ast.expr | None]]:
    """What names are bound to, in the order of the text; None where that is no expression by itself."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _bind(target, node.value, found)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            updated = ast.BinOp(left=ast.Name(node.target.id, ast.Load()), op=node.op, right=node.value)
            found.setdefault(node.target.id, []).append(updated)
        elif isinstance(node, ast.For):
            is_range = isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") == "range"
            _bind(node.target, ast.Constant(0) if is_range else None, found)
    return found


def _bind(target: ast.expr, value: ast.expr | None, found: dict[str, list[ast.expr | None]]) -> None:
    if isinstance(target, ast.Name):
        found.setdefault(target.id, []).append(value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
        for k, t in enumerate(target.elts):
            _bind(t, parts[k] if parts is not None else None, found)
