"""Decide whether the operands of a library node are what BLAS and LAPACK accept.

BLAS takes one floating-point type for all operands, host memory, and matrices with one unit stride whose other stride
(the leading dimension) is at least the length of a line.
"""

from __future__ import annotations

from typing import Any

import dace
from dace import dtypes
from dace import nodes as nd

BLAS_TYPES = (dace.float32, dace.float64, dace.complex64, dace.complex128)
"""Element types of BLAS."""


def operand_edges(node: nd.LibraryNode, state: dace.SDFGState) -> list[Any]:
    """List the edges of a node that move data."""
    return [e for e in state.all_edges(node) if e.data is not None and e.data.data is not None]


def plain_operands(node: nd.LibraryNode, state: dace.SDFGState, sdfg: dace.SDFG) -> bool:
    """True if all operands have one BLAS type, are in host memory, and are accessed without steps."""
    edges = operand_edges(node, state)
    descs = [sdfg.arrays[e.data.data] for e in edges]
    return (
        len({d.dtype for d in descs}) == 1
        and descs[0].dtype in BLAS_TYPES
        and all(dtypes.can_access(dtypes.ScheduleType.CPU_Multicore, d.storage) for d in descs)
        and _without_steps(edges)
    )


def gemm_operands(node: nd.LibraryNode, state: dace.SDFGState, sdfg: dace.SDFG) -> bool:
    """True if the operands are matrices for ``gemm``, and an addend is updated in place.

    With ``beta`` BLAS overwrites its addend: an addend in another array is for DaCe's loops.
    """
    if not plain_operands(node, state, sdfg):
        return False
    names = {}
    for edge in operand_edges(node, state):
        matrix = _matrix(edge, sdfg.arrays[edge.data.data])
        if matrix is None or not _leading_dimension_fits(*matrix):
            return False
        names[edge.dst_conn or edge.src_conn] = edge.data.data
    return bool(names.get("_cin", names["_c"]) == names["_c"])


def gemv_operands(node: nd.LibraryNode, state: dace.SDFGState, sdfg: dace.SDFG) -> bool:
    """True if the operands are a matrix and vectors for ``gemv``."""
    if not plain_operands(node, state, sdfg):
        return False
    (edge,) = (e for e in state.in_edges(node) if e.dst_conn == "_A")
    matrix = _matrix(edge, sdfg.arrays[edge.data.data])
    return matrix is None or _leading_dimension_fits(*matrix)


def lapack_operands(node: nd.LibraryNode, state: dace.SDFGState, sdfg: dace.SDFG) -> bool:
    """True if the matrices have one BLAS type and no steps; pivots and status are 32-bit integers."""
    edges = operand_edges(node, state)
    types = {sdfg.arrays[e.data.data].dtype for e in edges} - {dace.int32}
    return len(types) == 1 and types.pop() in BLAS_TYPES and _without_steps(edges)


def _without_steps(edges: list[Any]) -> bool:
    """True if every subset has step 1 in all dimensions."""
    return all(step == 1 for e in edges for _, _, step in e.data.subset.ndrange())


def _matrix(edge: Any, desc: dace.data.Data) -> tuple[list[Any], list[Any]] | None:
    """Return the extents and strides of the matrix that an edge moves; None if it moves no matrix."""
    sizes, strides = list(edge.data.subset.size()), list(desc.strides)
    if len(sizes) > 2:
        kept = [i for i, n in enumerate(sizes) if n != 1]
        sizes, strides = [sizes[i] for i in kept], [strides[i] for i in kept]
    return (sizes, strides) if len(sizes) == 2 else None


def _leading_dimension_fits(sizes: list[Any], strides: list[Any]) -> bool:
    """True if one stride is 1 and the other one is not known to be shorter than a line.

    If both strides are 1, DaCe takes the last dimension for the contiguous one.
    """
    (rows, columns), (row_stride, column_stride) = sizes[-2:], strides[-2:]
    if column_stride == 1:
        return bool((row_stride < columns) != True)  # noqa: E712 (a symbolic comparison may be undecided)
    if row_stride == 1:
        return bool((column_stride < rows) != True)  # noqa: E712
    return False
