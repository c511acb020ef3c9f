"""Turn programs with constructs of DaCe into graphs by DaCe's own parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import dace
from dace.config import set_temporary
from dace.frontend.python.parser import DaceProgram

from sdgrad.errors import ArgumentError, ParseError, SdgradError
from sdgrad.lift.dace_functions import OF_SYMBOLS, sized, sizes_of
from sdgrad.lift.frontend_functions import known_functions

STAMP = "__sdfg_stamp__"
"""The method by which an object that programs call, and that may change, tells whether it has."""


@dataclass(frozen=True)
class Stamped:
    """An object that tells when it changes, with what it told."""

    called: Any
    stamp: Any

    @staticmethod
    def of(called: Any) -> Stamped:
        """Return an object with what it tells now."""
        return Stamped(called, getattr(called, STAMP)())

    def holds(self) -> bool:
        """True if the object tells the same."""
        return bool(getattr(self.called, STAMP)() == self.stamp)


def as_program(f: Callable, arguments: Mapping[str, Any] | None = None) -> DaceProgram:
    """Return the ``dace.program`` of a function; symbols in annotations are the sizes of arguments like these."""
    sizes = sizes_of(f, arguments or {})
    if isinstance(f, DaceProgram):
        return dace.program(sized(f.f, sizes)) if sizes and f.objname is None else f
    if not isinstance(f, FunctionType):
        raise ArgumentError(f"expected a Python function or a @dace.program, got {type(f).__name__}")
    return dace.program(sized(f, sizes))


def parse(program: DaceProgram, arguments: Mapping[str, Any]) -> dace.SDFG:
    """Return the graph of a program for arguments of these shapes and dtypes.

    :raises ParseError: DaCe's parser does not take it, or it would call back into Python.
    """
    name = program.f.__name__
    # lines of the source, not of DaCe's parser: those it looks up on the stack, which takes a tenth of the time
    lines = set_temporary("compiler", "lineinfo", value="python")
    # what is called in a map would be simplified, whatever is said below
    plain = set_temporary("optimizer", "automatic_simplification", value=False)
    try:
        with lines, plain, known_functions():
            sdfg = program.to_sdfg(**arguments, simplify=False, validate=False)
    except SdgradError:
        raise
    except Exception as error:  # the parser raises errors of many kinds; all mean the same to a user
        raise ParseError(f"DaCe cannot turn '{name}' into a graph: {error}") from error
    _refuse_callbacks(sdfg, name)
    _give_values(sdfg, getattr(program.f, OF_SYMBOLS, {}))
    return sdfg


def _give_values(sdfg: dace.SDFG, values: Mapping[str, int]) -> None:
    """Replace symbols of a graph by numbers."""
    known = {n: str(v) for n, v in values.items() if n not in sdfg.arrays}
    if known:
        sdfg.replace_dict(known, replace_keys=False)
        for name in known.keys() & sdfg.symbols.keys():
            sdfg.remove_symbol(name)


def _refuse_callbacks(sdfg: dace.SDFG, name: str) -> None:
    called = {str(f) for f in sdfg.callback_mapping.values()}
    called |= {name for name, dtype in sdfg.symbols.items() if isinstance(dtype, dace.callback)}
    if called:
        raise ParseError(
            f"'{name}' calls {', '.join(sorted(called))}, which is no function the graph can hold: DaCe would call "
            "back into Python. Write it with NumPy functions that are supported, or as a @dace.program"
        )


def stamped(program: DaceProgram) -> list[Stamped]:
    """Return the objects that a parsed program calls, and programs that it calls call."""
    found, todo = [], [program.resolver] if program.resolver is not None else []
    while todo:
        closure = todo.pop()
        found += [Stamped.of(v) for _, v in closure.closure_sdfgs.values() if hasattr(v, STAMP)]
        todo += [c for _, c in closure.nested_closures]
    return found


def closure_of(program: Any, sdfg: dace.SDFG) -> dict[str, Any]:
    """Return the global and closure arrays that the graph of a program takes as arguments."""
    found = {}
    for name, resolve in getattr(program, "closure_arg_mapping", {}).items():
        if name in sdfg.arrays:
            found[name] = resolve() if callable(resolve) else resolve
    return found
