"""Evaluate index expressions for known symbols, element by element for arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np


def _to(dtype: str) -> Callable[[Any], Any]:
    """Return the conversion to a type."""
    return lambda value: np.asarray(value).astype(dtype)[()]


TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
FUNCTIONS = {
    "int_floor": lambda a, b: a // b,
    "int_ceil": lambda a, b: -(-a // b),
    "floor": np.floor,
    "ceiling": np.ceil,
    "abs": np.abs,
    "Abs": np.abs,
    "min": np.minimum,
    "Min": np.minimum,
    "max": np.maximum,
    "Max": np.maximum,
    "Mod": np.mod,
    "dace": SimpleNamespace(**{t: _to(t) for t in TYPES}),
}


def evaluated(expr: ast.expr, known: Mapping[str, Any]) -> Any:
    """Return the value of an expression.

    :raises NameError: a name is not known.
    """
    text = compile(ast.fix_missing_locations(ast.Expression(expr)), "<index>", "eval")
    return eval(text, {"__builtins__": {}, **FUNCTIONS}, dict(known))  # noqa: S307
