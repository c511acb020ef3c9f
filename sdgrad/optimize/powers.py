"""Powers of a half, of one and a half, ..: roots and products, which take a few cycles where ``pow`` takes dozens."""

from __future__ import annotations

import ast
from dataclasses import replace

from sdgrad.program.tree import Block, Leaf, Let, Node, Program, rewritten
from sdgrad.symbolic import code
from sdgrad.symbolic.derivatives import number_of

LARGEST = 4.5


def take_roots(program: Program) -> Program:
    """The program with such powers spelled out."""

    def changed(node: Node) -> Block:
        if not isinstance(node, Leaf):
            return (node,)
        body = (replace(i, expr=code.bottom_up(i.expr, _rooted)) if isinstance(i, Let) else i for i in node.body)
        return (replace(node, body=tuple(body)),)

    return replace(program, body=rewritten(program.body, changed))


def _rooted(expr: ast.expr) -> ast.expr:
    if not (isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Pow) and isinstance(expr.left, ast.Name)):
        return expr
    n = number_of(expr.right)
    if n is None or abs(n) > LARGEST or n % 1 != 0.5:
        return expr
    found = code.call("sqrt", expr.left)
    for _ in range(int(abs(n))):
        found = code.binary(ast.Mult, found, expr.left)
    return found if n > 0 else code.binary(ast.Div, code.constant(1), found)
