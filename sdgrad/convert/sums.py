"""Write sums over what a condition lets through as sums over everything, with zeros for the rest.

Which parts ``sum(v for v in x if v > 0)`` has, only a run may know; which ones it adds, a program can choose.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from sdgrad.convert.trees import binds, operator_call, thunk


class Sums(ast.NodeTransformer):
    """Give each sum with conditions both forms, of which the operator takes one."""

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
        everything = ast.GeneratorExp(
            ast.IfExp(test, parts.elt, ast.Constant(0)), [ast.comprehension(over.target, over.iter, [], 0)]
        )
        forms = (thunk(copy.deepcopy(parts)), thunk(everything))
        new = ast.copy_location(operator_call("summed", node.func, *forms), node)
        return ast.fix_missing_locations(new)
