"""Give compiled programs the addresses of SciPy's special functions, which they call without Python.

The functions of ``scipy.special.cython_special`` are C functions of numbers. Why these: SciPy is there already, no
header has to be compiled, and values are SciPy's own to the last bit. Their addresses change from process to process:
they are set when a library is loaded.
"""

from __future__ import annotations

import ctypes
import functools
import re
from typing import Any

from sdgrad.runtime import INCLUDE

MARK = "sdgrad_calls_scipy"
"""A symbol of libraries with such calls."""
HEADER = INCLUDE / "sdgrad_scipy.h"
_DECLARED = re.compile(r"^SDGRAD_SCIPY_(\d|OUT_2|OUT_4|OF_2_OUT_2|OF_2_OUT_4|COMPLEX)\((\w+)", re.MULTILINE)
_LAST = "int __pyx_skip_dispatch"
SIGNATURES = {
    **{str(n): f"double ({'double, ' * n}{_LAST})" for n in range(1, 5)},
    "OUT_2": "void (double, double *, double *)",
    "OUT_4": "void (double, double *, double *, double *, double *)",
    "OF_2_OUT_2": "void (double, double, double *, double *)",
    "OF_2_OUT_4": "void (double, double, double *, double *, double *, double *)",
    "COMPLEX": f"__pyx_t_double_complex (__pyx_t_double_complex, {_LAST})",
}
"""C signatures in ``cython_special``, by the macros that declare functions."""
_FUSED = re.compile(r"__pyx_fuse_\d+(_\d+)?")


@functools.cache
def declared() -> dict[str, str]:
    """Return the functions that programs may call, each with its C signature in ``cython_special``.

    Names of functions of complex numbers begin with ``complex_``.
    """
    found = _DECLARED.findall(HEADER.read_text())
    return {f"complex_{name}" if form == "COMPLEX" else name: SIGNATURES[form] for form, name in found}


@functools.cache
def addresses() -> dict[str, int]:
    """Return the addresses of the functions that programs may call.

    :raises ImportError: this version of SciPy lacks one of them.
    """
    from scipy.special import cython_special

    api = {(_FUSED.sub("", n), _signature(c)): c for n, c in cython_special.__pyx_capi__.items()}
    wanted = {n: (n.removeprefix("complex_"), signature) for n, signature in declared().items()}
    if missing := [n for n, key in wanted.items() if key not in api]:
        raise ImportError(f"scipy.special.cython_special lacks {', '.join(missing)}: install SciPy 1.12 or newer")
    return {n: _pointer(api[key], key[1]) for n, key in wanted.items()}


def _signature(capsule: Any) -> str:
    """Return the C signature of a function, which is the name of its capsule."""
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return name(capsule).decode()


def _pointer(capsule: Any, signature: str) -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, signature.encode())


def bind(library: ctypes.CDLL) -> bool:
    """Set the addresses of the functions that a library calls; False if it calls none."""
    if not hasattr(library, MARK):
        return False
    for name, address in addresses().items():
        if hasattr(library, own := f"sdgrad_scipy_{name}"):
            ctypes.c_void_p.in_dll(library, own).value = address
    return True


def bind_file(path: str) -> None:
    """Set the addresses of the functions that a loaded library calls, given its file."""
    bind(ctypes.CDLL(path))
