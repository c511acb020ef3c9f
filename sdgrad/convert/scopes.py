"""Say which names a function binds, and which it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from sdgrad.convert.source import Definition, arguments

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def own_nodes(nodes: Iterable[ast.AST], targets: bool = True) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, without what is inside of functions and classes that it defines.

    :param targets: with the names that comprehensions run over, which are scopes of their own.
    """
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, SCOPES):
            stack += [*getattr(node, "decorator_list", ()), *getattr(node, "bases", ())]
            if not isinstance(node, ast.ClassDef):
                stack += [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        elif isinstance(node, ast.comprehension) and not targets:
            stack += [node.iter, *node.ifs]
        else:
            stack += ast.iter_child_nodes(node)


def bound(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that statements bind in their own scope."""
    return frozenset().union(*map(_binds, own_nodes(nodes, targets=False)))


def _binds(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, (ast.Store, ast.Del)) else set()
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(a.asname or a.name).split(".")[0] for a in node.names}
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return {node.name} if node.name else set()
    return {node.rest} if isinstance(node, ast.MatchMapping) and node.rest else set()


def locals_of(definition: Definition) -> frozenset[str]:
    """Return the local names of a function: its arguments, and what it binds itself."""
    body = definition.body if isinstance(definition.body, list) else [definition.body]
    foreign = {n for d in own_nodes(body) if isinstance(d, (ast.Global, ast.Nonlocal)) for n in d.names}
    return (bound(body) | {a.arg for a in arguments(definition.args)}) - foreign


def read(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements read, functions that they define included."""
    return {
        n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)
    }


def captured(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that inner functions and classes mention: they may read or bind them at any time."""
    inner = [n for n in own_nodes(nodes) if isinstance(n, SCOPES)]
    return {m.id for n in inner for m in ast.walk(n) if isinstance(m, ast.Name)}
