"""Provide OpenBLAS from the wheel ``scipy-openblas32`` as a library environment of DaCe.

The wheel ships the library and its headers, so generated code needs no system BLAS. The library is found by its path at
run time.
"""

from __future__ import annotations

import ctypes
import functools

import dace.library

from sdgrad.runtime.compile.dlopen import load_library
from sdgrad.runtime.compile.openblas_wheel import include_folders, is_installed, library_path
from sdgrad.runtime.compile.program_objects import blas_object, found_at


@functools.cache
def _library() -> ctypes.CDLL:
    """Load the library of the wheel, once."""
    return load_library(library_path())


def set_blas_threads(count: int) -> None:
    """Set the number of threads of OpenBLAS, in this process, from now on.

    The wheel has a thread pool of its own (pthreads), apart from OpenMP's, which runs DaCe's maps. The environment
    variable ``OPENBLAS_NUM_THREADS`` sets the same number at the start; by default OpenBLAS uses every core.
    """
    if count < 1:
        raise ValueError(f"a number of threads is at least 1, not {count}")
    _library().scipy_openblas_set_num_threads(ctypes.c_int(count))


def get_blas_threads() -> int:
    """Return the number of threads that OpenBLAS uses in this process."""
    return int(_library().scipy_openblas_get_num_threads())


@dace.library.environment
class ScipyOpenBLAS:
    """OpenBLAS from the wheel ``scipy-openblas32``: include folders, the library, and its run path."""

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
        """Return the folders of the headers."""
        return include_folders()

    @staticmethod
    def cmake_libraries() -> list[str]:
        """Return the object with what surrounds calls, which is compiled first, and the library."""
        return [str(blas_object().make()), library_path()]

    @staticmethod
    def cmake_link_flags() -> list[str]:
        """Return the flags that store the library's folder in the compiled program."""
        return found_at(library_path())

    @staticmethod
    def is_installed() -> bool:
        """True if the wheel is installed."""
        return is_installed()
