"""Know the identity of each reduction: the value it starts from."""

from __future__ import annotations

import ast

import dace
from dace import dtypes

from sdgrad.program.kinds import kind_of
from sdgrad.symbolic import code

EXTREMES = {"max": "sdgrad_maximum", "min": "sdgrad_minimum"}
"""Functions of generated code that choose one of two numbers, NaN if there is one, by the mode of the reduction."""


def identity(mode: str, dtype: dace.typeclass) -> ast.expr:
    """Return the identity of a reduction."""
    if mode in EXTREMES and kind_of(dtype) == "float":
        return code.parse("-1e309" if mode == "max" else "1e309")  # beyond the largest double: infinite
    if mode in EXTREMES:
        bound = dace.dtypes.min_value(dtype) if mode == "max" else dace.dtypes.max_value(dtype)
        whole = int(bound)
        return code.parse(repr(whole) if -whole < 2**63 else f"{whole + 1} - 1")  # C++ has no literal for -2**63
    return code.constant({"prod": 1, "and": True, "bitand": -1}.get(mode, 0))


def is_identity(mode: str, identity: object, dtype: object) -> bool:
    """True if a number is the identity of a reduction, or has no effect on it."""
    try:
        value = float(identity)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    if mode in ("sum", "prod"):
        return value == (0.0 if mode == "sum" else 1.0)
    if mode in EXTREMES:
        bound = float(dtypes.min_value(dtype) if mode == "max" else dtypes.max_value(dtype))
        return value == bound or value == (float("-inf") if mode == "max" else float("inf"))
    return (mode, value) in {("and", 1.0), ("or", 0.0)}
