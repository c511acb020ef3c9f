"""Expand products of matrices in device memory to calls of cuBLAS.

The library is that of CUDA's toolkit, or of a wheel. :func:`on_device` declines for operands in host memory, inside of
kernels, and for strides that BLAS cannot take.
"""

from __future__ import annotations

import copy
import ctypes.util
import functools
import importlib.metadata
import os
from pathlib import Path
from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace.libraries.blas.nodes import batched_matmul, gemm, gemv
from dace.sdfg.scope import is_devicelevel_gpu
from dace.transformation.transformation import ExpandTransformation

from sdgrad.errors import CompilationFailed
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile import nvcc
from sdgrad.runtime.libraries.batched_matmul import (
    LETTERS,
    Products,
    Stack,
    counters_of,
    name_addend,
    printed,
    products_of,
    stacked,
)

IMPLEMENTATION = "SdgradCuBLAS"
"""The name under which the expansions are registered with DaCe's library nodes."""

WHEELS = ("nvidia-cublas", "nvidia-cublas-cu13", "nvidia-cublas-cu12")
CONNECTORS = {gemv.Gemv: ("_A", "_x", "_y")}
"""The connectors of the two factors and the result, where they are not ``_a``, ``_b``, ``_c``."""
CALL = (
    "{loops}DACE_GPU_CHECK(sdgrad_cublas_products<{T}>(__dace_current_stream, {sizes}, {T}({alpha}), "
    "{left}, {right}, {T}({beta}), {out}, {count}));"
)


def library_path() -> str | None:
    """Return the path of cuBLAS, or its name for the loader; None if it is not installed.

    The order is: the toolkit of the compiler in use, the wheels, the loader's search path.
    """
    try:
        return _found(nvcc.home())
    except CompilationFailed:
        return None


@functools.cache
def _found(toolkit: Path) -> str | None:
    """Look for the library in a toolkit, in the wheels, and on the loader's path; None if it is nowhere."""
    for folder in (toolkit / "lib64", toolkit / "lib"):
        if (library := folder / "libcublas.so").exists():
            return str(library)
    for wheel in WHEELS:
        try:
            files = importlib.metadata.files(wheel) or ()
        except importlib.metadata.PackageNotFoundError:
            continue
        found = sorted(Path(str(f.locate())).resolve() for f in files if f.name.startswith("libcublas.so"))
        if found:
            return str(found[0])
    return ctypes.util.find_library("cublas")


@dace.library.environment
class CuBLAS:
    """cuBLAS as a library environment of DaCe, found at run time by its path."""

    cmake_minimum_version = None
    cmake_packages: ClassVar[list[str]] = []
    cmake_variables: ClassVar[dict[str, str]] = {}
    cmake_includes: ClassVar[list[str]] = [str(INCLUDE)]
    cmake_compile_flags: ClassVar[list[str]] = []
    cmake_files: ClassVar[list[str]] = []
    headers: ClassVar[dict[str, list[str]]] = {"frame": ["sdgrad_cublas.h"]}
    state_fields: ClassVar[list[str]] = []
    init_code = ""
    finalize_code = ""
    dependencies: ClassVar[list[type]] = []

    @staticmethod
    def cmake_libraries() -> list[str]:
        """Return the library to link."""
        path = library_path()
        if path is None:
            raise ImportError("products on a GPU need cuBLAS: install CUDA's libraries, or pip install nvidia-cublas")
        return [path if os.path.isabs(path) else f"-l:{path}"]

    @staticmethod
    def cmake_link_flags() -> list[str]:
        """Return the flag that stores the library's folder in the compiled program; none if the loader finds it."""
        folder = os.path.dirname(library_path() or "")
        return [f"-Wl,-rpath,{folder}"] if folder else []


def on_device(node: nd.LibraryNode, state: dace.SDFGState, sdfg: dace.SDFG) -> nd.LibraryNode | None:
    """Return a copy of the node whose implementation is cuBLAS; None if its operands are not for cuBLAS."""
    descs = [sdfg.arrays[e.data.data] for e in state.all_edges(node)]
    if any(d.storage != dace.StorageType.GPU_Global for d in descs) or is_devicelevel_gpu(sdfg, state, node):
        return None
    if library_path() is None or _products(node, state, sdfg) is None:
        return None
    found = copy.deepcopy(node)
    found.implementation = IMPLEMENTATION
    return found


