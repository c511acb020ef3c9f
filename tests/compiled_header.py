"""Compile C++ that calls a header of ours, and load it."""

import ctypes
import subprocess

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.compiler import compiler_name


def loaded(source: str, folder) -> ctypes.CDLL:
    """Return the library of a source, made in a folder."""
    (folder / "source.cpp").write_text(source)
    built = [compiler_name(), "-std=c++20", "-O2", "-fPIC", "-shared", f"-I{INCLUDE}", "source.cpp", "-o", "made.so"]
    subprocess.run(built, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "made.so"))
