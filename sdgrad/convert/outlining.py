"""Move what is nested too deeply for Python into functions of its own, which bind the names of the function around.

Python nests twenty blocks, and a converted loop or condition takes two of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sdgrad.convert.lowering import stops
from sdgrad.convert.scopes import SCOPES, bound
from sdgrad.convert.trees import located, named

DEEPEST = 12
"""Blocks around a loop that stays where it is: what is left is for others, which take one or two."""


@dataclass(frozen=True)
class Outlining:
    """Outline the loops of one function's body.

    :param foreign: names that the function declares as global.
    :param fresh: makes names.
    """

    foreign: Collection[str]
    fresh: Callable[[str], str]

    def block(self, statements: Sequence[ast.stmt], depth: int = 0) -> list[ast.stmt]:
        """Return statements that stand in so many blocks, with functions where more than Python allows would be."""
        return [new for s in statements for new in self._statement(s, depth)]

    def _statement(self, node: ast.stmt, depth: int) -> list[ast.stmt]:
        if isinstance(node, SCOPES):
            return [node]
        if isinstance(node, ast.For) and depth >= DEEPEST and not stops(node):
            return [located(new, node) for new in self._apart(node)]
        depth += _blocks(node)
        for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            for field in ("body", "orelse", "finalbody"):
                if hasattr(part, field):
                    setattr(part, field, self.block(getattr(part, field), depth))
        return [node]

    def _apart(self, node: ast.For) -> list[ast.stmt]:
        """Return a function with a loop, and its call."""
        own, name = bound([node]), self.fresh("part")
        local, foreign = sorted(own - {*self.foreign}), sorted(own & {*self.foreign})
        declared: list[ast.stmt] = [ast.Nonlocal(local), *([ast.Global(foreign)] if foreign else [])]
        never = ast.If(
            ast.Constant(False), [ast.Assign([named(n, ast.Store()) for n in local], ast.Constant(None))], []
        )
        nothing = ast.arguments([], [], None, [], [], None, [])
        function: Any = ast.FunctionDef(name, nothing, [*declared, *self._statement(node, 0)], [], None, None)
        function.type_params = []
        return [never, function, ast.Expr(ast.Call(named(name), [], []))]  # the first makes the names local here


def _blocks(node: ast.stmt) -> int:
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return len(node.items)
    return 2 if isinstance(node, ast.Try) else int(isinstance(node, (ast.For, ast.While)))
