"""Infer the kind of number of scalar expressions: bool < int < float < complex."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from sdgrad.symbolic import code
from sdgrad.symbolic.scalar_rules import RULES

ORDER = ("bool", "int", "float", "complex")
CASTS = {
    **{
        n: "int"
        for n in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int", "intp", "long")
    },
    **{n: "float" for n in ("float16", "float32", "float64", "float", "double", "half")},
    **{n: "complex" for n in ("complex64", "complex128", "complex")},
    "bool": "bool",
    "bool_": "bool",
}


OF_INTEGERS = frozenset(f"sdgrad_{n}" for n in ("quotient", "bit_and", "bit_or", "bit_xor", "bit_not"))
OF_INTEGERS |= {"sdgrad_shift_left", "sdgrad_shift_right", "sdgrad_integer_power"}
"""Functions of generated code that take and give integers: they are in no table of derivatives."""


def highest(kinds: Iterable[str], least: str = "bool") -> str:
    return max((least, *kinds), key=ORDER.index)


def expression(expr: ast.expr, kinds: Mapping[str, str]) -> str:
    """Return the kind of an expression; a name without a kind is an integer symbol."""
    if isinstance(expr, ast.Constant):
        return {bool: "bool", int: "int", float: "float", complex: "complex"}.get(type(expr.value), "float")
    if isinstance(expr, ast.Name):
        return kinds.get(expr.id, "int")
    if isinstance(expr, (ast.Compare, ast.BoolOp)) or isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.Not):
        return "bool"
    if isinstance(expr, ast.UnaryOp):
        return expression(expr.operand, kinds)
    if isinstance(expr, ast.IfExp):
        return highest((expression(expr.body, kinds), expression(expr.orelse, kinds)))
    if isinstance(expr, ast.BinOp):
        least = "float" if isinstance(expr.op, ast.Div) else "int"
        return highest((expression(expr.left, kinds), expression(expr.right, kinds)), least)
    return call(expr, kinds) if isinstance(expr, ast.Call) else "float"


def call(expr: ast.Call, kinds: Mapping[str, str]) -> str:
    """Return the kind of a function's result."""
    function = code.callee(expr)
    if function in CASTS:
        return CASTS[function]
    if function in OF_INTEGERS:
        return "int"
    args = highest(expression(a, kinds) for a in expr.args) if expr.args else "float"
    rule = RULES.get(function)
    how = rule.kind if rule is not None else "float"
    if how == "same":
        return args
    if how == "real":
        return "float" if args == "complex" else args
    return highest((args,), "float") if how == "float" else how
