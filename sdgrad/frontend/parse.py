"""From a Python function to an SDFG: NumPy-style functions and ``@dace.program`` objects alike."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import dace
import numpy as np
from dace.config import set_temporary
from dace.frontend.python.parser import DaceProgram

import sdgrad.frontend.replacements  # noqa: F401  (registers NumPy functions with DaCe's frontend)
from sdgrad.convert.callables import python_function
from sdgrad.errors import ArgumentError, ParseError, SdgradError
from sdgrad.frontend.reading import rewriting
from sdgrad.frontend.sizes import sizing_arguments
from sdgrad.frontend.syntax import definition
from sdgrad.frontend.unknown import unknown_functions
from sdgrad.symbolic.expr import Expr, free_names


def as_program(f: Callable) -> DaceProgram:
    """The ``dace.program`` of a function."""
    if isinstance(f, DaceProgram):
        return f
    if not inspect.isfunction(f):
        raise ArgumentError(f"expected a Python function or a @dace.program, got {type(f).__name__}")
    return dace.program(f)


@functools.cache
def _sizing(function: Callable) -> frozenset[str]:
    found = definition(function)  # None where there is no source: DaCe says so when it parses
    return frozenset(sizing_arguments(found)) if found is not None else frozenset()


def sizes(f: Any, arguments: Mapping[str, Any]) -> dict[str, int]:
    """The integer arguments that a function makes shapes of: another value is another program."""
    names = _sizing(python_function(f))
    return {n: int(v) for n, v in arguments.items() if n in names and isinstance(v, (int, np.integer))}


def parse(f: Callable, arguments: Mapping[str, Any]) -> dace.SDFG:
    """The SDFG of a function for arguments of these shapes and dtypes."""
    return _to_sdfg(as_program(f), arguments)


STAMP = "__sdfg_stamp__"
"""The method by which an object that programs call, and that may change, tells whether it has."""


def stamped(program: DaceProgram) -> list[tuple[Any, Hashable]]:
    """Objects that a parsed program calls, and programs that it calls call, with their stamps."""
    found, todo = [], [program.resolver] if program.resolver is not None else []
    while todo:
        closure = todo.pop()
        found += [(v, getattr(v, STAMP)()) for _, v in closure.closure_sdfgs.values() if hasattr(v, STAMP)]
        todo += [c for _, c in closure.nested_closures]
    return found


def closure_of(program: Any, sdfg: dace.SDFG) -> dict[str, Any]:
    """Global and closure arrays that the graph of a program takes as arguments."""
    found = {}
    for name, resolve in getattr(program, "closure_arg_mapping", {}).items():
        if name in sdfg.arrays:
            found[name] = resolve() if callable(resolve) else resolve
    return found


def _to_sdfg(program: DaceProgram, given: Mapping[str, Any], fixed: Mapping[str, Expr] | None = None) -> dace.SDFG:
    name = program.f.__name__
    try:
        inspect.getsource(program.f)
    except (OSError, TypeError) as error:
        hint = "define it in a file or a notebook cell"
        raise ParseError(f"the source of '{name}' cannot be read ({error}); {hint}") from None
    problems: list[ParseError] = []
    try:
        # lines of the source, not of the frontend: those it looks up on the stack, which takes a tenth of the time
        lines = set_temporary("compiler", "lineinfo", value="python")
        # what is called in a map would be simplified, whatever is said below
        plain = set_temporary("optimizer", "automatic_simplification", value=False)
        with rewriting(program.f, given, {**sizes(program.f, given), **(fixed or {})}) as problems, lines, plain:
            sdfg = program.to_sdfg(**given, simplify=False, validate=False)
    except SdgradError:
        raise
    except Exception as error:  # the frontend raises errors of many kinds; all mean the same to a user
        if problems:
            raise problems[-1] from error
        unknown = unknown_functions(program.f)
        hint = f"\nNo replacement is known for {'; '.join(unknown)}" if unknown else ""
        raise ParseError(f"cannot turn '{name}' into a graph: {error}{hint}") from error
    callbacks = {str(f) for f in sdfg.callback_mapping.values()}
    callbacks |= {name for name, dtype in sdfg.symbols.items() if isinstance(dtype, dace.callback)}
    if callbacks:
        called = ", ".join(sorted(callbacks))
        raise ParseError(
            f"'{name}' calls {called}, which is no function the graph can hold: DaCe would call back into "
            "Python. Write it with NumPy functions that are supported, or as a @dace.program"
        )
    return sdfg


def parse_for_descriptors(
    f: Callable, descs: Mapping[str, dace.data.Data], fixed: Mapping[str, Expr] | None = None
) -> dace.SDFG:
    """The SDFG of a function for arguments of these descriptors; ``fixed`` are expressions of symbols."""
    program = dace.program(python_function(f))
    fixed = fixed or {}
    program.global_vars |= {n: dace.symbol(n, dace.int64) for n in free_names(*fixed.values())}
    return _to_sdfg(program, {**descs, **dict.fromkeys(fixed, dace.data.Scalar(dace.int64))}, fixed)
