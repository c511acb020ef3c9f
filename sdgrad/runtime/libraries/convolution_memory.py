"""Ask oneDNN how much memory a convolution takes while it runs."""

from __future__ import annotations

import ctypes
import functools

from sdgrad.runtime.compile.dlopen import load_library
from sdgrad.runtime.compile.program_objects import convolution_object, found_at
from sdgrad.runtime.libraries.onednn import KINDS, library_path


@functools.cache
def bytes_of(computed: str, extents: tuple[int, ...]) -> int:
    """Return the bytes of the layouts and of the scratch memory of a convolution.

    :param computed: the operand that is computed.
    :param extents: those of :class:`~sdgrad.runtime.libraries.onednn.Convolution`.
    """
    kind, rank = KINDS.index(computed), (len(extents) - 4) // 7
    return _library().sdgrad_convolution_bytes(kind, rank, (ctypes.c_int64 * len(extents))(*extents))


@functools.cache
def _library() -> ctypes.CDLL:
    path = library_path()
    assert path is not None
    made = convolution_object().library(path, *found_at(path), "-fopenmp")
    found = load_library(str(made))
    found.sdgrad_convolution_bytes.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int64)]
    found.sdgrad_convolution_bytes.restype = ctypes.c_int64
    return found
