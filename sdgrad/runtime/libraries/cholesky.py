"""Define the library node of the adjoint of a Cholesky factorization (Smith 1995; Murray 2016).

The C++ functions are in ``sdgrad_cholesky.h``: blocked with BLAS, or row by row without.
"""

from __future__ import annotations

from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.libraries.triangular_solve import LOOPS, cpp_tasklet, operands

HEADER = str(INCLUDE / "sdgrad_cholesky.h")

CODE = """for (int64_t i = 0; i < {rows}; ++i)
    for (int64_t j = 0; j < {rows}; ++j) _g[i * ({g}) + j] = j <= i ? _s[i * ({s}) + j] : 0;
sdgrad_cholesky_adjoint_{how}(int({rows}), _l, int({l}), _g, int({g}));"""


def adjoint(node: CholeskyAdjoint, state: dace.SDFGState, sdfg: dace.SDFG, how: str) -> nd.Tasklet:
    """Generate the tasklet: copy the lower triangle of the cotangent, and overwrite the copy with the result.

    :param how: ``"blocks"`` calls BLAS; ``"rows"`` works for every type.
    """
    sizes, dtype = operands(node, state, sdfg, "_g")
    given, found = ({c: dace.pointer(dtype) for c in names} for names in (("_l", "_s"), ("_g",)))
    return cpp_tasklet(node, given, found, CODE.format(how=how, **sizes), HEADER)


@dace.library.expansion
class ExpandRows(ExpandTransformation):
    """Expand without BLAS."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: CholeskyAdjoint, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return adjoint(node, state, sdfg, "rows")


@dace.library.node
class CholeskyAdjoint(nd.LibraryNode):
    """The adjoint of a real ``A = L L^T``: the cotangent ``_g`` of A, from L (``_l``) and its cotangent ``_s``.

    It reads the lower triangles of its inputs. ``_g`` is for the lower triangle of A, and zero above the diagonal.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandRows}
    default_implementation: ClassVar[str] = LOOPS

    def __init__(self, name: str = "cholesky_adjoint") -> None:
        super().__init__(name, inputs={"_l", "_s"}, outputs={"_g"})
