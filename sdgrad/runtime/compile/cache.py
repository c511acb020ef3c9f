"""Cache compiled programs on disk, by a hash of their content, for all processes."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import threading
from _signal import getsignal  # that of `signal` makes enumerations of what it finds: 3 microseconds
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT as INTERRUPT
from signal import default_int_handler
from typing import Any, Protocol, TypeVar

import dace
import numpy as np
from dace import data as dt

from sdgrad.config import config, watch
from sdgrad.errors import CompilationFailed, DeviceError, DiskError, OutOfMemory
from sdgrad.machine.disk import disk_folder, tell_programs
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile import nvcc, python_call, scipy_functions
from sdgrad.runtime.compile.array_address import address
from sdgrad.runtime.compile.build import INTERRUPTED, NO_DISK, NO_MEMORY, Job, build, is_device
from sdgrad.runtime.compile.cache_contents import touch
from sdgrad.runtime.compile.cache_folder import cache_folder, writing
from sdgrad.runtime.compile.compiler import ANOTHER_COMPILER, compiler_name, flags
from sdgrad.runtime.compile.dlopen import load_library
from sdgrad.runtime.compile.file_lock import locked
from sdgrad.runtime.compile.interface import Interface
from sdgrad.runtime.compile.memory_needs import ALL
from sdgrad.runtime.compile.number_kind import check_kind
from sdgrad.runtime.compile.progress import working

T = TypeVar("T")
SIGINT = int(INTERRUPT)
_loaded: dict[str, Library] = {}
_loading = threading.Lock()
watch("disk_folder", tell_programs)


class Library:
    """A loaded shared library with one program, and the order of its arguments.

    Every concurrent call has a state of the program for itself; idle states are used again.
    """

    def __init__(
        self,
        path: str,
        name: str,
        arguments: Mapping[str, dt.Data],
        initial: Sequence[str],
        needs: str = ALL,
        symbols: Iterable[str] = (),
    ) -> None:
        """Load a library.

        :param initial: the arguments that the initialization takes as well.
        :param needs: how much memory its arrays take, in words.
        :param symbols: the symbols of the program.
        """
        self.path, self.name, self.arguments, self.initial = path, name, dict(arguments), list(initial)
        self.needs, self.symbols = needs, frozenset(symbols)
        library = load_library(path)
        self._program = library[f"__by_addresses_{name}"]
        self.by_addresses = ctypes.cast(self._program, ctypes.c_void_p).value
        self._exit = library[f"__dace_exit_{name}"]
        self._start = library[f"__start_{name}"]
        self._start.restype = ctypes.c_void_p
        self._failure = getattr(library, "__dace_gpu_last_error", None)
        if self._failure is not None:
            self._failure.argtypes, self._failure.restype = [ctypes.c_void_p], ctypes.c_int
        self.calls_scipy = scipy_functions.bind(library)
        self.calls_python = hasattr(library, python_call.MARK)
        self._hear = library.sdgrad_hear_interrupts if hasattr(library, f"__polls_{name}") else None
        self._idle: list[ctypes.c_void_p] = []

    def __call__(self, values: Mapping[str, Any]) -> None:
        """Run with a value for each argument; arrays must have the right dtype and layout."""
        marshalled = {n: _marshal(values[n], desc, n) for n, desc in self.arguments.items()}
        self.with_state(self._by_addresses, list(marshalled.values()), initial=[marshalled[n] for n in self.initial])

    def at(self, addresses: Sequence[Any], initial: Sequence[Any] = ()) -> None:
        """Run on the addresses of arrays and the ctypes values of scalars, in the order of the arguments.

        :param initial: values of the arguments that the initialization takes; needed for symbolic sizes.
        """
        values = [ctypes.c_void_p(a) if type(a) is int else a for a in addresses]
        self.with_state(self._by_addresses, values, initial=initial)

    def with_state(self, call: Callable[..., T], *values: Any, initial: Sequence[Any] = ()) -> T:
        """Call a function, which runs the program, with a state of its own and more values.

        :raises DeviceError: there is no GPU, or CUDA reports an error.
        :raises OutOfMemory: there is none for an array of the program.
        :raises DiskError: there is no room for its files.
        :raises KeyboardInterrupt: by the user, in the main thread.
        """
        try:
            state = self._idle.pop()
        except IndexError:
            state = ctypes.c_void_p(self._start(*initial))
        if not state and self._failure is not None:
            raise DeviceError(f"{self.name} cannot be started: CUDA finds no GPU, or one without memory for it")
        if not state:
            raise self._out_of_memory()
        if self._hear is not None:
            self._hear(getsignal(SIGINT) is default_int_handler)
        try:
            if self.calls_python:
                with python_call.calls():
                    found = call(state, *values)
            else:
                found = call(state, *values)
        finally:
            self._idle.append(state)
        if found == INTERRUPTED:  # Python has raised it by now, unless it saw to the signal meanwhile
            raise KeyboardInterrupt
        if found == NO_MEMORY:
            raise self._out_of_memory()
        if found == NO_DISK:
            raise DiskError(
                f"{self.name}: {disk_folder(config.disk_folder)} has no room for its files, or cannot be written. "
                f"{self.needs}. sdgrad.config.disk_folder is another folder, and disk_limit= says how much it may be"
            )
        if self._failure is not None and (error := self._failure(state)):
            self._idle.clear()
            raise DeviceError(f"{self.name}: CUDA's error {error} (a line above says where)")
        return found

    def _out_of_memory(self) -> OutOfMemory:
        """Return the error where an array of the program finds no memory."""
        return OutOfMemory(
            f"{self.name}: {self.needs}",
            "A gradient keeps what loops overwrite: sdgrad.explain shows where, and with memory_limit= it keeps less, "
            "and computes some of it again",
        )

    def _by_addresses(self, state: ctypes.c_void_p, values: list[Any]) -> int:
        """Call the program with an array of the addresses of its arguments."""
        places = [v.value if isinstance(v, ctypes.c_void_p) else ctypes.addressof(v) for v in values]
        return self._program(state, (ctypes.c_void_p * len(places))(*places))


def _marshal(value: Any, desc: dt.Data, name: str) -> Any:
    """Convert an array to its address, and other values as DaCe does."""
    if type(value) is np.ndarray and isinstance(desc, dt.Array):
        return address(value)
    if isinstance(desc, dt.Scalar):
        check_kind(name, value, np.dtype(desc.dtype.type))
    if _is_half(desc):
        return ctypes.c_uint16(int(np.float16(value).view(np.uint16)))
    return dt.make_ctypes_argument(value, desc, name, allow_views=True)


def _is_half(desc: dt.Data) -> bool:
    """True for a scalar in half precision, which ctypes has no type for: it is passed by its address."""
    return isinstance(desc, dt.Scalar) and desc.dtype == dace.float16


WRITERS = ("program", "symbolic", "runtime")
"""Folders of this package with all that makes code of a program: graphs, library nodes, headers, flags."""


@functools.cache
def hash_of_sources(folder: str) -> str:
    """Return a hash of the sources in a folder of this package, and in those inside of it; ``""`` is the package."""
    found = hashlib.sha256()
    for entry in sorted(os.scandir(INCLUDE.parents[1] / folder), key=lambda e: e.name):
        if entry.is_dir():
            found.update(hash_of_sources(os.path.join(folder, entry.name)).encode())
        elif entry.name.endswith((".py", ".h", ".cpp")):
            with open(entry.path, "rb") as source:
                found.update(source.read())
    return found.hexdigest()


class Compilable(Protocol):
    """A program to compile.

    :param content: a hash of all that its graph follows from.
    :param on_device: it has kernels for a GPU.
    """

    @property
    def name(self) -> str: ...

    @property
    def content(self) -> str: ...

    @property
    def on_device(self) -> bool: ...

    @property
    def sdfg(self) -> dace.SDFG: ...

    def described(self, argument: str) -> dt.Data:
        """Return the descriptor of an argument."""
        ...


@dataclass(frozen=True)
class Written:
    """A graph to compile that comes from nowhere."""

    sdfg: dace.SDFG

    @property
    def name(self) -> str:
        return self.sdfg.name

    @property
    def content(self) -> str:
        """Return DaCe's hash of the graph, which takes as long as to write one."""
        return self.sdfg.hash_sdfg()

    @property
    def on_device(self) -> bool:
        return is_device(self.sdfg)

    def described(self, argument: str) -> dt.Data:
        """Return the descriptor of an argument."""
        return self.sdfg.arrays.get(argument) or dt.Scalar(self.sdfg.symbols[argument])


