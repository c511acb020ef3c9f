"""Ask oneDNN how much memory a convolution takes while it runs: the library is compiled once on a machine."""

from __future__ import annotations

import ctypes
import functools
import hashlib
from pathlib import Path

from sdgrad.config import config
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.compiler import compiler_name
from sdgrad.runtime.compile.dlopen import load_library
from sdgrad.runtime.compile.native_object import NativeObject
from sdgrad.runtime.libraries.onednn import KINDS, library_path

SOURCE = Path(__file__).parent.parent / "native" / "convolution_memory.cpp"
HEADER = INCLUDE / "sdgrad_convolution.h"


@functools.cache
def bytes_of(computed: str, extents: tuple[int, ...]) -> int:
    """Return the bytes of the layouts and of the scratch memory of a convolution.

    :param computed: the operand that is computed.
    :param extents: those of :class:`~sdgrad.runtime.libraries.onednn.Convolution`.
    """
    kind, rank = list(KINDS).index(computed), (len(extents) - 4) // 7
    return _library().sdgrad_convolution_bytes(kind, rank, (ctypes.c_int64 * len(extents))(*extents))


@functools.cache
def _library() -> ctypes.CDLL:
    path = library_path()
    assert path is not None
    command = (compiler_name(), "-O1", "-std=c++20", "-fPIC", "-fvisibility=hidden", "-w", f"-I{INCLUDE}")
    texts = [SOURCE.read_text(), HEADER.read_text(), *command, path]
    key = hashlib.sha256(" ".join(texts).encode()).hexdigest()[:16]
    target = config.cache_folder / f"convolution_memory_{key}.o"
    made = NativeObject(command, SOURCE, target, "what tells the memory of convolutions").library(
        path, f"-Wl,-rpath,{Path(path).parent}"
    )
    found = load_library(str(made))
    found.sdgrad_convolution_bytes.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int64)]
    found.sdgrad_convolution_bytes.restype = ctypes.c_int64
    return found
