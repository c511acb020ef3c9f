"""Products of stacks of matrices in memory with any steps, as C++ that calls BLAS for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dace
import sympy

LETTERS = {dace.float32: "s", dace.float64: "d", dace.complex64: "c", dace.complex128: "z"}
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


@dataclass(frozen=True)
class Stack:
    """Matrices in memory: extents and steps, those of rows and columns last."""

    extents: tuple[Any, ...]
    steps: tuple[Any, ...]

    @property
    def transposed(self) -> Stack:
        return Stack(
            (*self.extents[:-2], self.extents[-1], self.extents[-2]), (*self.steps[:-2], self.steps[-1], self.steps[-2])
        )

    def by_rows(self) -> Any:
        """The distance of rows that lie in memory as lines; None where they do not."""
        rows, columns = self.extents[-2:]
        between, within = self.steps[-2:]
        if columns != 1 and within != 1:
            return None
        if rows == 1:
            return sympy.Max(columns, 1)
        return None if (between < columns) == True else between  # noqa: E712 (symbolic: what is known to overlap)

    def offset(self, counters: Sequence[str]) -> str:
        """The place of the matrix that counters of the result's stack stand for; extents of one are repeated."""
        own = counters[len(counters) - len(self.extents) + 2 :]
        terms = [
            f"{c} * int64_t({_printed(step)})"
            for c, n, step in zip(own, self.extents[:-2], self.steps[:-2], strict=True)
            if n != 1
        ]
        return " + ".join(terms) or "0"


def stacked(edge: Any, desc: Any) -> Stack:
    """The stack that an edge moves."""
    steps = [step for _, _, step in edge.data.subset.ndrange()]
    return Stack(tuple(edge.data.subset.size()), tuple(s * k for s, k in zip(desc.strides, steps, strict=True)))


def stacked_products(node: Any, state: Any, sdfg: Any) -> str | None:
    """The code of a ``BatchedMatMul``; None where BLAS cannot walk one of its operands."""
    if node.transA or node.transB or node.alpha != 1 or node.beta != 0:
        return None
    edges = {(e.dst_conn or e.src_conn): e for e in state.all_edges(node)}
    a, b, c = (stacked(edges[n], sdfg.arrays[edges[n].data.data]) for n in ("_a", "_b", "_c"))
    dtype = sdfg.arrays[edges["_c"].data.data].dtype
    names = ("_a", "_b")
    if c.by_rows() is None:  # (A B)^T = B^T A^T
        a, b, c, names = b.transposed, a.transposed, c.transposed, ("_b", "_a")
    how = []
    for operand in (a, b):
        if (lead := operand.by_rows()) is not None:
            how.append(("CblasNoTrans", lead))
        elif (lead := operand.transposed.by_rows()) is not None:
            how.append(("CblasTrans", lead))
        else:
            return None
    lead = c.by_rows()
    if lead is None:
        return None
    counters = [f"__stack_{k}" for k in range(len(c.extents) - 2)]
    loops = "".join(
        f"for (int64_t {i} = 0; {i} < {_printed(n)}; ++{i})\n" for i, n in zip(counters, c.extents[:-2], strict=True)
    )
    one, zero = NUMBERS[dtype]
    sizes = ", ".join(_printed(n) for n in (c.extents[-2], c.extents[-1], a.extents[-1]))
    return (
        f"{loops}cblas_{LETTERS[dtype]}gemm(CblasRowMajor, {how[0][0]}, {how[1][0]}, {sizes}, {one}, "
        f"{names[0]} + {a.offset(counters)}, {_printed(how[0][1])}, "
        f"{names[1]} + {b.offset(counters)}, {_printed(how[1][1])}, "
        f"{zero}, _c + {c.offset(counters)}, {_printed(lead)});"
    )


def _printed(n: Any) -> str:
    return dace.symbolic.symstr(n, cpp_mode=True)
