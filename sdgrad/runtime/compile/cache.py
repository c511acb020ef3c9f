"""Compiled programs, cached on disk by content and shared by processes."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import dace
import numpy as np
from dace import data as dt

from sdgrad.config import config
from sdgrad.errors import DeviceError
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile import nvcc
from sdgrad.runtime.compile.array_address import address
from sdgrad.runtime.compile.build import MOST_ARGUMENTS, Job, build, is_device
from sdgrad.runtime.compile.compiler import compiler_name, flags
from sdgrad.runtime.compile.dlopen import load_library
from sdgrad.runtime.compile.file_lock import locked
from sdgrad.runtime.compile.progress import working

_loaded: dict[str, Library] = {}
_loading = threading.Lock()


class Library:
    """A loaded shared library and the order of its arguments."""

    def __init__(self, path: str, name: str, arguments: Mapping[str, dt.Data], initial: Sequence[str]) -> None:
        self.path, self.name, self.arguments, self.initial = path, name, dict(arguments), list(initial)
        library = load_library(path)
        many = len(self.arguments) > MOST_ARGUMENTS
        self._call = self._by_addresses if many else self._one_by_one
        self._program = library[f"{'__by_addresses' if many else '__program'}_{name}"]
        self._exit = library[f"__dace_exit_{name}"]
        self._start = library[f"__dace_init_{name}"]
        self._start.restype = ctypes.c_void_p
        self._program.restype = None
        self._failure = getattr(library, "__dace_gpu_last_error", None)
        if self._failure is not None:
            self._failure.argtypes, self._failure.restype = [ctypes.c_void_p], ctypes.c_int
        self._idle: list[ctypes.c_void_p] = []  # states of the program: each call has one for itself

    def __call__(self, values: Mapping[str, Any]) -> None:
        """Run with one value for each argument; arrays must have the right dtype and layout."""
        marshalled = {n: _marshal(values[n], desc, n) for n, desc in self.arguments.items()}
        self._run(list(marshalled.values()), [marshalled[n] for n in self.initial])

    def at(self, addresses: Sequence[Any], initial: Sequence[Any] = ()) -> None:
        """Run on arrays at these addresses, in the order of the arguments; scalars as ctypes has them.

        :param initial: what ``initial`` names, for programs whose sizes are open.
        """
        self._run([ctypes.c_void_p(a) if type(a) is int else a for a in addresses], initial)

    def _run(self, values: list[Any], initial: Sequence[Any]) -> None:
        try:
            state = self._idle.pop()
        except IndexError:
            state = ctypes.c_void_p(self._start(*initial))
        if not state and self._failure is not None:
            raise DeviceError(f"{self.name} cannot be started: CUDA finds no GPU, or one without memory for it")
        try:
            self._call(state, values)
        finally:
            self._idle.append(state)
        if self._failure is not None and (error := self._failure(state)):
            self._idle.clear()
            raise DeviceError(f"{self.name}: CUDA's error {error} (a line above says where)")

    def _one_by_one(self, state: ctypes.c_void_p, values: list[Any]) -> None:
        self._program(state, *values)

    def _by_addresses(self, state: ctypes.c_void_p, values: list[Any]) -> None:
        places = [v.value if isinstance(v, ctypes.c_void_p) else ctypes.addressof(v) for v in values]
        self._program(state, (ctypes.c_void_p * len(places))(*places))


def _marshal(value: Any, desc: dt.Data, name: str) -> Any:
    """An array as its address, which is all the program takes of it; everything else as DaCe has it."""
    if type(value) is np.ndarray and isinstance(desc, dt.Array):
        return address(value)
    return dt.make_ctypes_argument(value, desc, name, allow_views=True)


@functools.cache
def own_sources() -> str:
    """A hash of this package: what library nodes expand to, headers, flags."""
    files = sorted(f for f in INCLUDE.parent.rglob("*") if f.suffix in (".py", ".h"))
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()


def content_key(sdfg: dace.SDFG) -> str:
    """A hash of everything that decides the compiled code: graph, settings, compiler, DaCe's version and our own."""
    device = [nvcc.describe()] if is_device(sdfg) else []
    chosen = [config.blas, *config.without, repr(config.machine)]
    settings = [dace.__version__, own_sources(), *chosen, compiler_name(), *flags(), *device]
    return hashlib.sha256((sdfg.hash_sdfg() + json.dumps(settings)).encode()).hexdigest()[:16]


def compile_sdfg(sdfg: dace.SDFG) -> Library:
    """The loaded program of a graph; compiled only where no process has done so before."""
    return compile_together([sdfg])[0]


def compile_together(sdfgs: Sequence[dace.SDFG]) -> list[Library]:
    """The loaded programs of graphs; what is not there yet is compiled by one call of the compiler."""
    keys = [content_key(sdfg) for sdfg in sdfgs]
    with _loading:
        new = {k: job_of(sdfg, k) for k, sdfg in zip(keys, sdfgs, strict=True) if k not in _loaded}
        if missing := [job for job in new.values() if not job.target.exists()]:
            with contextlib.ExitStack() as held:
                # in one order, or two processes wait for each other
                for folder in sorted(job.folder for job in missing):
                    held.enter_context(locked(folder))
                if missing := [job for job in missing if not job.target.exists()]:
                    held.enter_context(working("compiling " + ", ".join(job.sdfg.name for job in missing)))
                    build(missing)
        for key, job in new.items():
            _loaded[key] = Library(str(job.target), job.sdfg.name, job.arguments, job.initial)
    return [_loaded[key] for key in keys]


def job_of(sdfg: dace.SDFG, key: str) -> Job:
    """What is to be compiled for a graph; it is given the name of its program."""
    sdfg.name = f"{sdfg.name[:40]}_{key}"
    folder = config.cache_folder / sdfg.name
    arguments, free = sdfg.arglist(), sdfg.free_symbols
    return Job(sdfg, arguments, [n for n in arguments if n in free], folder, folder / f"{sdfg.name}.so")
