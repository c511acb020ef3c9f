"""Replace function calls by cheaper ones: strength reduction of powers, and separate sines and cosines.

A power with an exponent of a half, one and a half and so on is a square root and products, which take a few cycles
where ``pow`` takes dozens: ``x ** 1.5`` becomes ``sqrt(x) * x``. Exponents above
``config.machine.largest_half_power`` stay.

A loop that needs the sine and the cosine of one number calls functions with names of their own for both, which have
vector versions. GCC would merge the plain calls into one that has none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from sdgrad.config import config
from sdgrad.program.prelude import PARTED, functions
from sdgrad.program.tree import Block, Leaf, Let, Node, Program, rewritten
from sdgrad.symbolic import code


def take_roots(program: Program) -> Program:
    """Replace powers with half-integer exponents by square roots and products."""
    return _changed(program, lambda leaf: _rooted)


def part_sines(program: Program) -> Program:
    """Keep the compiler from merging sines and cosines, in loops that call both."""
    return _changed(program, lambda leaf: _parted if leaf.params and set(PARTED) <= functions(leaf) else None)


def _changed(program: Program, rule: Callable[[Leaf], Callable[[ast.expr], ast.expr] | None]) -> Program:
    """Rewrite the expressions of a program.

    :param rule: returns the rewrite of a leaf's expressions, or None for a leaf that stays unchanged.
    """

    def changed(node: Node) -> Block:
        """Return a leaf with rewritten expressions; other nodes unchanged."""
        change = rule(node) if isinstance(node, Leaf) else None
        if change is None or not isinstance(node, Leaf):
            return (node,)
        body = (replace(i, expr=code.bottom_up(i.expr, change)) if isinstance(i, Let) else i for i in node.body)
        return (replace(node, body=tuple(body)),)

    return replace(program, body=rewritten(program.body, changed))


def _parted(expr: ast.expr) -> ast.expr:
    """Return a sine or cosine by its own name; other expressions unchanged."""
    name = code.callee(expr) if isinstance(expr, ast.Call) else None
    return code.call(PARTED[name], *expr.args) if isinstance(expr, ast.Call) and name in PARTED else expr


def _rooted(expr: ast.expr) -> ast.expr:
    """Return a power with a small half-integer exponent as a root and products; other expressions unchanged."""
    if not (isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Pow) and isinstance(expr.left, ast.Name)):
        return expr
    n = code.number_of(expr.right)
    if n is None or abs(n) > config.machine.largest_half_power or n % 1 != 0.5:
        return expr
    found = code.call("sqrt", expr.left)
    for _ in range(int(abs(n))):
        found = code.binary(ast.Mult, found, expr.left)
    return found if n > 0 else code.binary(ast.Div, code.constant(1), found)
