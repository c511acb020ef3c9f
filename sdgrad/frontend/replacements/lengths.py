"""Slices whose bounds are sums of data: DaCe gives each bound a symbol, and does not see that ``A[k + 1 : k + 4]`` has
three elements, nor that ``B[: k]`` has as many as ``A[1 : k + 1]``.

Each number in such a bound has a symbol, and the bound is an expression of these.
"""

from __future__ import annotations

import ast
import copy
import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field

import sympy

from sdgrad.frontend.replacements.visiting import wrap_visitor

COMBINE = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


@dataclass
class Bounds:
    """The bounds of one slice.

    :param symbol: what DaCe makes of a bound: a number or a symbol, if it is an integer.
    """

    symbol: Callable[[ast.expr], object]
    known: dict[str, object] = field(default_factory=dict)

    def value(self, bound: ast.expr) -> object:
        """An expression of symbols; the bound itself where it is none."""
        found = self.of(bound)
        return bound if found is None else found

    def of(self, node: ast.expr) -> sympy.Expr | int | None:
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self.of(node.operand)
            return -operand if operand is not None else None
        if isinstance(node, ast.BinOp) and type(node.op) in COMBINE:
            left, right = self.of(node.left), self.of(node.right)
            return None if left is None or right is None else COMBINE[type(node.op)](left, right)
        text = ast.unparse(node)
        if text not in self.known:
            self.known[text] = self.symbol(node)
        found = self.known[text]
        return found if isinstance(found, (int, sympy.Basic)) and not isinstance(found, bool) else None


def is_sum(bound: object) -> bool:
    """Whether a bound is computed from others in a way that shows how far they are apart."""
    return isinstance(bound, ast.BinOp) and type(bound.op) in COMBINE


def _wrap_slice(parse):
    @functools.wraps(parse)
    def _parse_subscript_slice(self, s, multidim=False):
        if isinstance(s, ast.Slice) and (is_sum(s.lower) or is_sum(s.upper)):
            bounds = Bounds(lambda node: parse(self, ast.copy_location(ast.Slice(lower=node), s))[0][0])
            s = copy.copy(s)
            s.lower, s.upper = (bounds.value(b) if isinstance(b, ast.expr) else b for b in (s.lower, s.upper))
        return parse(self, s, multidim)

    return _parse_subscript_slice


wrap_visitor("_parse_subscript_slice", _wrap_slice)
