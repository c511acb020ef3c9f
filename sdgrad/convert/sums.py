"""Let a program choose what a sum adds: ``sum(v for v in x if v > 0)``.

Which parts there are, only a run may know. Each part is asked for, and one that does not count is nothing, or zero.
"""

from __future__ import annotations

import ast
from typing import Any

from sdgrad.convert.trees import binds, named, operator_call, thunk


class Sums(ast.NodeTransformer):
    """Have operators decide which parts of a sum with conditions count."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        parts = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if not isinstance(node.func, ast.Name) or node.func.id != "sum":
            return node
        if not isinstance(parts, ast.GeneratorExp | ast.ListComp) or len(parts.generators) != 1 or binds(parts):
            return node
        (over,) = parts.generators
        if not over.ifs or over.is_async:
            return node
        test = over.ifs[0] if len(over.ifs) == 1 else ast.BoolOp(ast.And(), over.ifs)
        part = operator_call("let_through", named(node.func.id), test, thunk(parts.elt))
        every = type(parts)(part, [ast.comprehension(over.target, over.iter, [], 0)])
        return ast.fix_missing_locations(ast.copy_location(operator_call("summed", node.func, every), node))