def content_key(program: Compilable) -> str:
    """Return a hash of all that determines the compiled code: program, settings, compiler, versions."""
    settings = [*settings_of_code(), *([nvcc.describe()] if program.on_device else [])]
    return hashlib.sha256((program.content + json.dumps(settings)).encode()).hexdigest()[:16]


def settings_of_code() -> list[str]:
    """Return all that the code of a program follows from besides the program."""
    chosen = [config.blas, *config.without, repr(config.machine)]
    return [dace.__version__, *map(hash_of_sources, WRITERS), *chosen, compiler_name(), *flags()]


def compile_sdfg(sdfg: dace.SDFG) -> Library:
    """Compile and load a graph; a program in the cache is not compiled again."""
    return compile_graphs([sdfg])[0]


def compile_graphs(sdfgs: Sequence[dace.SDFG]) -> list[Library]:
    """Compile and load several graphs by one compiler call."""
    return compile_together([*map(Written, sdfgs)])


def compile_together(programs: Sequence[Compilable]) -> list[Library]:
    """Compile and load several programs; one compiler call for those that are not in the cache."""
    keys = [content_key(p) for p in programs]
    with _loading:
        new = {k: p for k, p in zip(keys, programs, strict=True) if k not in _loaded}
        found = {k: library for k, p in new.items() if (library := _compiled_before(p, k)) is not None}
        jobs = {k: job_of(p.sdfg, k) for k, p in new.items() if k not in found}
        with writing():
            _build_missing([*jobs.values()])
            interfaces = {key: Interface.of(job) for key, job in jobs.items()}
            for key, job in jobs.items():
                interfaces[key].write(job.folder)
        _loaded.update(found)
        for key, interface in interfaces.items():
            _loaded[key] = _just_built(interface, new[key])
    return [_loaded[key] for key in keys]


