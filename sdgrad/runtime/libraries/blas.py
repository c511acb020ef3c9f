"""BLAS and LAPACK for generated code, without a system library.

DaCe expands a matrix product to three nested loops unless a BLAS library is configured. The wheel
``scipy-openblas32`` ships OpenBLAS with headers, so this module teaches DaCe to use that one:

- :class:`ScipyOpenBLAS` is the DaCe library environment: include folders, the library, its run path.
- One expansion for each node that has a BLAS form, registered under the name ``"ScipyOpenBLAS"``. An
  expansion takes what BLAS can take (one floating-point type, a unit stride, memory of the host) and hands
  everything else (integers, half precision, mixed types, strided views, broadcast batches) to DaCe's loops.
- :func:`use_blas` makes it, MKL, or nothing the default for nodes that name no implementation. A node whose
  ``implementation`` is set keeps it.

``Ger`` and ``Axpy`` have no library form in DaCe: they stay maps, which is as fast, since memory bounds them.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from collections.abc import Callable
from typing import Any, get_args

import dace
import dace.library
from dace import dtypes
from dace.libraries.blas.environments.intel_mkl import IntelMKL
from dace.libraries.blas.nodes import batched_matmul, dot, gemm, gemv
from dace.libraries.lapack.nodes import getrf, getri, getrs, potrf
from dace.libraries.linalg.nodes import cholesky, inv, solve, tensordot
from dace.sdfg.nodes import LibraryNode
from dace.transformation.transformation import ExpandTransformation

from sdgrad.config import BlasKind, watch
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.dlopen import load_library
from sdgrad.runtime.libraries import cublas
from sdgrad.runtime.libraries.batched_matmul import name_addend, stacked_products
from sdgrad.runtime.libraries.cholesky import CholeskyAdjoint, adjoint
from sdgrad.runtime.libraries.lu import FactoredSolve, Factorization, factorize
from sdgrad.runtime.libraries.lu import solve as solve_factored
from sdgrad.runtime.libraries.triangular_solve import LOOPS, TriangularSolve, call_of_blas, substitution, tasklet

IMPLEMENTATION = "ScipyOpenBLAS"
"""The name under which the expansions are registered with DaCe's library nodes."""

BLAS_TYPES = (dace.float32, dace.float64, dace.complex64, dace.complex128)


# The wheel --------------------------------------------------------------------------------------------------


@functools.cache
def _wheel_folder() -> str:
    """The folder of the ``scipy_openblas32`` package.

    It is looked up, not imported: importing it loads the library into the global symbol scope of the process,
    where SciPy's own copy would resolve to it.
    """
    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        raise ImportError("BLAS 'openblas' needs the package scipy-openblas32: pip install scipy-openblas32")
    return os.path.dirname(os.path.abspath(spec.origin))


@functools.cache
def library_path() -> str:
    """The path of the OpenBLAS library in the wheel."""
    folder = os.path.join(_wheel_folder(), "lib")
    names = sorted(n for n in os.listdir(folder) if n.startswith("libscipy_openblas") and not n.endswith(".a"))
    if not names:
        raise ImportError(f"no OpenBLAS library in {folder}: reinstall scipy-openblas32")
    return os.path.join(folder, names[0])


@functools.cache
def _library() -> ctypes.CDLL:
    return load_library(library_path())


def set_blas_threads(count: int) -> None:
    """Let OpenBLAS use ``count`` threads, in this process, from now on.

    The wheel brings threads of its own (pthreads), apart from those of OpenMP, on which DaCe's maps run. The
    environment variable ``OPENBLAS_NUM_THREADS`` sets the same number at the start; without it OpenBLAS takes
    every core.
    """
    if count < 1:
        raise ValueError(f"a number of threads is at least 1, not {count}")
    _library().scipy_openblas_set_num_threads(ctypes.c_int(count))


def get_blas_threads() -> int:
    """The number of threads OpenBLAS uses in this process."""
    return int(_library().scipy_openblas_get_num_threads())


# The environment --------------------------------------------------------------------------------------------


