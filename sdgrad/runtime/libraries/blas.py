"""Choose the BLAS that library nodes expand to: the wheel's OpenBLAS, Intel MKL, or none.

DaCe expands a matrix product to three nested loops unless a BLAS library is configured.
:mod:`~sdgrad.runtime.libraries.blas_environment` provides OpenBLAS, and
:mod:`~sdgrad.runtime.libraries.blas_expansions` expands nodes to its calls. This module makes a choice the default of
nodes that name no implementation, and follows the setting ``config.blas``.
"""

from __future__ import annotations

from typing import get_args

from dace.libraries.blas.environments.intel_mkl import IntelMKL
from dace.libraries.blas.nodes import batched_matmul, dot, gemm, gemv
from dace.libraries.lapack.nodes import getrf, getri, getrs, potrf
from dace.libraries.linalg.nodes import cholesky, inv, solve, tensordot

from sdgrad.config import BlasKind, watch
from sdgrad.runtime.libraries.blas_environment import get_blas_threads, library_path, set_blas_threads
from sdgrad.runtime.libraries.blas_expansions import IMPLEMENTATION
from sdgrad.runtime.libraries.blas_operands import BLAS_TYPES
from sdgrad.runtime.libraries.cholesky import CholeskyAdjoint
from sdgrad.runtime.libraries.lu import FactoredSolve, Factorization
from sdgrad.runtime.libraries.triangular_solve import LOOPS, TriangularSolve

__all__ = [
    "BLAS_TYPES",
    "IMPLEMENTATION",
    "active_blas",
    "get_blas_threads",
    "library_path",
    "set_blas_threads",
    "use_blas",
]

_NODES = (
    gemm.Gemm,
    gemv.Gemv,
    dot.Dot,
    batched_matmul.BatchedMatMul,
    getrf.Getrf,
    getri.Getri,
    getrs.Getrs,
    potrf.Potrf,
    solve.Solve,
    inv.Inv,
    cholesky.Cholesky,
    CholeskyAdjoint,
    TriangularSolve,
    Factorization,
    FactoredSolve,
)

_DEFAULTS_OF_DACE = {node: node.default_implementation for node in (*_NODES, tensordot.TensorDot)}


def use_blas(kind: BlasKind) -> None:
    """Set the default implementation of library nodes, in this process, from now on.

    ``"openblas"`` is the wheel's OpenBLAS, ``"mkl"`` an Intel MKL that DaCe finds (``MKLROOT`` or Anaconda). ``"none"``
    restores DaCe's defaults: plain loops for products, and no factorizations without a system LAPACK. (Stacks of
    matrices get this library's loops, which broadcast.) A node whose ``implementation`` is set keeps it, and compiled
    programs stay as they are.

    :raises ImportError: the library is not installed.
    """
    if kind not in get_args(BlasKind):
        raise ValueError(f"blas is one of {', '.join(map(repr, get_args(BlasKind)))}, not {kind!r}")
    if kind == "openblas":
        library_path()
    if kind == "mkl" and not IntelMKL.is_installed():
        raise ImportError("BLAS 'mkl' needs an Intel MKL with headers: set MKLROOT to its folder")
    choice = {"openblas": IMPLEMENTATION, "mkl": "MKL", "none": None}[kind]
    for node, default in _DEFAULTS_OF_DACE.items():
        node.default_implementation = choice if choice in node.implementations else default
    if choice is None:
        batched_matmul.BatchedMatMul.default_implementation = LOOPS
    else:
        tensordot.TensorDot.default_implementation = "TTGT"  # transpose, then one matrix product


def active_blas() -> BlasKind:
    """Return the kind that :func:`use_blas` set last."""
    kinds: dict[str | None, BlasKind] = {IMPLEMENTATION: "openblas", "MKL": "mkl"}
    return kinds.get(gemm.Gemm.default_implementation, "none")


watch("blas", use_blas)
