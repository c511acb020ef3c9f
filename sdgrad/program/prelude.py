"""Write the headers and declarations that generated C++ needs before the code of a program."""

from __future__ import annotations

import ast
from collections.abc import Collection
from pathlib import Path

import dace

from sdgrad.program.reductions import EXTREMES
from sdgrad.program.tree import Block, Leaf, walk
from sdgrad.symbolic import code

TYPES = (("double", ""), ("float", "f"))
INCLUDE = Path(__file__).parent.parent / "runtime" / "include"
MATH_HEADER, SPECIAL_HEADER = INCLUDE / "sdgrad_math.h", INCLUDE / "sdgrad_special.h"
OWN_FUNCTIONS = "sdgrad_"  # functions of generated code that the first of these headers defines
SPECIAL_FUNCTIONS = ("scipy_", "special_")  # those of the second, for the host alone
OF_EXP = {"sdgrad_sigmoid", "sdgrad_sigmoid_slope"}  # functions of the header that call exp
PARTED = {"sin": "sdgrad_sin", "cos": "sdgrad_cos"}
"""Functions of the header that are calls of these, which the compiler does not see through."""
SINGLE = {dace.float16, dace.float32, dace.complex64}
COMPLEX = {dace.complex64, dace.complex128}
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


OF_COMPLEX = {"real", "imag"}
OF_TWO = {"atan2", "copysign", "fmax", "fmin", "fmod", "hypot", "pow"}
# Functions of which glibc has versions for several numbers at once (libmvec, accurate to four units in the last place).
# Its own header declares them for -ffast-math only, with which infinities and the order of sums are lost.
VECTOR_2_22 = frozenset({"cos", "exp", "log", "pow", "sin"})
VECTOR_2_35 = frozenset(
    {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cosh", "erf", "erfc", "exp2", "expm1"}
    | {"hypot", "log10", "log1p", "log2", "sinh", "tan", "tanh"}
)
VECTOR = """#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#if __GLIBC_PREREQ({version})
extern "C" {{
{declarations}}}
#endif
#endif
"""
DECLARATION = '__attribute__((simd("notinbranch"))) {type} {name}({operands}) noexcept;\n'


def prelude(block: Block, dtypes: Collection[dace.typeclass], device: bool = False) -> str:
    """Return headers and declarations for the functions that a program of these types calls.

    :param device: the functions are called by kernels, and CUDA has them for every type.
    """
    called = {name for n in walk(block) if isinstance(n, Leaf) for name in functions(n)}
    has_complex = bool(called & {"complex64", "complex128"}) or bool(COMPLEX & set(dtypes))
    own = has_complex or any(name.startswith(OWN_FUNCTIONS) for name in called)
    header = f'#include "{MATH_HEADER}"\n' if own else ""
    if device:
        return header
    if any(name.startswith(SPECIAL_FUNCTIONS) for name in called):
        header = f'#include "{SPECIAL_HEADER}"\n'
    overloads = called & OVERLOADED if SINGLE & set(dtypes) else frozenset[str]()
    if dace.float16 in dtypes:
        overloads -= OF_TWO  # DaCe's own of half precision and another number would be ambiguous
    overloads |= called & OF_COMPLEX  # of real numbers, too: cotangents of complex ones may be real
    text = header + "".join(f"using std::{name};\n" for name in sorted(overloads))
    return text + _vectorized(called & VECTOR_2_22, "2, 22") + _vectorized(called & VECTOR_2_35, "2, 35")


def host_prelude(block: Block, dtypes: Collection[dace.typeclass]) -> str:
    """Return what the host needs of a program with kernels, for leaves with functions that only the host has."""
    hosted = tuple(n for n in walk(block) if isinstance(n, Leaf) and calls_host(n))
    return prelude(hosted, dtypes) if hosted else ""


def calls_host(leaf: Leaf) -> bool:
    """True if a leaf calls functions that only the host has."""
    return any(name.startswith(SPECIAL_FUNCTIONS) for name in functions(leaf))


def is_vectorized(leaf: Leaf) -> bool:
    """True if the compiler may compute the last iterations of such a loop by other code than the rest."""
    return bool(functions(leaf) & (VECTOR_2_22 | VECTOR_2_35))


def functions(leaf: Leaf) -> set[str]:
    """Return the names of the functions that a leaf calls."""
    found = {code.callee(x) for let in leaf.lets for x in let.parts if isinstance(x, ast.Call)}
    found |= {EXTREMES[s.mode] for s in leaf.stores if s.mode in EXTREMES}
    found |= {"exp"} if found & OF_EXP else set()
    found |= {"pow"} if any(isinstance(x, ast.Pow) for let in leaf.lets for x in let.parts) else set()
    return found | {name for name, own in PARTED.items() if own in found}


def _vectorized(names: Collection[str], version: str) -> str:
    """Return the declarations of vector versions that glibc has since ``version``; empty without functions."""
    declared = [
        DECLARATION.format(type=t, name=n + end, operands=", ".join([t] * (2 if n in OF_TWO else 1)))
        for n in sorted(names)
        for t, end in TYPES
    ]
    return VECTOR.format(version=version, declarations="".join(declared)) if declared else ""
