"""Systems of linear equations in two steps, so that the factors of a matrix serve several of them: nodes for graphs."""

from __future__ import annotations

from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.libraries.triangular_solve import LOOPS, operands

HEADER = str(INCLUDE / "sdgrad_factors.h")
FACTORIZE = "sdgrad::factorize_by_{how}({rows}, _a, {a}, _f, {f}, _p);"
SOLVE = "sdgrad::solve_by_{how}({rows}, {columns}, _f, {f}, _p, _b, {b}, _x, {x}, {adjoint});"


def factorize(node: Factorization, state: dace.SDFGState, sdfg: dace.SDFG, how: str) -> nd.Tasklet:
    """A call that copies the matrix, and factorizes the copy.

    :param how: by ``"blas"``, or by ``"loops"``.
    """
    sizes, dtype = operands(node, state, sdfg, "_f", vectors=("_p",))
    found = {"_f": dace.pointer(dtype), "_p": dace.pointer(dace.int32)}
    return _tasklet(node, {"_a": dace.pointer(dtype)}, found, FACTORIZE.format(how=how, **sizes))


def solve(node: FactoredSolve, state: dace.SDFGState, sdfg: dace.SDFG, how: str) -> nd.Tasklet:
    """A call that copies the right side, and solves in place."""
    sizes, dtype = operands(node, state, sdfg, "_x", vectors=("_p",))
    given = {"_f": dace.pointer(dtype), "_p": dace.pointer(dace.int32), "_b": dace.pointer(dtype)}
    code = SOLVE.format(how=how, adjoint=str(node.adjoint).lower(), **sizes)
    return _tasklet(node, given, {"_x": dace.pointer(dtype)}, code)


def _tasklet(node: nd.LibraryNode, given: dict, found: dict, code: str) -> nd.Tasklet:
    header = f'#include "{HEADER}"\n'
    return nd.Tasklet(node.label, given, found, code, language=dace.Language.CPP, code_global=header)


@dace.library.expansion
class ExpandFactorization(ExpandTransformation):
    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: Factorization, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        return factorize(node, state, sdfg, "loops")


@dace.library.expansion
class ExpandFactoredSolve(ExpandTransformation):
    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: FactoredSolve, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        return solve(node, state, sdfg, "loops")


@dace.library.node
class Factorization(nd.LibraryNode):
    """The triangular factors ``_f`` of a square matrix ``_a``, and interchanges ``_p`` (32-bit integers).

    Of what they are is known to :class:`FactoredSolve` only. For derivatives they stand for the matrix: their tangent
    and their cotangent are the matrix's.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandFactorization}
    default_implementation: ClassVar[str] = LOOPS

    def __init__(self, name: str = "factorization") -> None:
        super().__init__(name, inputs={"_a"}, outputs={"_f", "_p"})


@dace.library.node
class FactoredSolve(nd.LibraryNode):
    """``A X = B``, or with ``adjoint`` ``A^H X = B``, for the matrix that :class:`Factorization` took apart."""

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandFactoredSolve}
    default_implementation: ClassVar[str] = LOOPS

    adjoint = properties.Property(dtype=bool, default=False)

    def __init__(self, name: str = "factored_solve", adjoint: bool = False) -> None:
        super().__init__(name, inputs={"_f", "_p", "_b"}, outputs={"_x"})
        self.adjoint = adjoint
