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
