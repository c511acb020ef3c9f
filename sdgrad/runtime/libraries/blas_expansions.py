"""Expand BLAS and LAPACK library nodes to calls of the wheel's OpenBLAS, or to loops if BLAS cannot take the operands.

Every node gets one expansion under the name :data:`IMPLEMENTATION`. There are three kinds:

- :class:`Delegated`: to DaCe's own call of OpenBLAS, else to DaCe's loops (:class:`Product` tries cuBLAS before);
- :class:`Chosen`: nodes of this library, which have code with and without BLAS;
- :class:`ExpandBatchedMatMul`: stacks of matrices with any strides.

``Ger`` and ``Axpy`` have no library form in DaCe: they stay maps, which memory bounds anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import dace
import dace.library
from dace import dtypes
from dace import nodes as nd
from dace.libraries.blas.nodes import batched_matmul, dot, gemm, gemv, matmul
from dace.libraries.lapack.nodes import getrf, getri, getrs, potrf
from dace.libraries.linalg.nodes import cholesky, inv, solve
from dace.transformation.transformation import ExpandTransformation

from sdgrad.program.implementations import choose_implementation
from sdgrad.runtime.libraries import cholesky as cholesky_adjoint
from sdgrad.runtime.libraries import cublas, lapack, lu, triangular_solve
from sdgrad.runtime.libraries.batched_matmul import name_addend, stacked_products
from sdgrad.runtime.libraries.blas_environment import ScipyOpenBLAS
from sdgrad.runtime.libraries.blas_operands import (
    BLAS_TYPES,
    gemm_operands,
    gemv_operands,
    lapack_operands,
    operand_edges,
    plain_operands,
)
from sdgrad.runtime.libraries.triangular_solve import LOOPS

IMPLEMENTATION = "ScipyOpenBLAS"
"""The name under which the expansions are registered with DaCe's library nodes."""

Expanded: TypeAlias = "dace.SDFG | nd.CodeNode"
Fits: TypeAlias = Callable[[nd.LibraryNode, dace.SDFGState, dace.SDFG], bool]


# DaCe's calls -----------------------------------------------------------------------------------------------
class Delegated(ExpandTransformation):
    """Expand to DaCe's call of a BLAS routine if ``fits``, and to ``otherwise`` if not; refuse if there is neither."""

    environments = [ScipyOpenBLAS]
    call: type[ExpandTransformation]
    otherwise: type[ExpandTransformation] | None
    fits: Fits

    @classmethod
    def expansion(cls, node: Any, state: Any, sdfg: Any, *args: Any, **kwargs: Any) -> Expanded:
        """Return the call or the loops.

        :raises TypeError: LAPACK cannot take the operands, and there are no loops.
        """
        if cls.fits(node, state, sdfg):
            return _retargeted(cls.call.expansion(node, state, sdfg, *args, **kwargs))
        if cls.otherwise is None:
            types = sorted({str(sdfg.arrays[e.data.data].dtype) for e in operand_edges(node, state)})
            raise TypeError(
                f"{type(node).__name__} '{node.label}' has operands of type {', '.join(types)}: LAPACK takes "
                f"one of {', '.join(map(str, BLAS_TYPES))} for all, without steps; convert or copy them first"
            )
        return cls.otherwise.expansion(node, state, sdfg, *args, **kwargs)


class Product(Delegated):
    """Expand a product to cuBLAS if its operands are in device memory, and give an addend a connector of its own."""

    @classmethod
    def expansion(cls, node: Any, state: Any, sdfg: Any, *args: Any, **kwargs: Any) -> Expanded:
        """Return the node for cuBLAS, the call, or the loops."""
        there = cublas.on_device(node, state, sdfg)
        expanded = there if there is not None else super().expansion(node, state, sdfg, *args, **kwargs)
        return name_addend(expanded, node, state) if isinstance(expanded, nd.Tasklet) else expanded


def _retargeted(expansion: Expanded) -> Expanded:
    """Replace the system's OpenBLAS by the wheel's as the implementation of nodes inside an expansion."""
    if isinstance(expansion, dace.SDFG):
        for inner, _ in expansion.all_nodes_recursive():
            if isinstance(inner, nd.LibraryNode) and inner.implementation == "OpenBLAS":
                inner.implementation = IMPLEMENTATION
    return expansion


