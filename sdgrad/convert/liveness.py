"""Find the names that are read later: what a branch or a loop has to hand on (live variables, Aho et al. 2006, 9.2.5).

Statements get the attributes ``sdgrad_after`` (live after them) and, loops and branches, ``sdgrad_head`` (live at the
beginning of a trip that is not the first, or of an arm).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from sdgrad.convert.scopes import bound, read

Live = frozenset[str]
OPAQUE = (ast.Try, ast.With, ast.AsyncWith, ast.Match)


def mark(statements: Sequence[Any], after: Live, always: Live) -> Live:
    """Mark statements, and return what is live before them.

    :param always: names that inner functions mention, which may read them at any time.
    """
    for statement in reversed(statements):
        statement.sdgrad_after = after | always
        after = _before(statement, after, always)
    return after


def _before(node: Any, after: Live, always: Live) -> Live:
    """Return what is live before one statement."""
    if isinstance(node, ast.If):
        arms = mark(node.body, after, always) | mark(node.orelse, after, always)
        node.sdgrad_head = arms | always  # type: ignore[attr-defined]
        return arms | read([node.test])
    if isinstance(node, (ast.For, ast.While)):
        return _before_loop(node, after, always)
    if isinstance(node, OPAQUE):
        inner = after | read([node])
        for block in _blocks(node):
            mark(block, inner, always)
        return inner
    if isinstance(node, (ast.Return, ast.Raise)):
        return frozenset(read([node]))
    return (after - _defined(node)) | read([node]) | _updated(node)


def _before_loop(node: Any, after: Live, always: Live) -> Live:
    """Return what is live before a loop: the least fixed point over its back edge."""
    own = read([node.test]) if isinstance(node, ast.While) else frozenset()
    target = bound([node.target]) if isinstance(node, ast.For) else frozenset()
    flags = frozenset(getattr(node, "sdgrad_flags", ()))
    head = frozenset(after | own | flags)
    while True:
        before = head
        inner = mark(node.body, head, always)
        entering = (inner - target) | (read([node.target]) if isinstance(node, ast.For) else frozenset())
        head = frozenset(after | own | flags | entering)
        if head == before:
            break
    node.sdgrad_head = frozenset(entering | own | always)
    return head | read([node.iter]) if isinstance(node, ast.For) else head


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    held = [getattr(node, f, []) for f in ("body", "orelse", "finalbody")]
    held += [h.body for h in (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))]
    return held


def _defined(node: ast.stmt) -> Live:
    """Return the names that a simple statement certainly binds."""
    if isinstance(node, ast.Assign):
        names = [n for t in node.targets for n in ast.walk(t)]
        return frozenset(n.id for n in names if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    if isinstance(node, ast.AnnAssign):
        return frozenset({node.target.id} if isinstance(node.target, ast.Name) and node.value is not None else ())
    return frozenset({node.name} if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else ())


def _updated(node: ast.stmt) -> Live:
    """Return the name that ``+=`` reads."""
    return frozenset({node.target.id} if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) else ())
