"""Define the library node that solves systems with a triangular matrix: by BLAS (``trsm``), or by substitution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime.libraries.batched_matmul import LETTERS, NUMBERS

LOOPS = "SdgradLoops"
"""The name of expansions to this library's own loops, for nodes that have no loops in DaCe, or wrong ones."""

COPY = """for (int64_t i = 0; i < {rows}; ++i)
    for (int64_t j = 0; j < {columns}; ++j) _x[i * ({x}) + j] = _b[i * ({b}) + j];
"""
CALL = """cblas_{letter}trsm(CblasRowMajor, {side}, CblasLower, {how}, CblasNonUnit, {rows}, {columns}, {one},
    _a, {a}, _x, {x});"""
# Forward substitution, or backward (down = 1): unknown k, minus the terms of the unknowns m that are solved already.
SUBSTITUTION = """for (int64_t other = 0; other < {others}; ++other)
    for (int64_t count = 0; count < {order}; ++count) {{
        const int64_t k = {down} ? {order} - 1 - count : count;
        auto rest = _x[{at_k}];
        for (int64_t before = 0; before < count; ++before) {{
            const int64_t m = {down} ? {order} - 1 - before : before;
            rest -= {factor} * _x[{at_m}];
        }}
        _x[{at_k}] = rest / {diagonal};
    }}"""


def substitution(node: TriangularSolve, dtype: dace.typeclass, sizes: dict[str, str]) -> str:
    """Generate forward or backward substitution, for every element type."""
    left = node.side == "left"
    down = left == node.adjoint  # backward
    row, column = ("k", "m") if left != node.adjoint else ("m", "k")
    conj = "std::conj" if node.adjoint and dtype in (dace.complex64, dace.complex128) else ""
    place = (lambda k: f"{k} * ({sizes['x']}) + other") if left else (lambda k: f"other * ({sizes['x']}) + {k}")
    return SUBSTITUTION.format(
        others=sizes["columns" if left else "rows"],
        order=sizes["rows" if left else "columns"],
        down=int(down),
        at_k=place("k"),
        at_m=place("m"),
        factor=f"{conj}(_a[{row} * ({sizes['a']}) + {column}])",
        diagonal=f"{conj}(_a[k * ({sizes['a']}) + k])",
    )


def call_of_blas(node: TriangularSolve, dtype: dace.typeclass, sizes: dict[str, str]) -> str:
    """Generate the call of ``trsm``."""
    how = "CblasConjTrans" if node.adjoint else "CblasNoTrans"
    side = "CblasLeft" if node.side == "left" else "CblasRight"
    return CALL.format(letter=LETTERS[dtype], side=side, how=how, one=NUMBERS[dtype][0], **sizes)


def tasklet(node: TriangularSolve, state: dace.SDFGState, sdfg: dace.SDFG, solve: Callable[..., str]) -> nd.Tasklet:
    """Generate the tasklet: copy the right side, and solve in place.

    :param solve: generates the second part: :func:`call_of_blas` or :func:`substitution`.
    """
    sizes, dtype = operands(node, state, sdfg, "_x")
    code = COPY.format(**sizes) + solve(node, dtype, sizes)
    given, found = ({c: dace.pointer(dtype) for c in names} for names in (("_a", "_b"), ("_x",)))
    return cpp_tasklet(node, given, found, code)


def cpp_tasklet(node: nd.LibraryNode, given: dict, found: dict, code: str, header: str = "") -> nd.Tasklet:
    """Make the C++ tasklet of a node.

    :param given: types of its input connectors; ``found`` of its outputs.
    :param header: what the code includes.
    """
    included = f'#include "{header}"\n' if header else ""
    return nd.Tasklet(node.label, given, found, code, language=dace.Language.CPP, code_global=included)


def operands(
    node: nd.LibraryNode, state: dace.SDFGState, sdfg: dace.SDFG, result: str, vectors: Sequence[str] = ()
) -> tuple[dict[str, str], dace.typeclass]:
    """Print the sizes of a node's operands as C++, and return the element type.

    The sizes are ``rows`` and ``columns`` of the result, and the leading dimension of every matrix by its connector.

    :param vectors: connectors of operands that are no matrices.
    :raises TypeError: the rows of a matrix are not contiguous.
    """
    edges = {(e.dst_conn or e.src_conn): e for e in state.all_edges(node)}
    matrices = {c: _matrix(e, sdfg.arrays[e.data.data]) for c, e in edges.items() if c not in vectors}
    if any(columns[1] != 1 for _, columns in matrices.values()):
        raise TypeError(f"'{node.label}' takes matrices whose rows are contiguous: copy them first")
    rows, columns = (n for n, _ in matrices[result])
    numbers = {"rows": rows, "columns": columns, **{c[1:]: m[0][1] for c, m in matrices.items()}}
    sizes = {k: dace.symbolic.symstr(n, cpp_mode=True) for k, n in numbers.items()}
    dtype = sdfg.arrays[edges[result].data.data].dtype
    return sizes, dtype


def _matrix(edge: Any, desc: dace.data.Data) -> list[tuple[Any, Any]]:
    """Return extent and stride of the rows and of the columns of the matrix that an edge moves."""
    steps = [step for _, _, step in edge.data.subset.ndrange()]
    found = list(zip(edge.data.subset.size(), (s * k for s, k in zip(desc.strides, steps, strict=True)), strict=True))
    wide = [x for x in found if x[0] != 1]
    return wide if len(wide) == 2 else found[-2:]


@dace.library.expansion
class ExpandLoops(ExpandTransformation):
    """Expand to substitution."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: TriangularSolve, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return tasklet(node, state, sdfg, substitution)


@dace.library.node
class TriangularSolve(nd.LibraryNode):
    """Solve ``op(L) X = B`` (``side="left"``) or ``X op(L) = B``, where ``op(L)`` is L or its adjoint.

    L is the lower triangle of the square matrix ``_a``; ``_b`` and ``_x`` have two dimensions.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandLoops}
    default_implementation: ClassVar[str] = LOOPS

    side = properties.Property(dtype=str, default="left", choices=["left", "right"])
    adjoint = properties.Property(dtype=bool, default=False)

    def __init__(self, name: str = "triangular_solve", side: str = "left", adjoint: bool = False) -> None:
        super().__init__(name, inputs={"_a", "_b"}, outputs={"_x"})
        self.side, self.adjoint = side, adjoint