def _registered(node: type[nd.LibraryNode], base: type[ExpandTransformation], **members: Any) -> Any:
    """Derive the expansion of a node from a kind of expansion, and register it."""
    expansion = type(f"Expand{node.__name__}", (base,), {"__module__": __name__, **members})
    return dace.library.register_expansion(node, IMPLEMENTATION)(expansion)


def _delegated(
    node: type[nd.LibraryNode],
    call: type[ExpandTransformation],
    otherwise: type[ExpandTransformation] | None,
    fits: Fits = plain_operands,
    base: type[Delegated] = Delegated,
) -> Any:
    """Register the expansion of a node that DaCe has a call for."""
    return _registered(node, base, call=call, otherwise=otherwise, fits=staticmethod(fits))


ExpandGemm = _delegated(gemm.Gemm, gemm.ExpandGemmOpenBLAS, gemm.ExpandGemmPure, gemm_operands, Product)
ExpandGemv = _delegated(gemv.Gemv, gemv.ExpandGemvOpenBLAS, gemv.ExpandGemvPure, gemv_operands, Product)
ExpandDot = _delegated(dot.Dot, dot.ExpandDotOpenBLAS, dot.ExpandDotPure)
ExpandGetrf = _delegated(getrf.Getrf, getrf.ExpandGetrfOpenBLAS, None, lapack_operands)
ExpandGetri = _delegated(getri.Getri, getri.ExpandGetriOpenBLAS, None, lapack_operands)
ExpandGetrs = _delegated(getrs.Getrs, getrs.ExpandGetrsOpenBLAS, None, lapack_operands)
ExpandPotrf = _delegated(potrf.Potrf, potrf.ExpandPotrfOpenBLAS, None, lapack_operands)
ExpandSolve = _delegated(solve.Solve, solve.ExpandSolveOpenBLAS, None, lapack_operands)
ExpandInv = _delegated(inv.Inv, inv.ExpandInvOpenBLAS, None, lapack_operands)
ExpandCholesky = _delegated(cholesky.Cholesky, cholesky.ExpandCholeskyOpenBLAS, None, lapack_operands)