@dace.library.environment
class ScipyOpenBLAS:
    """OpenBLAS from the wheel ``scipy-openblas32``, found at run time by its path: nothing to install or
    export."""

    cmake_minimum_version = None
    cmake_packages: list[str] = []
    cmake_variables: dict[str, str] = {}
    cmake_compile_flags: list[str] = []
    cmake_files: list[str] = []

    headers = ["sdgrad_blas.h"]
    state_fields: list[str] = []
    init_code = ""
    finalize_code = ""
    dependencies: list[type] = []

    @staticmethod
    def cmake_includes() -> list[str]:
        return [
            str(INCLUDE),
            os.path.join(_wheel_folder(), "include"),
            os.path.join(os.path.dirname(dace.libraries.blas.__file__), "include"),
        ]

    @staticmethod
    def cmake_libraries() -> list[str]:
        return [library_path()]

    @staticmethod
    def cmake_link_flags() -> list[str]:
        return [f"-Wl,-rpath,{os.path.dirname(library_path())}"]

    @staticmethod
    def is_installed() -> bool:
        try:
            return os.path.isfile(library_path())
        except ImportError:
            return False


# What BLAS can take -----------------------------------------------------------------------------------------


def _edges(node, state) -> list:
    return [e for e in state.all_edges(node) if e.data is not None and e.data.data is not None]


def _plain_operands(node, state, sdfg) -> bool:
    """Whether all operands have one BLAS type, are in host memory, and are accessed without steps."""
    edges = _edges(node, state)
    descs = [sdfg.arrays[e.data.data] for e in edges]
    return (
        len({d.dtype for d in descs}) == 1
        and descs[0].dtype in BLAS_TYPES
        and all(dtypes.can_access(dtypes.ScheduleType.CPU_Multicore, d.storage) for d in descs)
        and all(step == 1 for e in edges for _, _, step in e.data.subset.ndrange())
    )


def _matrix(edge, desc) -> tuple[list, list] | None:
    """Rows, columns and strides of the matrix an edge moves, or None if it is none."""
    sizes, strides = list(edge.data.subset.size()), list(desc.strides)
    if len(sizes) > 2:
        kept = [i for i, n in enumerate(sizes) if n != 1]
        sizes, strides = [sizes[i] for i in kept], [strides[i] for i in kept]
    return (sizes, strides) if len(sizes) == 2 else None


def _leading_dimension_fits(sizes: list, strides: list) -> bool:
    """Whether BLAS can walk the last two dimensions: one unit stride, the other not shorter than a line.

    DaCe takes the last dimension for the contiguous one if both strides are 1.
    """
    (rows, columns), (row_stride, column_stride) = sizes[-2:], strides[-2:]
    if column_stride == 1:
        return bool((row_stride < columns) != True)  # noqa: E712 - symbolic: refuse only what is known to be shorter
    if row_stride == 1:
        return bool((column_stride < rows) != True)  # noqa: E712
    return False


def _gemm_fits(node, state, sdfg) -> bool:
    if not _plain_operands(node, state, sdfg):
        return False
    names = {}
    for edge in _edges(node, state):
        matrix = _matrix(edge, sdfg.arrays[edge.data.data])
        if matrix is None or not _leading_dimension_fits(*matrix):
            return False
        names[edge.dst_conn or edge.src_conn] = edge.data.data
    # With beta, BLAS updates its output in place: an addend kept elsewhere is for the loops.
    return names.get("_cin", names["_c"]) == names["_c"]


# The expansions ---------------------------------------------------------------------------------------------


def _retarget(expansion: Any) -> Any:
    """Give the library nodes inside an expansion this module's implementation in place of the system's
    OpenBLAS."""
    if isinstance(expansion, dace.SDFG):
        for inner, _ in expansion.all_nodes_recursive():
            if isinstance(inner, LibraryNode) and inner.implementation == "OpenBLAS":
                inner.implementation = IMPLEMENTATION
    return expansion


class _Expansion(ExpandTransformation):
    """Expands to DaCe's call of a BLAS routine where `fits` says so, and to `otherwise` elsewhere."""

    environments = [ScipyOpenBLAS]
    call: type[ExpandTransformation]
    otherwise: type[ExpandTransformation] | None = None
    fits: Callable[..., bool] = staticmethod(_plain_operands)

    @classmethod
    def expansion(cls, node, state, sdfg, *args, **kwargs):
        if cls.fits(node, state, sdfg):
            return _retarget(cls.call.expansion(node, state, sdfg, *args, **kwargs))
        if cls.otherwise is None:
            types = sorted({str(sdfg.arrays[e.data.data].dtype) for e in _edges(node, state)})
            raise TypeError(
                f"{type(node).__name__} '{node.label}' has operands of type {', '.join(types)}: LAPACK takes "
                f"one of {', '.join(map(str, BLAS_TYPES))} for all, without steps; convert or copy them first"
            )
        return cls.otherwise.expansion(node, state, sdfg, *args, **kwargs)


