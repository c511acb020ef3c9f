"""Give arithmetic of integers the meaning that it has in Python, and not in C++.

``/`` is a real number, ``//`` rounds down, and a power with a real exponent is real.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TypeGuard

from sdgrad.program.kinds import infer
from sdgrad.program.tree import Block, Instr, Leaf, Let, Node, Program, rewritten
from sdgrad.symbolic import code, kinds


def divide_truly(program: Program) -> Program:
    """Convert the numerator of every quotient of integers to a real number."""

    def convert(node: Node) -> Block:
        """Convert the quotients of a leaf; any other node unchanged."""
        if not isinstance(node, Leaf) or not any(_is_quotient(i) for i in node.body):
            return (node,)
        kind = infer(node.body, program.containers)
        return (replace(node, body=tuple(_converted(i, kind) if _is_quotient(i) else i for i in node.body)),)

    return replace(program, body=rewritten(program.body, convert))


def as_python_computes(program: Program) -> Program:
    """Round quotients of subscripts down, and make powers with a real exponent real."""

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
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Pow):
        base, exponent = (kinds.expression(e, kind) for e in (expr.left, expr.right))
        if base in ("int", "bool") and exponent == "float":
            return code.binary(ast.Pow, code.call("dace.float64", expr.left), expr.right)
    return expr


def _is_quotient(instr: Instr) -> TypeGuard[Let]:
    """True if an instruction is a division."""
    return isinstance(instr, Let) and isinstance(instr.expr, ast.BinOp) and isinstance(instr.expr.op, ast.Div)


def _converted(instr: Let, kind: dict[str, str]) -> Let:
    """Return a division, with a real numerator if both operands are integers."""
    expr = instr.expr
    assert isinstance(expr, ast.BinOp)
    if {kinds.expression(e, kind) for e in (expr.left, expr.right)} <= {"int", "bool"}:
        return replace(instr, expr=code.binary(ast.Div, code.call("dace.float64", expr.left), expr.right))
    return instr