def library_of(name: str, arguments: Mapping[str, dt.Data]) -> Library | None:
    """Return the library of a program that was compiled before, by its whole name; None if it is gone.

    :param arguments: what it takes, in any order.
    """
    key = name.rpartition("_")[-1]
    with _loading:
        if key not in _loaded:
            folder = cache_folder() / name
            interface = Interface.read(folder) if Path(name).name == name else None
            if interface is None or set(interface.arguments) != set(arguments):
                return None
            if not interface.fits(folder / f"{name}.so"):
                return None
            _loaded[key] = _opened(interface, arguments)
    return _loaded[key]


def _folder(name: str, key: str) -> Path:
    """Return the folder of a compiled program."""
    return cache_folder() / f"{name[:40]}_{key}"


def _compiled_before(program: Compilable, key: str) -> Library | None:
    """Load a program that is in the cache; None if it is not, or if its file is damaged: then it is removed."""
    folder = _folder(program.name, key)
    target = folder / f"{folder.name}.so"
    interface = Interface.read(folder) if target.exists() else None
    if interface is None:
        return None
    try:
        if interface.fits(target):
            return _library(interface, program)
    except OSError:  # what the system's loader says
        pass
    with contextlib.suppress(OSError):  # in a folder that cannot be written, the link to it goes
        (folder if folder.is_symlink() else target).unlink()
    return None


def _just_built(interface: Interface, program: Compilable) -> Library:
    """Load a program that has been compiled now.

    :raises CompilationFailed: it is no library.
    """
    try:
        return _library(interface, program)
    except OSError as error:
        raise CompilationFailed(
            f"what '{compiler_name()}' has compiled cannot be loaded ({error}): {ANOTHER_COMPILER}"
        ) from error


def _library(interface: Interface, program: Compilable) -> Library:
    """Load a program that is in the cache."""
    return _opened(interface, {n: program.described(n) for n in interface.arguments})


def _opened(interface: Interface, described: Mapping[str, dt.Data]) -> Library:
    """Load the library of an interface."""
    path = cache_folder() / interface.name / f"{interface.name}.so"
    touch(path)
    arguments = {n: described[n] for n in interface.arguments}
    return Library(str(path), interface.name, arguments, interface.initial, interface.needs, interface.symbols)


def _build_missing(jobs: Sequence[Job]) -> None:
    """Build the jobs whose libraries do not exist, unless another process does so meanwhile.

    Processes lock the folders in the same order, or they would wait for each other.
    """
    missing = [job for job in jobs if not job.target.exists()]
    with contextlib.ExitStack() as held:
        for folder in sorted(job.folder for job in missing):
            held.enter_context(locked(folder))
        missing = [job for job in missing if not job.target.exists()]
        if missing:
            held.enter_context(working("compiling " + ", ".join(job.sdfg.name for job in missing)))
            build(missing)


def job_of(sdfg: dace.SDFG, key: str) -> Job:
    """Describe the compilation of a graph, and rename the graph: the key becomes part of its name."""
    folder = _folder(sdfg.name, key)
    sdfg.name = folder.name
    used = sdfg.used_symbols(all_symbols=False)
    arguments = sdfg.arglist(free_symbols=used)
    return Job(sdfg, arguments, [n for n in arguments if n in used], folder, folder / f"{sdfg.name}.so")
