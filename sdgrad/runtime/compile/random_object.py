"""Compile the random numbers of programs: once on a machine, with the same flags whatever the settings are.

Programs contain the object, and calls outside of programs load a library that is linked of it: both draw the same
numbers because they run the same code.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.dlopen import load_library
from sdgrad.runtime.compile.native_object import NativeObject

SOURCE = Path(__file__).parent.parent / "native" / "random_numbers.cpp"
HEADER = INCLUDE / "sdgrad_philox.h"
EXACT = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""Operations are rounded one by one, so that vector registers and threads change no bit."""
POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64


def random_object() -> NativeObject:
    """Return the compiled functions of ``random_numbers.cpp``."""
    return NativeObject.of_source(SOURCE, [HEADER], EXACT, "random", "random numbers")


@functools.cache
def draw_function() -> Callable[..., None]:
    """Return the function that fills memory with random numbers, for calls from Python."""
    found = load_library(str(random_object().library("-fopenmp"))).sdgrad_draw
    found.argtypes = [ctypes.c_int, POINTER, COUNT, POINTER, COUNT, POINTER, COUNT, POINTER, COUNT, ctypes.c_bool]
    found.restype = None
    return found
