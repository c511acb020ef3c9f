"""Call Python from inside a compiled program, with the addresses of arrays.

The generated code calls a function of this package through Python's C interface: with a text that is part of the code,
and with addresses. An exception cannot pass through C: it is kept, and raised where the program was called.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator, Mapping, Sequence

import dace
import numpy as np
from dace import data as dt

from sdgrad.program.descriptors import lasting

CALL = r"""
struct sdgrad_python {{
    int state = PyGILState_Ensure();
    ~sdgrad_python() {{ PyGILState_Release(state); }}
}} gil;
sdgrad_calls_python = 1;
void* module = PyImport_ImportModule("{module}");
void* found = module ? PyObject_CallMethod(module, "run", "s({ins})({outs})", "{text}"{addresses}) : nullptr;
if (!found) PyErr_Print();
Py_DecRef(found);
Py_DecRef(module);
"""
MARK = "sdgrad_calls_python"  # a symbol of libraries with such calls
DECLARED = f"""
extern "C" {{
int PyGILState_Ensure();
void PyGILState_Release(int);
void* PyImport_ImportModule(const char*);
void* PyObject_CallMethod(void*, const char*, const char*, ...);
void Py_DecRef(void*);
void PyErr_Print();
#ifndef SDGRAD_CALLS_PYTHON
#define SDGRAD_CALLS_PYTHON
__attribute__((weak, visibility("default"))) int {MARK} = 0;
#endif
}}
"""
_own = threading.local()
_elsewhere: list[BaseException] = []  # of threads that OpenMP has made


class CallsPython:
    """A library node that expands to a call of Python: reading a graph keeps it, as its code needs declarations."""


def calling(
    label: str, module: str, text: str, inputs: Mapping[str, dt.Data], outputs: Mapping[str, dt.Data]
) -> dace.SDFG:
    """Return a graph of one tasklet that calls ``run(text, addresses of inputs, addresses of outputs)`` of a module.

    Its connectors have no array's name, which C++ would confuse.
    """
    inner = dace.SDFG(label if label.isidentifier() else "by_python")
    inner.append_global_code(DECLARED)
    state = inner.add_state("call")
    for name, desc in {**inputs, **outputs}.items():
        inner.add_datadesc(name, lasting(desc, False))
    takes = {f"address_of_{c}": dace.pointer(d.dtype) for c, d in inputs.items()}
    gives = {f"address_of_{c}": dace.pointer(d.dtype) for c, d in outputs.items()}
    addresses = "".join(f", (unsigned long long)({c})" for c in (*takes, *gives))
    counts = {"ins": "K" * len(takes), "outs": "K" * len(gives)}
    code = CALL.format(module=module, text=text, addresses=addresses, **counts)
    tasklet = state.add_tasklet("python", takes, gives, code, language=dace.Language.CPP)
    for name, desc in inputs.items():
        state.add_edge(state.add_read(name), None, tasklet, f"address_of_{name}", dace.Memlet.from_array(name, desc))
    for name, desc in outputs.items():
        state.add_edge(tasklet, f"address_of_{name}", state.add_write(name), None, dace.Memlet.from_array(name, desc))
    return inner


def array_at(address: int, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Return the array at an address."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    memory = (ctypes.c_char * (count * kind.itemsize)).from_address(address)
    return np.ndarray(tuple(shape), kind, memory)  # type: ignore[arg-type]


def failed(error: BaseException, targets: Sequence[np.ndarray]) -> None:
    """Keep an exception until the program returns; results are NaN or zero meanwhile."""
    for target in targets:
        target[...] = np.nan if target.dtype.kind in "fc" else 0
    if not getattr(_own, "calling", False):
        _elsewhere.append(error)
    elif getattr(_own, "error", None) is None:
        _own.error = error


@contextlib.contextmanager
def calls() -> Iterator[None]:
    """Call a program inside; raise the first exception of its calls of Python afterwards."""
    before = getattr(_own, "calling", False), getattr(_own, "error", None)
    _own.calling, _own.error = True, None
    try:
        yield
    finally:
        error = _own.error
        _own.calling, _own.error = before
    if error is None and _elsewhere:
        error = _elsewhere[0]
        _elsewhere.clear()
    if error is not None:
        raise error