@dace.library.register_expansion(matmul.MatMul, IMPLEMENTATION)
class ExpandMatMul(ExpandTransformation):
    """Expand a product to the node for its operands, which expands as that kind does here."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: matmul.MatMul, state: Any, sdfg: Any, **_: Any) -> nd.LibraryNode:
        """Return the node."""
        made = matmul.SpecializeMatMul.expansion(node, state, sdfg)
        choose_implementation(made)
        return made


# Nodes of this library ----------------------------------------------------------------------------------------
class Chosen(ExpandTransformation):
    """Expand to a tasklet that is generated in one way ``with_blas``, if ``fits``, and in another way ``without``."""

    environments = [ScipyOpenBLAS]
    generate: Callable[..., nd.Tasklet]
    with_blas: Any
    without: Any
    fits: Fits

    @classmethod
    def expansion(cls, node: Any, state: Any, sdfg: Any, **_: Any) -> nd.Tasklet:
        """Return the tasklet."""
        how = cls.with_blas if cls.fits(node, state, sdfg) else cls.without
        return cls.generate(node, state, sdfg, how)


def _chosen(node: type[nd.LibraryNode], generate: Callable[..., nd.Tasklet], ways: tuple[Any, Any], fits: Fits) -> Any:
    """Register the expansion of a node of this library; ``ways`` are those with and without BLAS."""
    with_blas, without = (staticmethod(w) if callable(w) else w for w in ways)
    members = {"with_blas": with_blas, "without": without, "generate": staticmethod(generate)}
    return _registered(node, Chosen, fits=staticmethod(fits), **members)


_SOLVERS = (triangular_solve.call_of_blas, triangular_solve.substitution)
ExpandTriangularSolve = _chosen(triangular_solve.TriangularSolve, triangular_solve.tasklet, _SOLVERS, plain_operands)
ExpandCholeskyAdjoint = _chosen(
    cholesky_adjoint.CholeskyAdjoint, cholesky_adjoint.adjoint, ("blocks", "rows"), plain_operands
)
ExpandFactorization = _chosen(lu.Factorization, lu.factorize, ("blas", "loops"), lapack_operands)
ExpandLapackCall = _chosen(
    lapack.LapackCall, lapack.call, ("lapack", "its operands are of no type that it has"), lapack.is_of_lapack
)
ExpandFactoredSolve = _chosen(lu.FactoredSolve, lu.solve, ("blas", "loops"), lapack_operands)


# Stacks of matrices -----------------------------------------------------------------------------------------
@dace.library.register_expansion(batched_matmul.BatchedMatMul, LOOPS)
class ExpandBatchedMatMulLoops(ExpandTransformation):
    """Expand products of stacks of matrices to one map, with NumPy's broadcasting of the stacks.

    DaCe's own loops index a stack of extent 1, or one with fewer dimensions, as if it were whole.
    """

    environments: list[type] = []

    @classmethod
    def expansion(cls, node: Any, state: Any, sdfg: Any, **_: Any) -> dace.SDFG:
        """Return a graph that clears the result and adds up the products."""
        inner = dace.SDFG(f"{node.label}_loops")
        sizes = {e.dst_conn or e.src_conn: cls._add_operand(inner, e, sdfg) for e in operand_edges(node, state)}
        batch = [f"__i{d}" for d in range(len(sizes["_c"]) - 2)]
        ranges = {p: f"0:{n}" for p, n in zip(batch, sizes["_c"], strict=False)}
        ranges |= {"__m": f"0:{sizes['_c'][-2]}", "__n": f"0:{sizes['_c'][-1]}"}

        def element(name: str, row: str, column: str, **more: str) -> dace.Memlet:
            """Subscript an operand: the last counters of the stack, 0 in dimensions that are broadcast."""
            stack = sizes[name][:-2]
            indices = batch[len(batch) - len(stack) :]
            kept = [i if n != 1 else "0" for i, n in zip(indices, stack, strict=True)]
            return dace.Memlet(f"{name}[{', '.join([*kept, row, column])}]", **more)

        clear = inner.add_state("clear")
        clear.add_mapped_tasklet("clear", ranges, {}, "c = 0", {"c": element("_c", "__m", "__n")}, external_edges=True)
        inner.add_state_after(clear, "multiply").add_mapped_tasklet(
            "multiply",
            ranges | {"__k": f"0:{sizes['_a'][-1]}"},
            {"a": element("_a", "__m", "__k"), "b": element("_b", "__k", "__n")},
            "c = a * b",
            {"c": element("_c", "__m", "__n", wcr="lambda x, y: x + y")},
            external_edges=True,
        )
        return inner

    @staticmethod
    def _add_operand(inner: dace.SDFG, edge: Any, sdfg: dace.SDFG) -> list[Any]:
        """Add the array of a connector to the inner graph, and return its extents."""
        desc, sizes = sdfg.arrays[edge.data.data], list(edge.data.subset.size())
        steps = [step for _, _, step in edge.data.subset.ndrange()]
        strides = [stride * step for stride, step in zip(desc.strides, steps, strict=True)]
        inner.add_array(edge.dst_conn or edge.src_conn, sizes, desc.dtype, desc.storage, strides=strides)
        return sizes


@dace.library.register_expansion(batched_matmul.BatchedMatMul, IMPLEMENTATION)
class ExpandBatchedMatMul(ExpandTransformation):
    """Expand products of stacks of matrices to a loop of BLAS calls, whatever the strides between matrices are."""

    environments = [ScipyOpenBLAS]

    @classmethod
    def expansion(cls, node: Any, state: Any, sdfg: Any, **_: Any) -> Expanded:
        """Return the node for cuBLAS, the loop of calls, or plain loops."""
        there = cublas.on_device(node, state, sdfg)
        if there is not None:
            return there
        code = stacked_products(node, state, sdfg) if plain_operands(node, state, sdfg) else None
        if code is None:
            return ExpandBatchedMatMulLoops.expansion(node, state, sdfg)
        pointer = dace.pointer(sdfg.arrays[state.out_edges(node)[0].data.data].dtype)
        ins = {c: pointer for c in node.in_connectors}
        return nd.Tasklet(node.label, ins, dict.fromkeys(node.out_connectors, pointer), code, dtypes.Language.CPP)
