"""Find the library and the headers of OpenBLAS in the wheel ``scipy-openblas32``."""

from __future__ import annotations

import functools
import importlib.util
import os

import dace.libraries.blas

from sdgrad.runtime import INCLUDE


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


def is_installed() -> bool:
    """True if the wheel is installed."""
    try:
        return os.path.isfile(library_path())
    except ImportError:
        return False


def include_folders() -> list[str]:
    """Return the folders of the headers: sdgrad's, the wheel's, DaCe's.

    :raises ImportError: the wheel is not installed.
    """
    of_dace = os.path.join(os.path.dirname(dace.libraries.blas.__file__), "include")
    return [str(INCLUDE), os.path.join(_wheel_folder(), "include"), of_dace]