class _Product(_Expansion):
    """Products of matrices in a GPU's memory are left to cuBLAS."""

    @classmethod
    def expansion(cls, node, state, sdfg, *args, **kwargs):
        there = cublas.on_device(node, state, sdfg)
        return there if there is not None else super().expansion(node, state, sdfg, *args, **kwargs)


class _Update(_Product):
    """Products that may be added to what is there."""

    @classmethod
    def expansion(cls, node, state, sdfg, *args, **kwargs):
        expanded = super().expansion(node, state, sdfg, *args, **kwargs)
        return name_addend(expanded, node, state) if isinstance(expanded, dace.nodes.Tasklet) else expanded


@dace.library.register_expansion(gemm.Gemm, IMPLEMENTATION)
class ExpandGemm(_Update):
    call, otherwise, fits = gemm.ExpandGemmOpenBLAS, gemm.ExpandGemmPure, staticmethod(_gemm_fits)


@dace.library.register_expansion(gemv.Gemv, IMPLEMENTATION)
class ExpandGemv(_Update):
    call, otherwise = gemv.ExpandGemvOpenBLAS, gemv.ExpandGemvPure


@dace.library.register_expansion(dot.Dot, IMPLEMENTATION)
class ExpandDot(_Expansion):
    call, otherwise = dot.ExpandDotOpenBLAS, dot.ExpandDotPure


@dace.library.register_expansion(batched_matmul.BatchedMatMul, LOOPS)
class ExpandBatchedMatMulLoops(ExpandTransformation):
    """Products of stacks of matrices as one map, with NumPy's broadcasting of the stacks.

    DaCe's own loops index a stack of extent 1, or one with fewer dimensions, as if it were whole.
    """

    environments: list[type] = []

    @classmethod
    def expansion(cls, node, state, sdfg, **_):
        inner = dace.SDFG(f"{node.label}_loops")
        sizes = {e.dst_conn or e.src_conn: cls._add_operand(inner, e, sdfg) for e in _edges(node, state)}
        batch = [f"__i{d}" for d in range(len(sizes["_c"]) - 2)]
        ranges = {p: f"0:{n}" for p, n in zip(batch, sizes["_c"], strict=False)}
        ranges |= {"__m": f"0:{sizes['_c'][-2]}", "__n": f"0:{sizes['_c'][-1]}"}

        def element(name: str, row: str, column: str, **more: str) -> dace.Memlet:
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
    def _add_operand(inner, edge, sdfg) -> list:
        """Add the array that the connector of an edge points at; its sizes."""
        desc, sizes = sdfg.arrays[edge.data.data], list(edge.data.subset.size())
        steps = [step for _, _, step in edge.data.subset.ndrange()]
        strides = [stride * step for stride, step in zip(desc.strides, steps, strict=True)]
        inner.add_array(edge.dst_conn or edge.src_conn, sizes, desc.dtype, desc.storage, strides=strides)
        return sizes


@dace.library.register_expansion(batched_matmul.BatchedMatMul, IMPLEMENTATION)
class ExpandBatchedMatMul(ExpandTransformation):
    """Products of stacks of matrices, each a call of BLAS; whatever the steps between matrices are."""

    environments = [ScipyOpenBLAS]

    @classmethod
    def expansion(cls, node, state, sdfg, **_):
        there = cublas.on_device(node, state, sdfg)
        if there is not None:
            return there
        code = stacked_products(node, state, sdfg) if _plain_operands(node, state, sdfg) else None
        if code is None:
            return ExpandBatchedMatMulLoops.expansion(node, state, sdfg)
        pointer = dace.pointer(sdfg.arrays[state.out_edges(node)[0].data.data].dtype)
        ins = {c: pointer for c in node.in_connectors}
        return dace.nodes.Tasklet(
            node.label, ins, dict.fromkeys(node.out_connectors, pointer), code, dtypes.Language.CPP
        )


