"""``/`` of two integers is a real number, as Python has it and C++ has not."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TypeGuard

from sdgrad.program.tree import Block, Instr, Leaf, Let, Node, Program, rewritten
from sdgrad.symbolic import code, kinds


def divide_truly(program: Program) -> Program:
    """The program with the numerator of every quotient of integers converted."""

    def convert(node: Node) -> Block:
        if not isinstance(node, Leaf) or not any(_is_quotient(i) for i in node.body):
            return (node,)
        kind = kinds.infer(node.body, program.containers)
        return (replace(node, body=tuple(_converted(i, kind) if _is_quotient(i) else i for i in node.body)),)

    return replace(program, body=rewritten(program.body, convert))


def _is_quotient(instr: Instr) -> TypeGuard[Let]:
    return isinstance(instr, Let) and isinstance(instr.expr, ast.BinOp) and isinstance(instr.expr.op, ast.Div)


def _converted(instr: Let, kind: dict[str, str]) -> Let:
    expr = instr.expr
    assert isinstance(expr, ast.BinOp)
    if {kinds.expression(e, kind) for e in (expr.left, expr.right)} <= {"int", "bool"}:
        return replace(instr, expr=code.binary(ast.Div, code.call("dace.float64", expr.left), expr.right))
    return instr
