"""Functions as their text, statements, and the blocks they hold."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeGuard

FIELDS = ("body", "orelse", "finalbody")


def statement(text: str, where: ast.AST) -> ast.stmt:
    """One statement from its text, in the place of another node."""
    return ast.copy_location(ast.parse(text).body[0], where)


@functools.cache
def definition(function: Any) -> ast.FunctionDef | None:
    """A function as it is written, to be read only; None where its source is not at hand."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    return next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)


def is_range(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether this is a call of ``range``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def is_numpy(node: ast.AST) -> bool:
    """Whether this is NumPy, by one of its usual names."""
    return isinstance(node, ast.Name) and node.id in ("np", "numpy")


def blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks a statement holds."""
    return [b for field in FIELDS if isinstance(b := getattr(node, field, None), list)]


def change_blocks(node: ast.stmt, change: Callable[[list[ast.stmt]], list[ast.stmt]]) -> None:
    """Put other blocks in place of those a statement holds."""
    for field in FIELDS:
        if isinstance(block := getattr(node, field, None), list):
            setattr(node, field, change(block))


def each_statement(body: list[ast.stmt], change: Callable[[ast.stmt], list[ast.stmt]]) -> list[ast.stmt]:
    """A block with others in place of each of its statements, those in inner blocks first."""
    out: list[ast.stmt] = []
    for node in body:
        change_blocks(node, lambda inner: each_statement(inner, change))
        out += change(node)
    return out


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
            _bind(node.target, ast.Constant(0) if is_range(node.iter) else None, found)
    return found


def _bind(target: ast.expr, value: ast.expr | None, found: dict[str, list[ast.expr | None]]) -> None:
    if isinstance(target, ast.Name):
        found.setdefault(target.id, []).append(value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
        for k, t in enumerate(target.elts):
            _bind(t, parts[k] if parts is not None else None, found)
