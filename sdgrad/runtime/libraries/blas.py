"""Choose the BLAS that library nodes expand to: the wheel's OpenBLAS, Intel MKL, or none.

DaCe expands a matrix product to three nested loops unless a BLAS library is configured.
:mod:`~sdgrad.runtime.libraries.blas_environment` provides OpenBLAS, and
:mod:`~sdgrad.runtime.libraries.blas_expansions` expands nodes to its calls. This module makes a choice the
implementation of nodes that name none, in graphs of this library, and follows the setting ``config.blas``.
"""

from __future__ import annotations

from typing import get_args

from dace.libraries.blas.environments.intel_mkl import IntelMKL
from dace.libraries.blas.nodes import batched_matmul, dot, gemm, gemv, matmul
from dace.libraries.lapack.nodes import getrf, getri, getrs, potrf
from dace.libraries.linalg.nodes import cholesky, inv, solve

from sdgrad.config import BlasKind, watch
from sdgrad.program.implementations import IMPLEMENTATIONS
from sdgrad.runtime.libraries.blas_environment import get_blas_threads, library_path, set_blas_threads
from sdgrad.runtime.libraries.blas_expansions import IMPLEMENTATION
from sdgrad.runtime.libraries.blas_operands import BLAS_TYPES
from sdgrad.runtime.libraries.cholesky import CholeskyAdjoint
from sdgrad.runtime.libraries.lapack import LapackCall
from sdgrad.runtime.libraries.lu import FactoredSolve, Factorization
from sdgrad.runtime.libraries.triangular_solve import LOOPS, TriangularSolve

__all__ = [
    "BLAS_TYPES",
    "IMPLEMENTATION",
    "get_blas_threads",
    "library_path",
    "set_blas_threads",
    "use_blas",
]

_NODES = (
    matmul.MatMul,
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
    LapackCall,
    TriangularSolve,
    Factorization,
    FactoredSolve,
)


def use_blas(kind: BlasKind) -> None:
    """Set what library nodes expand to in graphs that this library writes from now on.

    ``"openblas"`` is the wheel's OpenBLAS, ``"mkl"`` an Intel MKL that DaCe finds (``MKLROOT`` or Anaconda). ``"none"``
    leaves DaCe's defaults: plain loops for products, and no factorizations without a system LAPACK. (Stacks of
    matrices get this library's loops, which broadcast.) A node whose ``implementation`` is set keeps it, compiled
    programs stay as they are, and so do graphs that are DaCe's alone.

    :raises ImportError: the library is not installed.
    """
    if kind not in get_args(BlasKind):
        raise ValueError(f"blas is one of {', '.join(map(repr, get_args(BlasKind)))}, not {kind!r}")
    if kind == "openblas":
        library_path()
    if kind == "mkl" and not IntelMKL.is_installed():
        raise ImportError("BLAS 'mkl' needs an Intel MKL with headers: set MKLROOT to its folder")
    choice = {"openblas": IMPLEMENTATION, "mkl": "MKL", "none": None}[kind]
    for node in _NODES:
        IMPLEMENTATIONS[node] = choice if choice in node.implementations else None
    IMPLEMENTATIONS[matmul.MatMul] = IMPLEMENTATION  # to one of the others
    if choice is None:
        IMPLEMENTATIONS[batched_matmul.BatchedMatMul] = LOOPS


watch("blas", use_blas)
