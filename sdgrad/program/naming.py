"""Collect the names a program uses, and know the names that DaCe and C++ reserve."""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from sdgrad.program.custom_call import CustomCall
from sdgrad.program.kept import kept
from sdgrad.program.names import Names
from sdgrad.program.tree import Block, Leaf, Loop, Node, Program, SymbolAssign, local_names, walk

RESERVED = frozenset({
    "abs", "acos", "acosh", "alignas", "alignof", "and", "and_eq", "asin", "asinh", "asm", "atan", "atan2", "atanh",
    "auto", "bitand", "bitor", "bool", "break", "case", "catch", "cbrt", "ceil", "char", "class", "compl",
    "complex", "conj", "const", "copysign", "cos", "cosh", "dace", "default", "delete", "do", "double", "else",
    "enum", "erf", "erfc", "exp", "exp2", "expm1", "explicit", "export", "extern", "fabs", "false", "float",
    "floor", "fmax", "fmin", "fmod", "for", "friend", "goto", "hypot", "if", "imag", "inline", "int", "ipow", "j0",
    "j1", "jn", "lgamma", "log", "log10", "log1p", "log2", "long", "max", "min", "mutable", "namespace", "new",
    "not", "not_eq", "operator", "or", "or_eq", "pow", "private", "protected", "public", "real", "register",
    "requires", "return", "rint", "round", "short", "sign", "signed", "sin", "sinh", "sizeof", "sqrt", "static",
    "std", "struct", "switch", "tan", "tanh", "template", "tgamma", "this", "throw", "true", "trunc", "try",
    "typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor", "xor_eq",
    "y0", "y1", "yn", "char8_t", "char16_t", "char32_t", "co_await", "co_return", "co_yield", "concept", "consteval",
    "constexpr", "constinit", "const_cast", "decltype", "dynamic_cast", "mod", "noexcept", "nullptr",
    "reinterpret_cast", "static_assert", "static_cast", "thread_local", "typeid", "wchar_t", "assert", "errno",
    "stderr", "stdin", "stdout", "EOF", "HUGE_VAL", "I", "INFINITY", "NAN", "NULL", "RAND_MAX", "linux", "unix",
    "__state", "nan", "inf", "NaN", "Inf", "isnan", "isinf", "isfinite", "signbit", "nextafter", "remainder",
    "heaviside", "logical_not", "reciprocal", "int_floor", "int_ceil", "py_mod", "py_floor", "sgn"
})  # fmt: skip
"""Words that mean something else in generated C++: keywords, and functions that a container would hide."""

UNSAFE_SYMBOLS = RESERVED | set(dir(sympy))
"""Names that mean something else where expressions over symbols are parsed or printed."""

MACROS = "M_"
"""How constants of the C library begin."""

APART = "_apart"
"""How the names of tasklets end whose instances do not meet."""

STREAMED = "streamed"
"""How the connectors of stores begin that go around the cache."""

RETURN = "__return"  # what DaCe calls a function's result; __return_0, __return_1, ... for several


STATUS = "sdgrad_status"
"""How the arguments begin that hold the number of a check that failed: of all runs of a program in a call."""


ORDER, GROUP = "sdgrad_order", "sdgrad_group"
"""The argument that keeps communications in their order, and how those with a communicator's handles begin."""


def is_shared(name: str) -> bool:
    """True of an argument of a program that is the same in all programs that it calls."""
    return name.startswith((ORDER, GROUP))


def is_status(name: str) -> bool:
    """True if a container holds the number of a check that failed."""
    return name.startswith(STATUS)


def is_returned(name: str) -> bool:
    """True if a container is the result of a function, by DaCe's naming."""
    return name.startswith(RETURN)


def returned(program: Program) -> tuple[str, ...]:
    """Return the names of a function's results, in order."""
    return tuple(sorted(filter(is_returned, program.arguments), key=lambda n: int(n[len(RETURN) + 1 :] or 0)))


def own_arguments(program: Program) -> list[str]:
    """Return the names of a function's arguments, without its results."""
    return [n for n in program.arguments if not is_returned(n)]


def result_names(results: Sequence[str]) -> list[str]:
    """Return DaCe's names for the results of a function."""
    return [RETURN] if len(results) == 1 else [f"{RETURN}_{k}" for k in range(len(results))]


def without_results(program: Program, names: Names) -> dict[str, str]:
    """Return a name for every container, so that none is a function's result."""
    return {n: names.fresh(f"inner{n[1:]}") if is_returned(n) else n for n in program.containers}


def safe_symbol(name: str) -> str:
    """Return a name for a symbol: the same, unless it means something else."""
    plain = name not in UNSAFE_SYMBOLS and not name.startswith(MACROS)
    return name if plain else f"{name}_k"


def all_names(program: Program) -> Names:
    """Return every name the program uses as taken, so that new ones are new."""
    taken = {*program.containers, *program.symbols, *program.constants}
    return Names(taken | names_in(program.body))


def names_in(block: Block) -> set[str]:
    """Return the names that nodes of a block bring: parameters, symbols, values and containers of their own."""
    return set().union(*map(_own_names, walk(block)))


@kept
def _own_names(node: Node) -> set[str]:
    taken = local_names(node) | {p.name for p in getattr(node, "params", ())}
    if isinstance(node, Leaf):
        taken |= node.defined
    if isinstance(node, (Loop, SymbolAssign)):
        taken.add(node.symbol)
    if isinstance(node, CustomCall):
        taken |= node.containers.keys() | names_in(node.block)
    return taken


def plain_names(program: Program) -> dict[str, str]:
    """Return other names for containers whose names mean something else in C++."""
    clashing = [n for n in program.containers if n in RESERVED or n.startswith(MACROS)]
    if not clashing:
        return {}
    names = all_names(program)
    return {n: names.fresh(f"{n}_") for n in clashing}
