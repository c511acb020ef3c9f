"""Generate C++ that multiplies stacks of matrices: a loop nest over the stack around one BLAS call.

The strides of the stack may be anything; those of a matrix must be what ``gemm`` accepts (one unit stride).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dace
import sympy
from dace import nodes as nd

LETTERS = {dace.float32: "s", dace.float64: "d", dace.complex64: "c", dace.complex128: "z"}
"""The letters of BLAS routines by element type."""
CONSTANTS = "dace::blas::BlasConstants::Get()"
NUMBERS = {
    dace.float32: ("1.0f", "0.0f"),
    dace.float64: ("1.0", "0.0"),
    dace.complex64: (
        f"{CONSTANTS}.Complex64Pone()",
        f"{CONSTANTS}.Complex64Zero()",
    ),
    dace.complex128: (
        f"{CONSTANTS}.Complex128Pone()",
        f"{CONSTANTS}.Complex128Zero()",
    ),
}
"""One and zero by element type, in C++."""


@dataclass(frozen=True)
class Stack:
    """A stack of matrices in memory: extents and strides, those of rows and columns last."""

    extents: tuple[Any, ...]
    steps: tuple[Any, ...]

    @property
    def transposed(self) -> Stack:
        """Return the stack of the transposed matrices, in the same memory."""
        return Stack(
            (*self.extents[:-2], self.extents[-1], self.extents[-2]), (*self.steps[:-2], self.steps[-1], self.steps[-2])
        )

    def by_rows(self) -> Any:
        """Return the leading dimension of row-major matrices; None if rows are not contiguous, or overlap."""
        rows, columns = self.extents[-2:]
        between, within = self.steps[-2:]
        if columns != 1 and within != 1:
            return None
        if rows == 1:
            return sympy.Max(columns, 1)
        return None if (between < columns) == True else between  # noqa: E712 (symbolic: what is known to overlap)

    def offset(self, counters: Sequence[str]) -> str:
        """Return the offset of a matrix in C++, for the counters of the result's stack; extents of 1 are broadcast."""
        own = counters[len(counters) - len(self.extents) + 2 :]
        terms = [
            f"{c} * int64_t({printed(step)})"
            for c, n, step in zip(own, self.extents[:-2], self.steps[:-2], strict=True)
            if n != 1
        ]
        return " + ".join(terms) or "0"


@dataclass(frozen=True)
class Factor:
    """An operand as BLAS takes it: the connector, the transposition flag and the leading dimension."""

    connector: str
    stack: Stack
    is_transposed: bool
    lead: Any


@dataclass(frozen=True)
class Products:
    """``C = A B`` for each matrix of stacks; the result is row-major."""

    factors: tuple[Factor, Factor]
    result: Factor
    dtype: dace.typeclass

    @property
    def batch(self) -> tuple[Any, ...]:
        """Return the extents of the stack."""
        return self.result.stack.extents[:-2]

    @property
    def sizes(self) -> tuple[Any, Any, Any]:
        """Return the numbers of rows, columns, and terms of a sum."""
        return (*self.result.stack.extents[-2:], self.factors[0].stack.extents[-1])


def stacked(edge: Any, desc: Any) -> Stack:
    """Return the stack that an edge moves."""
    steps = [step for _, _, step in edge.data.subset.ndrange()]
    return Stack(tuple(edge.data.subset.size()), tuple(s * k for s, k in zip(desc.strides, steps, strict=True)))


def products_of(a: tuple[str, Stack], b: tuple[str, Stack], c: tuple[str, Stack], dtype: Any) -> Products | None:
    """Describe a product of stacks, each with its connector; None if BLAS cannot take the strides of one.

    A column-major result is computed as ``C^T = B^T A^T``.
    """
    if c[1].by_rows() is None:
        a, b, c = ((n, s.transposed) for n, s in (b, a, c))
    first, second, result = (_factor(*x) for x in (a, b, c))
    if first is None or second is None or result is None or result.is_transposed:
        return None
    return Products((first, second), result, dtype)


def _factor(connector: str, stack: Stack) -> Factor | None:
    """Describe an operand, row-major or transposed; None if its matrices are neither."""
    for lead, is_transposed in ((stack.by_rows(), False), (stack.transposed.by_rows(), True)):
        if lead is not None:
            return Factor(connector, stack, is_transposed, lead)
    return None


def counters_of(batch: Sequence[Any]) -> tuple[list[str], str]:
    """Return the names of counters for the matrices of a stack, and the heads of the C++ loops over them."""
    counters = [f"__stack_{k}" for k in range(len(batch))]
    heads = (f"for (int64_t {i} = 0; {i} < {printed(n)}; ++{i})\n" for i, n in zip(counters, batch, strict=True))
    return counters, "".join(heads)


def stacked_products(node: Any, state: Any, sdfg: Any) -> str | None:
    """Generate the code of a ``BatchedMatMul``; None if BLAS cannot take its operands, or for other factors."""
    if node.transA or node.transB or node.alpha != 1 or node.beta != 0:
        return None
    edges = {(e.dst_conn or e.src_conn): e for e in state.all_edges(node)}
    a, b, c = ((n, stacked(edges[n], sdfg.arrays[edges[n].data.data])) for n in ("_a", "_b", "_c"))
    found = products_of(a, b, c, sdfg.arrays[edges["_c"].data.data].dtype)
    if found is None:
        return None
    counters, loops = counters_of(found.batch)
    how = ["CblasTrans" if f.is_transposed else "CblasNoTrans" for f in found.factors]
    one, zero = NUMBERS[found.dtype]
    left, right, out = (
        f"{f.connector} + {f.stack.offset(counters)}, {printed(f.lead)}" for f in (*found.factors, found.result)
    )
    return (
        f"{loops}cblas_{LETTERS[found.dtype]}gemm(CblasRowMajor, {how[0]}, {how[1]}, "
        f"{', '.join(map(printed, found.sizes))}, {one}, {left}, {right}, {zero}, {out});"
    )


def name_addend(tasklet: nd.Tasklet, node: nd.LibraryNode, state: dace.SDFGState) -> nd.Tasklet:
    """Rename an input connector ``_c`` to ``_cin`` if there is an output ``_c``: C++ would declare the name twice."""
    for name in sorted(set(tasklet.in_connectors) & set(tasklet.out_connectors)):
        tasklet.in_connectors = {(f"{n}in" if n == name else n): t for n, t in tasklet.in_connectors.items()}
        for edge in state.in_edges_by_connector(node, name):
            edge.dst_conn = f"{name}in"
        node.in_connectors = dict(tasklet.in_connectors)
    return tasklet


def printed(n: Any) -> str:
    """Print a size as C++."""
    return dace.symbolic.symstr(n, cpp_mode=True)
