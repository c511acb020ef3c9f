"""What generated C++ needs before the code of a program."""

from __future__ import annotations

import ast
from collections.abc import Collection
from pathlib import Path

import dace

from sdgrad.program.tree import Block, Leaf, walk
from sdgrad.symbolic import code

MATH_HEADER = Path(__file__).parent.parent / "runtime" / "include" / "sdgrad_math.h"
OWN_FUNCTIONS = "sdgrad_"  # functions of generated code that the header above defines
SINGLE = {dace.float16, dace.float32, dace.complex64}
OVERLOADED = frozenset(  # of which the global namespace has C's functions alone, which compute in double precision
    [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "fabs",
        "floor",
        "fmax",
        "fmin",
        "fmod",
        "hypot",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "rint",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "tgamma",
        "trunc",
    ]
)


def prelude(block: Block, dtypes: Collection[dace.typeclass]) -> str:
    """Headers and declarations for the functions that a program of these types calls."""
    called = {
        code.callee(x)
        for n in walk(block)
        if isinstance(n, Leaf)
        for let in n.lets
        for x in ast.walk(let.expr)
        if isinstance(x, ast.Call)
    }
    header = f'#include "{MATH_HEADER}"\n' if any(name.startswith(OWN_FUNCTIONS) for name in called) else ""
    overloads = called & OVERLOADED if SINGLE & set(dtypes) else ()
    return header + "".join(f"using std::{name};\n" for name in sorted(overloads))
