"""Define the library node of decompositions of matrices: eigenvalues, singular values, orthogonal factors.

LAPACK computes them (``sdgrad_lapack.h``). Their derivatives are recorded in NumPy's terms, where the nodes are made.
"""

from __future__ import annotations

from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.libraries.blas_operands import BLAS_TYPES
from sdgrad.runtime.libraries.triangular_solve import LOOPS, cpp_tasklet, operands

HEADER = str(INCLUDE / "sdgrad_lapack.h")
CODE = {
    "eigh": "sdgrad::eigh({rows}, _a, {a}, _w, _v, {v});",
    "svd": "sdgrad::svd({rows}, {columns}, _a, {a}, _u, {u}, _s, _v, {v});",
    "qr": "sdgrad::qr({rows}, {columns}, {kept}, _a, {a}, _q, {q}, _r, {r});",
}
RESULTS = {"eigh": ("_w", "_v"), "svd": ("_u", "_s", "_v"), "qr": ("_q", "_r")}
"""Connectors of the results: vectors are ``_w`` and ``_s``, which are real."""
VECTORS = ("_w", "_s")


def is_of_lapack(node: Decomposition, state: dace.SDFGState, sdfg: dace.SDFG) -> bool:
    """True if LAPACK has the type of the matrix."""
    return all(sdfg.arrays[e.data.data].dtype in BLAS_TYPES for e in state.in_edges(node))


def decompose(node: Decomposition, state: dace.SDFGState, sdfg: dace.SDFG, how: str) -> nd.Tasklet:
    """Generate the tasklet of a decomposition.

    :param how: ``"lapack"``, or why there is none.
    :raises TypeError: there is no LAPACK for these operands.
    """
    if how != "lapack":
        raise TypeError(f"'{node.label}' needs LAPACK, and {how}")
    sizes, dtype = operands(node, state, sdfg, "_a", vectors=VECTORS)
    kept = {e.src_conn: e.data.subset.size() for e in state.out_edges(node)}
    columns = kept[RESULTS[node.kind][0]][-1]
    code = CODE[node.kind].format(kept=columns, **sizes)
    real = {dace.complex64: dace.float32, dace.complex128: dace.float64}.get(dtype, dtype)
    found = {c: dace.pointer(real if c in VECTORS else dtype) for c in RESULTS[node.kind]}
    return cpp_tasklet(node, {"_a": dace.pointer(dtype)}, found, code, HEADER)


@dace.library.expansion
class ExpandNothing(ExpandTransformation):
    """Refuse to expand without LAPACK."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: Decomposition, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Raise an error."""
        return decompose(node, state, sdfg, "sdgrad.config.blas is 'none'")


@dace.library.node
class Decomposition(nd.LibraryNode):
    """Decompose a matrix ``_a``.

    ``eigh``: ascending eigenvalues ``_w`` and columns of eigenvectors ``_v`` of the Hermitian matrix whose lower
    triangle ``_a`` has; ``svd``: ``_a = _u diag(_s) _v``, thin; ``qr``: ``_a = _q _r``.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandNothing}
    default_implementation: ClassVar[str] = LOOPS

    kind = properties.Property(dtype=str, default="eigh")

    def __init__(self, kind: str = "eigh") -> None:
        super().__init__(kind, inputs={"_a"}, outputs={*RESULTS[kind]})
        self.kind = kind
