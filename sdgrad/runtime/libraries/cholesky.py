"""The adjoint of a Cholesky factorization: a node for graphs."""

from __future__ import annotations

from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.libraries.triangular_solve import LOOPS, operands

HEADER = str(INCLUDE / "sdgrad_cholesky.h")

CODE = """for (int64_t i = 0; i < {rows}; ++i)
    for (int64_t j = 0; j < {rows}; ++j) _g[i * ({g}) + j] = j <= i ? _s[i * ({s}) + j] : 0;
sdgrad_cholesky_adjoint_{how}(int({rows}), _l, int({l}), _g, int({g}));"""


def adjoint(node: CholeskyAdjoint, state: dace.SDFGState, sdfg: dace.SDFG, how: str) -> nd.Tasklet:
    """A copy of the cotangent, and a call that works in place."""
    sizes, dtype = operands(node, state, sdfg, "_g")
    given, found = ({c: dace.pointer(dtype) for c in names} for names in (("_l", "_s"), ("_g",)))
    code, header = CODE.format(how=how, **sizes), f'#include "{HEADER}"\n'
    return nd.Tasklet(node.label, given, found, code, language=dace.Language.CPP, code_global=header)


@dace.library.expansion
class ExpandRows(ExpandTransformation):
    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: CholeskyAdjoint, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        return adjoint(node, state, sdfg, "rows")


@dace.library.node
class CholeskyAdjoint(nd.LibraryNode):
    """``_g``, the gradient of the lower triangle of a real ``A = L L^T``, of ``_s``, the cotangent of L, and L.

    It has no entries above the diagonal, and reads none of L and of its cotangent.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandRows}
    default_implementation: ClassVar[str] = LOOPS

    def __init__(self, name: str = "cholesky_adjoint") -> None:
        super().__init__(name, inputs={"_l", "_s"}, outputs={"_g"})
