"""Functions as the compiler makes the best of them.

Powers of a half, of one and a half, ..: roots and products, which take a few cycles where ``pow`` takes dozens. Sine
and cosine of one number: two calls, each for several numbers at once; GCC makes them one, of which there is no such
version.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from sdgrad.config import config
from sdgrad.program.prelude import PARTED, functions
from sdgrad.program.tree import Block, Leaf, Let, Node, Program, rewritten
from sdgrad.symbolic import code
from sdgrad.symbolic.derivatives import number_of


def take_roots(program: Program) -> Program:
    """The program with such powers spelled out."""

    return _changed(program, lambda leaf: _rooted)


def part_sines(program: Program) -> Program:
    """The program with sines and cosines apart, in loops that have both."""
    return _changed(program, lambda leaf: _parted if leaf.params and set(PARTED) <= functions(leaf) else None)


def _changed(program: Program, rule: Callable[[Leaf], Callable[[ast.expr], ast.expr] | None]) -> Program:
    def changed(node: Node) -> Block:
        change = rule(node) if isinstance(node, Leaf) else None
        if change is None or not isinstance(node, Leaf):
            return (node,)
        body = (replace(i, expr=code.bottom_up(i.expr, change)) if isinstance(i, Let) else i for i in node.body)
        return (replace(node, body=tuple(body)),)

    return replace(program, body=rewritten(program.body, changed))


def _parted(expr: ast.expr) -> ast.expr:
    name = code.callee(expr) if isinstance(expr, ast.Call) else None
    return code.call(PARTED[name], *expr.args) if isinstance(expr, ast.Call) and name in PARTED else expr


def _rooted(expr: ast.expr) -> ast.expr:
    if not (isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Pow) and isinstance(expr.left, ast.Name)):
        return expr
    n = number_of(expr.right)
    if n is None or abs(n) > config.machine.largest_half_power or n % 1 != 0.5:
        return expr
    found = code.call("sqrt", expr.left)
    for _ in range(int(abs(n))):
        found = code.binary(ast.Mult, found, expr.left)
    return found if n > 0 else code.binary(ast.Div, code.constant(1), found)
