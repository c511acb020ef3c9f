"""Compile Fourier transforms: once on a machine for each type of numbers. Programs contain what they use.

The wheel of Pythran ships pocketfft as a C++ header, the code of NumPy's and SciPy's transforms. Compiled here, it uses
the vector registers of this processor. Programs are linked with objects instead of a library, so that they can be saved
and exported.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from pathlib import Path

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.cache_folder import cache_folder
from sdgrad.runtime.compile.compiler import compiler_name, flags
from sdgrad.runtime.compile.native_object import NativeObject

WHEEL = "pythran"
SOURCE = Path(__file__).parent.parent / "native" / "fourier_transform.cpp"
HEADER, MEMORY = INCLUDE / "sdgrad_fft.h", INCLUDE / "sdgrad_memory.h"


@functools.cache
def header_path() -> Path:
    """Return the path of pocketfft's header in the wheel.

    :raises ImportError: the wheel is not installed, or has no such header.
    """
    try:
        files = importlib.metadata.files(WHEEL) or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()
    found = next((Path(str(f.locate())) for f in files if f.name == "pocketfft.hpp"), None)
    if found is None or not found.is_file():
        raise ImportError(f"Fourier transforms need the package {WHEEL}: pip install {WHEEL}")
    return found


class FourierObject(NativeObject):
    """The compiled transforms of ``fourier_transform.cpp`` for one type of numbers."""

    @staticmethod
    def of(real: str, with_real: bool) -> FourierObject:
        """Return the object for the current compiler, processor and folder of programs.

        :param real: the C++ type of real numbers.
        :param with_real: True for transforms between real and complex numbers, False for those of complex ones.
        """
        header = header_path()
        macros = [f"-DREAL={real}", *(["-DWITH_REAL"] if with_real else []), f'-DPOCKETFFT_HEADER="{header}"']
        chosen = [f for f in flags() if f.startswith(("-m", "-O"))]  # those for quick arithmetic would cost accuracy
        given = [*chosen, "-std=c++20", "-fPIC", "-fopenmp", "-fvisibility=hidden", "-w", f"-I{INCLUDE}"]
        command = (compiler_name(), *given, *macros)
        texts = [p.read_text() for p in (SOURCE, HEADER, MEMORY, header)]
        key = hashlib.sha256(" ".join([*texts, *command]).encode()).hexdigest()[:16]
        return FourierObject(command, SOURCE, cache_folder() / f"fourier_{key}.o", "Fourier transforms")
