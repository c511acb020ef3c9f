"""Define the library node of products with sparse matrices (``sdgrad_sparse.h``).

Its derivatives are recorded in its own terms, where the nodes are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.libraries.triangular_solve import LOOPS, cpp_tasklet

HEADER = str(INCLUDE / "sdgrad_sparse.h")


@dataclass(frozen=True)
class Kind:
    """Hold how a product is called, what it takes, and what it gives: names of connectors, without ``_``."""

    code: str
    given: tuple[str, ...]
    result: str


X, Y, G = (f"_{n}, {{{n}_s0}}, {{{n}_s1}}" for n in "xyg")
COMPRESSED, LISTED = ("data", "start", "at", "x"), ("data", "row", "column", "x")
KINDS = {
    "gather": Kind(f"sparse_gather({{y_n0}}, {{y_n1}}, _data, _start, _at, {X}, {Y});", COMPRESSED, "y"),
    "spread": Kind(f"sparse_spread({{x_n0}}, {{y_n0}}, {{y_n1}}, _data, _start, _at, {X}, {Y});", COMPRESSED, "y"),
    "sampled": Kind(f"sparse_sampled({{g_n0}}, {{g_n1}}, _start, _at, {G}, {X}, _d);", ("start", "at", "g", "x"), "d"),
    "listed": Kind(f"sparse_listed({{data_n0}}, {{y_n0}}, {{y_n1}}, _data, _row, _column, {X}, {Y});", LISTED, "y"),
    "sampled_listed": Kind(
        f"sparse_sampled_listed({{d_n0}}, {{g_n1}}, _row, _column, {G}, {X}, _d);", ("row", "column", "g", "x"), "d"
    ),
    "repeats": Kind("sparse_repeats({start_n0} - 1, _start, _at, _r);", ("start", "at"), "r"),
    "repeats_listed": Kind("sparse_repeats_listed({row_n0}, _row, _column, _r);", ("row", "column"), "r"),
}


def _sizes(connector: str, desc: Any) -> dict[str, str]:
    """Return extents and strides of an operand; a vector is a matrix of one column."""
    shape, strides = [*desc.shape, 1][:2], [*desc.strides, 1][:2]
    numbers = {"n0": shape[0], "n1": shape[1], "s0": strides[0], "s1": strides[1]}
    return {f"{connector[1:]}_{k}": dace.symbolic.symstr(n, cpp_mode=True) for k, n in numbers.items()}


@dace.library.expansion
class ExpandSparseProduct(ExpandTransformation):
    """Expand to a call."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: SparseProduct, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        given = {e.dst_conn: sdfg.arrays[e.data.data] for e in state.in_edges(node)}
        found = {e.src_conn: sdfg.arrays[e.data.data] for e in state.out_edges(node)}
        sizes: dict[str, str] = {}
        for connector, desc in {**given, **found}.items():
            sizes |= _sizes(connector, desc)
        takes, gives = ({c: dace.pointer(d.dtype) for c, d in own.items()} for own in (given, found))
        return cpp_tasklet(node, takes, gives, "sdgrad::" + KINDS[node.kind].code.format(**sizes), HEADER)


@dace.library.node
class SparseProduct(nd.LibraryNode):
    """Multiply a sparse matrix A by dense columns.

    ``gather``: ``_y = A _x``, where row r of A has the elements ``_data[k]`` in the columns ``_at[k]``, for k from
    ``_start[r]`` to ``_start[r + 1]``; ``spread``: ``_y = A^T _x``; ``sampled``: ``_d[k]``: the element of ``_g _x^T``
    at place k of A; ``listed``, ``sampled_listed``: the same for places in lists of rows and columns. ``repeats`` and
    ``repeats_listed``: ``_r`` is 1 if two elements are at one place.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandSparseProduct}
    default_implementation: ClassVar[str] = LOOPS

    kind = properties.Property(dtype=str, default="gather")

    def __init__(self, kind: str = "gather") -> None:
        known = KINDS[kind]
        super().__init__(f"sparse_{kind}", inputs={f"_{c}" for c in known.given}, outputs={f"_{known.result}"})
        self.kind = kind
