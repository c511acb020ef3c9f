"""Tell functions with constructs of DaCe, which only its parser reads, from plain ones."""

from __future__ import annotations

from types import CodeType, FunctionType, ModuleType
from typing import Any

import sympy
from dace import data as dt
from dace import symbolic


def needs_dace(f: Any) -> bool:
    """True of functions with constructs of DaCe: maps, tasklets, symbols, which only its parser reads."""
    function = getattr(f, "f", f)
    if not isinstance(function, FunctionType):
        return False
    annotated = any(_of_dace(a) for a in function.__annotations__.values())
    return annotated or any(_of_dace(function.__globals__.get(n)) for n in _names(function.__code__))


def _names(code: CodeType) -> set[str]:
    """Return the global names that code and the code in it mention."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _of_dace(value: Any) -> bool:
    """True of DaCe itself, its symbols, and types with symbols in their shapes."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] == "dace"
    if isinstance(value, dt.Array):
        return any(not isinstance(n, int) and sympy.sympify(n).free_symbols for n in value.shape)
    return isinstance(value, symbolic.symbol)
