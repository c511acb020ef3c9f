"""Compile the random numbers of programs: once on a machine, with the same flags whatever the settings are.

Programs contain the object, and calls outside of programs load a library that is linked of it: both draw the same
numbers because they run the same code.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path

from sdgrad.config import config
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.compiler import compiler_name, flags
from sdgrad.runtime.compile.dlopen import load_library
from sdgrad.runtime.compile.native_object import NativeObject

SOURCE = Path(__file__).parent.parent / "native" / "random_numbers.cpp"
HEADER = INCLUDE / "sdgrad_philox.h"
EXACT = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""Operations are rounded one by one, so that vector registers and threads change no bit."""
POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64


class RandomObject(NativeObject):
    """The compiled functions of ``random_numbers.cpp``."""

    @staticmethod
    def of() -> RandomObject:
        """Return the object for the current compiler, processor and folder of programs."""
        processor = [f for f in flags() if f.startswith("-m")]
        given = [*processor, *EXACT, "-std=c++20", "-fPIC", "-fopenmp", "-fvisibility=hidden", "-w", f"-I{INCLUDE}"]
        command = (compiler_name(), *given)
        texts = [SOURCE.read_text(), HEADER.read_text(), *command]
        key = hashlib.sha256(" ".join(texts).encode()).hexdigest()[:16]
        return RandomObject(command, SOURCE, config.cache_folder / f"random_{key}.o", "random numbers")


@functools.cache
def draw_function() -> Callable[..., None]:
    """Return the function that fills memory with random numbers, for calls from Python."""
    found = load_library(str(RandomObject.of().library("-fopenmp"))).sdgrad_draw
    found.argtypes = [ctypes.c_int, POINTER, COUNT, POINTER, COUNT, POINTER, COUNT, POINTER, COUNT, ctypes.c_bool]
    found.restype = None
    return found
