"""Rewrite what Python does by methods of a class: operators, ``with``, and iteration without a loop."""

from __future__ import annotations

import ast

from sdgrad.convert.texts import ShownText
from sdgrad.convert.trees import located, operator_call

OF_A_FRAME = ("super", "locals", "vars", "dir", "eval", "exec", "globals")
"""Functions that look at the frame that calls them."""


class SpecialMethods(ast.NodeTransformer):
    """The part of a rewriter for expressions whose meaning their operands' classes may define."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        node.left, node.right = self.visit(node.left), self.visit(node.right)
        word = ast.Constant(type(node.op).__name__)
        return located(operator_call("binary", word, node.left, node.right), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.operand, ast.Constant):
            return node
        node.operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return located(operator_call("not_", node.operand), node)
        return located(operator_call("unary", ast.Constant(type(node.op).__name__), node.operand), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        node.value = located(operator_call("formatted", self.visit(node.value)), node.value)
        if isinstance(node.format_spec, ast.JoinedStr):
            node.format_spec.values = [self.visit(v) for v in node.format_spec.values]
        return node

    def visit_ShownText(self, node: ShownText) -> ast.expr:
        return ast.copy_location(ast.JoinedStr([self.visit(v) for v in node.values]), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        node.values = [self.visit(v) for v in node.values]
        return located(operator_call("text", node), node)

    def visit_withitem(self, node: ast.withitem) -> ast.withitem:
        managed = located(operator_call("managed", self.visit(node.context_expr)), node.context_expr)
        return ast.withitem(managed, self.visit(node.optional_vars) if node.optional_vars is not None else None)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.YieldFrom:
        node.value = located(operator_call("iterable", self.visit(node.value)), node.value)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.Starred:
        node.value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            node.value = located(operator_call("iterable", node.value), node.value)
        return node


def unpacked(node: ast.Assign) -> ast.Assign:
    """Return an assignment to names; what is unpacked into several of them may be an object that iterates."""
    if isinstance(node.targets[0], (ast.Tuple, ast.List)) and not isinstance(node.value, (ast.Tuple, ast.List)):
        node.value = located(operator_call("iterable", node.value), node.value)
    return node


def looks_at_the_frame(node: ast.Call) -> bool:
    """True of calls that have to stay where they are."""
    if not isinstance(node.func, ast.Name) or node.func.id not in OF_A_FRAME:
        return False
    return node.func.id != "vars" or not node.args