def _products(node: nd.LibraryNode, state: dace.SDFGState, sdfg: dace.SDFG) -> Products | None:
    """Describe the product of a node; None if cuBLAS cannot take its operands."""
    names = CONNECTORS.get(type(node), ("_a", "_b", "_c"))
    ins, (out,) = {e.dst_conn: e for e in state.in_edges(node)}, state.out_edges(node)
    edges = (ins[names[0]], ins[names[1]], out)
    descs = [sdfg.arrays[e.data.data] for e in edges]
    if descs[0].dtype not in LETTERS or len({d.dtype for d in descs}) != 1 or out.data.wcr:
        return None
    if not all(_is_in_place(e, out) for c, e in ins.items() if c not in names[:2]):
        return None
    a, b, c = (_matrices(e, d) for e, d in zip(edges, descs, strict=True))
    a = a.transposed if node.transA else a
    b = b.transposed if getattr(node, "transB", False) else b
    return products_of((names[0], a), (names[1], b), (names[2], c), descs[0].dtype)


def _is_in_place(addend: Any, out: Any) -> bool:
    """True if an addend is the memory of the result, which cuBLAS updates."""
    return bool(addend.data.data == out.data.data and addend.data.subset == out.data.subset)


def _matrices(edge: Any, desc: Any) -> Stack:
    """Return the stack that an edge moves; a vector becomes a matrix of one column."""
    found = stacked(edge, desc)
    if len(found.extents) == 1:
        return Stack((*found.extents, 1), (*found.steps, 1))
    return found


def _call(node: nd.LibraryNode, state: dace.SDFGState, sdfg: dace.SDFG) -> nd.Tasklet:
    """Generate a strided batched call for the stack's last dimension, in loops over the other dimensions."""
    found = _products(node, state, sdfg)
    assert found is not None, "checked by on_device"
    counters, loops = counters_of(found.batch[:-1])
    inner = ["0"] if found.batch else []

    def place(f: Any) -> str:
        """Print address, leading dimension and batch stride of an operand."""
        own = f.stack.steps[-3] if len(f.stack.extents) > 2 and f.stack.extents[-3] != 1 else 0
        return f"{f.connector} + {f.stack.offset([*counters, *inner])}, {printed(f.lead)}, {printed(own)}"

    ctype = found.dtype.ctype
    left, right = (f"{str(f.is_transposed).lower()}, {place(f)}" for f in found.factors)
    text = CALL.format(
        loops=loops,
        T=ctype,
        sizes=", ".join(map(printed, found.sizes)),
        alpha=_number(node.alpha),
        beta=_number(node.beta),
        left=left,
        right=right,
        out=place(found.result),
        count=printed(found.batch[-1]) if found.batch else "1",
    )
    pointer = dace.pointer(found.dtype)
    ins, outs = (dict.fromkeys(c, pointer) for c in (node.in_connectors, node.out_connectors))
    return name_addend(nd.Tasklet(node.label, ins, outs, text, dace.Language.CPP), node, state)


def _number(value: Any) -> str:
    """Print a factor as the arguments of a C++ constructor."""
    number = complex(value)
    return repr(number.real) if number.imag == 0 else f"{number.real!r}, {number.imag!r}"


class _ByCuBLAS(ExpandTransformation):
    """Expand to a call of cuBLAS."""

    environments: ClassVar[list] = [CuBLAS]

    @staticmethod
    def expansion(node: nd.LibraryNode, state: dace.SDFGState, sdfg: dace.SDFG, **_: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return _call(node, state, sdfg)


@dace.library.register_expansion(gemm.Gemm, IMPLEMENTATION)
class ExpandGemm(_ByCuBLAS):
    """Expand a product of matrices."""


@dace.library.register_expansion(gemv.Gemv, IMPLEMENTATION)
class ExpandGemv(_ByCuBLAS):
    """Expand a product with a vector."""


@dace.library.register_expansion(batched_matmul.BatchedMatMul, IMPLEMENTATION)
class ExpandBatchedMatMul(_ByCuBLAS):
    """Expand products of stacks."""