def _lapack_fits(node, state, sdfg) -> bool:
    """Whether the matrices have one BLAS type (pivots and status are integers) and no steps."""
    edges = _edges(node, state)
    descs = [sdfg.arrays[e.data.data] for e in edges]
    types = {d.dtype for d in descs if d.dtype != dace.int32}
    return (
        len(types) == 1
        and types.pop() in BLAS_TYPES
        and all(step == 1 for e in edges for _, _, step in e.data.subset.ndrange())
    )


class _LapackExpansion(_Expansion):
    fits = staticmethod(_lapack_fits)


@dace.library.register_expansion(getrf.Getrf, IMPLEMENTATION)
class ExpandGetrf(_LapackExpansion):
    call = getrf.ExpandGetrfOpenBLAS


@dace.library.register_expansion(getri.Getri, IMPLEMENTATION)
class ExpandGetri(_LapackExpansion):
    call = getri.ExpandGetriOpenBLAS


@dace.library.register_expansion(getrs.Getrs, IMPLEMENTATION)
class ExpandGetrs(_LapackExpansion):
    call = getrs.ExpandGetrsOpenBLAS


@dace.library.register_expansion(potrf.Potrf, IMPLEMENTATION)
class ExpandPotrf(_LapackExpansion):
    call = potrf.ExpandPotrfOpenBLAS


@dace.library.register_expansion(solve.Solve, IMPLEMENTATION)
class ExpandSolve(_LapackExpansion):
    call = solve.ExpandSolveOpenBLAS


@dace.library.register_expansion(inv.Inv, IMPLEMENTATION)
class ExpandInv(_LapackExpansion):
    call = inv.ExpandInvOpenBLAS


@dace.library.register_expansion(cholesky.Cholesky, IMPLEMENTATION)
class ExpandCholesky(_LapackExpansion):
    call = cholesky.ExpandCholeskyOpenBLAS


@dace.library.register_expansion(TriangularSolve, IMPLEMENTATION)
class ExpandTriangularSolve(ExpandTransformation):
    environments = [ScipyOpenBLAS]

    @staticmethod
    def expansion(node, state, sdfg, **_):
        return tasklet(node, state, sdfg, call_of_blas if _plain_operands(node, state, sdfg) else substitution)


@dace.library.register_expansion(CholeskyAdjoint, IMPLEMENTATION)
class ExpandCholeskyAdjoint(ExpandTransformation):
    environments = [ScipyOpenBLAS]

    @staticmethod
    def expansion(node, state, sdfg, **_):
        return adjoint(node, state, sdfg, "blocks" if _plain_operands(node, state, sdfg) else "rows")


@dace.library.register_expansion(Factorization, IMPLEMENTATION)
class ExpandFactorization(ExpandTransformation):
    environments = [ScipyOpenBLAS]

    @staticmethod
    def expansion(node, state, sdfg, **_):
        return factorize(node, state, sdfg, "blas" if _lapack_fits(node, state, sdfg) else "loops")


@dace.library.register_expansion(FactoredSolve, IMPLEMENTATION)
class ExpandFactoredSolve(ExpandTransformation):
    environments = [ScipyOpenBLAS]

    @staticmethod
    def expansion(node, state, sdfg, **_):
        return solve_factored(node, state, sdfg, "blas" if _lapack_fits(node, state, sdfg) else "loops")


# The switch -------------------------------------------------------------------------------------------------

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
    """Choose what library nodes that name no implementation expand to, in this process, from now on.

    ``"openblas"`` is the wheel's OpenBLAS, ``"mkl"`` an Intel MKL that DaCe finds (``MKLROOT`` or Anaconda),
    and ``"none"`` gives DaCe its own defaults back: plain loops for products, and no factorizations unless a
    system LAPACK is installed. (Stacks of matrices get loops of this module, which broadcast.) Programs that
    are compiled already stay as they are.
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
    """What :func:`use_blas` chose last."""
    kinds: dict[str | None, BlasKind] = {IMPLEMENTATION: "openblas", "MKL": "mkl"}
    return kinds.get(gemm.Gemm.default_implementation, "none")


watch("blas", use_blas)
