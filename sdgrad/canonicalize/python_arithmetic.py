"""Give arithmetic of integers the meaning that it has in Python, and not in C++.

``/`` is a real number, ``//`` rounds down, and a power with a real exponent is real.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from typing import TypeGuard

from sdgrad.program.kinds import infer
from sdgrad.program.tree import Block, Leaf, Let, Node, Program, rewritten
from sdgrad.symbolic import code, kinds

EXACT: dict[type[ast.operator], str] = {ast.FloorDiv: "sdgrad_floor_divide", ast.Mod: "sdgrad_mod"}
"""Functions of generated code for operators on real numbers."""


def divide_truly(program: Program) -> Program:
    """Convert the numerator of every quotient of integers to a real number."""

    def convert(node: Node) -> Block:
        """Convert the quotients of a leaf; any other node unchanged."""
        if not isinstance(node, Leaf):
            return (node,)
        quotients = [i for i in node.body if isinstance(i, Let) and any(map(_is_quotient, i.parts))]
        if not quotients:
            return (node,)
        kind = infer(node.body, program.containers)
        whole = [i for i in quotients if any(_is_whole(e, kind) for e in i.parts)]
        new = {i.name: replace(i, expr=code.bottom_up(i.expr, partial(_converted, kind))) for i in whole}
        return (replace(node, body=tuple(new[i.name] if i in whole else i for i in node.body)),) if new else (node,)

    return replace(program, body=rewritten(program.body, convert))


def as_python_computes(program: Program) -> Program:
    """Round quotients down, and make powers with a real exponent real."""

    def convert(node: Node) -> Block:
        """Convert the expressions of a leaf; any other node unchanged."""
        if not isinstance(node, Leaf):
            return (node,)
        kind = infer(node.body, program.containers)
        body = tuple(replace(i, expr=_pythonic(i.expr, kind)) if isinstance(i, Let) else i for i in node.body)
        return (replace(node, body=body),) if body != node.body else (node,)

    return replace(program, body=rewritten(program.body, convert))


def _pythonic(expr: ast.expr, kind: dict[str, str]) -> ast.expr:
    """Return an expression with the meaning that it has in Python."""
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "int_floor":
        return code.call("py_floor", *expr.args)
    if isinstance(expr, ast.BinOp) and type(expr.op) in EXACT and kinds.expression(expr, kind) == "float":
        return code.call(EXACT[type(expr.op)], expr.left, expr.right)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Pow):
        base, exponent = (kinds.expression(e, kind) for e in (expr.left, expr.right))
        if base in ("int", "bool") and exponent == "float":
            return code.binary(ast.Pow, code.call("dace.float64", expr.left), expr.right)
    return expr


def _is_quotient(expr: ast.AST) -> TypeGuard[ast.BinOp]:
    """True of a division."""
    return isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Div)


def _is_whole(expr: ast.AST, kind: dict[str, str]) -> TypeGuard[ast.BinOp]:
    """True of a division of integers."""
    return _is_quotient(expr) and {kinds.expression(e, kind) for e in (expr.left, expr.right)} <= {"int", "bool"}


def _converted(kind: dict[str, str], expr: ast.expr) -> ast.expr:
    """Return a division of integers with a real numerator; any other expression unchanged."""
    if not _is_whole(expr, kind):
        return expr
    return code.binary(ast.Div, code.call("dace.float64", expr.left), expr.right)
