"""Define the library nodes of an LU factorization and of a solve by its factors.

A linear system in two steps: the adjoint of the solve reuses the factors (Giles 2008). The C++ functions are in
``sdgrad_factors.h``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.libraries.triangular_solve import LOOPS, cpp_tasklet, operands

HEADER = str(INCLUDE / "sdgrad_factors.h")
FACTORIZE = "sdgrad::factorize_by_{how}({rows}, _a, {a}, _f, {f}, _p);"
SOLVE = "sdgrad::solve_by_{how}({rows}, {columns}, _f, {f}, _p, _b, {b}, _x, {x}, {adjoint});"


def factorize(node: Factorization, state: dace.SDFGState, sdfg: dace.SDFG, how: str) -> nd.Tasklet:
    """Generate the tasklet of a factorization: copy the matrix, and factorize the copy in place.

    :param how: ``"blas"`` calls LAPACK; ``"loops"`` works for every type.
    """
    sizes, dtype = operands(node, state, sdfg, "_f", vectors=("_p",))
    found = {"_f": dace.pointer(dtype), "_p": dace.pointer(dace.int32)}
    return cpp_tasklet(node, {"_a": dace.pointer(dtype)}, found, FACTORIZE.format(how=how, **sizes), HEADER)


def solve(node: FactoredSolve, state: dace.SDFGState, sdfg: dace.SDFG, how: str) -> nd.Tasklet:
    """Generate the tasklet of a solve: copy the right side, and solve in place.

    :param how: ``"blas"`` calls LAPACK; ``"loops"`` works for every type.
    """
    sizes, dtype = operands(node, state, sdfg, "_x", vectors=("_p",))
    given = {"_f": dace.pointer(dtype), "_p": dace.pointer(dace.int32), "_b": dace.pointer(dtype)}
    code = SOLVE.format(how=how, adjoint=str(node.adjoint).lower(), **sizes)
    return cpp_tasklet(node, given, {"_x": dace.pointer(dtype)}, code, HEADER)


@dace.library.expansion
class ExpandFactorization(ExpandTransformation):
    """Expand a factorization without LAPACK."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: Factorization, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return factorize(node, state, sdfg, "loops")


@dace.library.expansion
class ExpandFactoredSolve(ExpandTransformation):
    """Expand a solve without LAPACK."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: FactoredSolve, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return solve(node, state, sdfg, "loops")


@dace.library.node
class Factorization(nd.LibraryNode):
    """Factorize a square matrix ``_a`` with partial pivoting: packed factors ``_f``, interchanges ``_p`` (32-bit).

    Only :class:`FactoredSolve` reads the factors. Derivatives treat them as the matrix itself: the tangent and the
    cotangent of ``_f`` are those of ``_a``.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandFactorization}
    default_implementation: ClassVar[str] = LOOPS

    def __init__(self, name: str = "factorization") -> None:
        super().__init__(name, inputs={"_a"}, outputs={"_f", "_p"})


@dace.library.node
class FactoredSolve(nd.LibraryNode):
    """Solve ``A X = B``, or with ``adjoint`` ``A^H X = B``, by the factors that :class:`Factorization` made of A."""

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandFactoredSolve}
    default_implementation: ClassVar[str] = LOOPS

    adjoint = properties.Property(dtype=bool, default=False)

    def __init__(self, name: str = "factored_solve", adjoint: bool = False) -> None:
        super().__init__(name, inputs={"_f", "_p", "_b"}, outputs={"_x"})
        self.adjoint = adjoint
