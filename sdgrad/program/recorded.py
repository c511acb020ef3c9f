"""Remember the programs of recorded graphs: their functions may have rules of their own, which a graph cannot hold."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import dace

from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.custom_call import CustomCall, walk_into_calls
from sdgrad.program.tree import Program

MARK = "// recorded by sdgrad, of functions with derivatives of their own"
_programs: WeakKeyDictionary[dace.SDFG, tuple[str, Program]] = WeakKeyDictionary()


def remember(sdfg: dace.SDFG, program: Program) -> dace.SDFG:
    """Return a graph, and know from now on that it is this program in normal form, if that holds rules."""
    if any(isinstance(n, CustomCall) and n.rule is not None for n in walk_into_calls(program.body)):
        sdfg.append_global_code(MARK + "\n", "frame")
        _programs[sdfg] = sdfg.hash_sdfg(), program
    return sdfg


def recorded_program(sdfg: dace.SDFG) -> Program | None:
    """Return the program of a recorded graph with rules; None of any other graph.

    :raises DifferentiationError: the graph was changed, or copied, and its rules are lost.
    """
    if not any(MARK in code.as_string for code in sdfg.global_code.values()):
        return None
    known, program = _programs.get(sdfg, ("", None))
    if program is not None and known == sdfg.hash_sdfg():
        return program
    problem = Problem(
        f"graph '{sdfg.name}'",
        "it was changed or copied since it was recorded, and its functions have derivatives of their own "
        "(factorizations, rules of sdgrad.custom_vjp), which a graph does not hold",
        hint="differentiate the graph that sdgrad.to_sdfg returns as it is, and transform it afterwards",
    )
    raise DifferentiationError([problem])
