"""Tell operators of names from outside that statements bind: imported ones, and those that are declared as global.

``from m import a`` inside of a function reads an attribute of the module, as ``m.a`` does: it may change.
"""

from __future__ import annotations

import ast
from typing import Any

from sdgrad.convert.trees import constants, named, operator_call


class OuterNames(ast.NodeTransformer):
    """Bind what is imported from modules again, by attributes of these; tell where global names are bound."""

    def __init__(self, definition: ast.AST) -> None:
        self._globals = {n for d in ast.walk(definition) if isinstance(d, ast.Global) for n in d.names}

    def visit_Assign(self, node: ast.Assign) -> Any:
        names = [t.id for t in node.targets if isinstance(t, ast.Name) and t.id in self._globals]
        if not names:
            return node
        told = ast.Expr(operator_call("binds", constants(names)))
        return [node, ast.fix_missing_locations(ast.copy_location(told, node))]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        space: ast.expr = ast.Call(named("globals"), [], []) if node.level else ast.Constant(None)
        names = ast.Tuple([ast.Constant(a.name) for a in node.names], ast.Load())
        given: list[ast.expr] = [
            ast.Constant(node.module or ""),
            space,
            ast.Constant(None),
            names,
            ast.Constant(node.level),
        ]
        module = ast.Call(named("__import__"), given, [])
        bound = (
            ast.Assign([ast.Name(a.asname or a.name, ast.Store())], ast.Attribute(module, a.name, ast.Load()))
            for a in node.names
        )
        return [node, *(ast.fix_missing_locations(ast.copy_location(b, node)) for b in bound)]
