"""Say which functions take longer than memory."""

from __future__ import annotations

import ast

from sdgrad.symbolic import code
from sdgrad.symbolic.scalar_rules import RULES

QUICK = {"div", "sqrt", "reciprocal", "deg2rad", "radians", "rad2deg", "degrees", "copysign", "heaviside", "remainder"}
QUICK |= {"sdgrad_finite", "floor", "ceil", "ceiling", "trunc", "rint", "round", "fix", "iround", "ROUND", "nextafter"}
SLOW = {name for name, rule in RULES.items() if rule.kind == "float"} - QUICK
"""Functions that take longer than to write their results and to read them back."""


def slow_calls_in(expr: ast.expr) -> int:
    """Count the functions that an expression calls and that take longer than memory, and its powers."""
    return sum(map(_is_slow, ast.walk(expr)))


def _is_slow(part: ast.AST) -> bool:
    if isinstance(part, ast.Call):
        return code.callee(part) in SLOW
    return isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow) and code.number_of(part.right) is None
