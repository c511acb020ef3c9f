"""Slices ``A[k : k + 3]`` whose bounds are data: DaCe gives each bound a symbol, and does not see that three are left.

The second bound becomes the first one plus the length, where the text says what the length is.
"""

from __future__ import annotations

import ast
import copy
import functools
import operator

import sympy

from sdgrad.frontend.replacements.visiting import wrap_visitor


def constant_length(piece: ast.Slice) -> int | None:
    """How many elements a slice without a step has, where the text tells: its bounds differ by a number."""
    if piece.lower is None or piece.upper is None or piece.step is not None:
        return None
    if isinstance(piece.lower, ast.Constant) or isinstance(piece.upper, ast.Constant):
        return None
    difference = sympy.expand(_in_atoms(piece.upper) - _in_atoms(piece.lower))
    return int(difference) if difference.is_Integer and difference > 0 else None


def _in_atoms(node: ast.expr) -> sympy.Expr:
    """Integer arithmetic on whatever else there is."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return sympy.Integer(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_in_atoms(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        combine = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}[type(node.op)]
        return combine(_in_atoms(node.left), _in_atoms(node.right))
    return sympy.Symbol(ast.unparse(node), integer=True)


def _wrap_slice(parse):
    @functools.wraps(parse)
    def _parse_subscript_slice(self, s, multidim=False):
        plain = isinstance(s, ast.Slice) and isinstance(s.lower, ast.expr) and isinstance(s.upper, ast.expr)
        length = constant_length(s) if plain else None
        if length is not None:
            ((low, _, _),) = parse(self, ast.copy_location(ast.Slice(lower=s.lower), s))
            if isinstance(low, sympy.Basic):
                s = copy.copy(s)
                s.lower, s.upper = low, low + length
        return parse(self, s, multidim)

    return _parse_subscript_slice


wrap_visitor("_parse_subscript_slice", _wrap_slice)
