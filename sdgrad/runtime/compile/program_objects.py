"""Compile what programs are linked with, where each would compile it again otherwise: once on a machine."""

from __future__ import annotations

import sys
from pathlib import Path

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.native_object import NativeObject
from sdgrad.runtime.compile.openblas_wheel import include_folders

NATIVE = Path(__file__).parent.parent / "native"
LINKED = INCLUDE / "sdgrad_linked.h"
MEMORY = [INCLUDE / f"sdgrad_{part}.h" for part in ("memory", "files", "interrupt", "linked")]


def memory_object() -> NativeObject:
    """Return the compiled functions of ``sdgrad_memory.h``, for all programs."""
    return NativeObject.of_source(NATIVE / "memory_pool.cpp", MEMORY, ("-O2",), "memory", "the memory of programs")


def blas_object() -> NativeObject:
    """Return the compiled functions of ``sdgrad_blas.h``, for programs that call OpenBLAS.

    :raises ImportError: its wheel is not installed.
    """
    headers = [INCLUDE / "sdgrad_blas.h", INCLUDE / "sdgrad_triangular.h", LINKED]
    options = ("-O2", *(f"-I{folder}" for folder in include_folders()))
    return NativeObject.of_source(NATIVE / "blas.cpp", headers, options, "blas", "calls of BLAS")


def convolution_object() -> NativeObject:
    """Return the compiled functions of ``sdgrad_convolution.h``, for programs that call oneDNN."""
    headers = [INCLUDE / "sdgrad_convolution.h", *MEMORY]
    return NativeObject.of_source(NATIVE / "convolution.cpp", headers, ("-O2",), "convolution", "calls of oneDNN")


def found_at(library: str) -> list[str]:
    """Return the linker flags for a library that an object needs: programs find it at its path.

    DaCe lists objects and libraries by their names, and some linkers drop a library that nothing before it needs.
    """
    kept = ["-Wl,--no-as-needed"] if sys.platform == "linux" else []
    return [*kept, f"-Wl,-rpath,{Path(library).parent}"]
