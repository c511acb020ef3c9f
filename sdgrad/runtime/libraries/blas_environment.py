"""Provide OpenBLAS from the wheel ``scipy-openblas32`` as a library environment of DaCe.

The wheel ships the library and its headers, so generated code needs no system BLAS. The library is found by its path at
run time.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os

import dace
import dace.library

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.dlopen import load_library


@functools.cache
def _wheel_folder() -> str:
    """Return the folder of the package ``scipy_openblas32``, without importing it.

    The import would load the library into the global symbol scope of the process, and SciPy's own copy would resolve
    to it.

    :raises ImportError: the package is not installed.
    """
    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        raise ImportError("BLAS 'openblas' needs the package scipy-openblas32: pip install scipy-openblas32")
    return os.path.dirname(os.path.abspath(spec.origin))


@functools.cache
def library_path() -> str:
    """Return the path of the OpenBLAS library in the wheel.

    :raises ImportError: the wheel is not installed, or has no library.
    """
    folder = os.path.join(_wheel_folder(), "lib")
    names = sorted(n for n in os.listdir(folder) if n.startswith("libscipy_openblas") and not n.endswith(".a"))
    if not names:
        raise ImportError(f"no OpenBLAS library in {folder}: reinstall scipy-openblas32")
    return os.path.join(folder, names[0])


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
        """Return the folders of the headers: sdgrad's, the wheel's, DaCe's."""
        return [
            str(INCLUDE),
            os.path.join(_wheel_folder(), "include"),
            os.path.join(os.path.dirname(dace.libraries.blas.__file__), "include"),
        ]

    @staticmethod
    def cmake_libraries() -> list[str]:
        """Return the library to link."""
        return [library_path()]

    @staticmethod
    def cmake_link_flags() -> list[str]:
        """Return the flag that stores the library's folder in the compiled program."""
        return [f"-Wl,-rpath,{os.path.dirname(library_path())}"]

    @staticmethod
    def is_installed() -> bool:
        """True if the wheel is installed."""
        try:
            return os.path.isfile(library_path())
        except ImportError:
            return False
