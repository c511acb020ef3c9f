"""Look at all that compiled gradients depend on: what is there, what is wrong, and how to mend it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import numpy as np

from sdgrad.config import config
from sdgrad.errors import SdgradError
from sdgrad.machine.free_memory import free_memory
from sdgrad.machine.limits import shown
from sdgrad.machine.processor import processor
from sdgrad.runtime.compile import nvcc
from sdgrad.runtime.compile.cache_contents import entries, total
from sdgrad.runtime.compile.compiler import compiler_name, cores, flags, run
from sdgrad.runtime.compile.file_lock import is_whole
from sdgrad.runtime.compile.openblas_wheel import is_installed
from sdgrad.runtime.compile.precompiled_header import Header, without_parts
from sdgrad.runtime.libraries.blas import get_blas_threads

State = Literal["good", "none", "doubtful", "bad"]
NEEDED = ("sdgrad", "dace", "sympy", "numpy", "scipy", "islpy", "networkx", "optree", "pythran")
OPTIONAL = ("torch", "onnx", "onnxruntime", "jax", "matplotlib")
LITTLE = 1 << 30
"""Bytes of disk or memory with which a compiler may get into trouble."""
OPENMP = """#include <omp.h>
#include <cstdio>
int main() { int n = 0;
#pragma omp parallel reduction(+ : n)
n += 1;
std::printf("%d", n); }
"""
WHICH_MPI = """import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version())
"""
"""What a process of its own runs: a library of MPI that does not fit may end the process that loads it."""


@dataclass(frozen=True)
class Finding:
    """What was found of one thing.

    :param state: ``none`` is what is not there and need not be, ``bad`` is what no gradient can be computed with.
    :param mend: what to do, unless all is well.
    """

    what: str
    state: State
    found: str
    mend: str = ""


def findings() -> Iterator[Finding]:
    """Yield what is found of each thing, one after another: the last ones take some seconds."""
    for look in LOOKS:
        try:
            yield look()
        except SdgradError as error:
            yield Finding(look.__name__.strip("_"), "bad", str(error).split("\n")[0], "see above")


def _python() -> Finding:
    told = [f"{name} {v}" for name in NEEDED if (v := _version(name))]
    missing = [name for name in NEEDED if not _version(name)]
    found = f"Python {platform.python_version()}, {', '.join(told)}"
    if missing:
        return Finding("Python", "bad", found, f"pip install {' '.join(missing)}")
    return Finding("Python", "good", found)


def _extras() -> Finding:
    told = [f"{name} {_version(name) or 'is not there'}" for name in OPTIONAL]
    return Finding("packages for some doors", "good", ", ".join(told))


def _processor() -> Finding:
    found = f"{processor()}, {cores()} cores for this process, {shown(free_memory())} of memory free"
    if free_memory() < LITTLE:
        return Finding("machine", "doubtful", found, "a compiler takes up to 1 GiB: end other programs")
    return Finding("machine", "good", found)


def _threads() -> Finding:
    asked = os.environ.get("OMP_NUM_THREADS")
    found = f"OMP_NUM_THREADS is {asked or 'not set'}, OpenBLAS takes {get_blas_threads()}, for {cores()} cores"
    most = max(int(asked) if asked and asked.isdigit() else cores(), get_blas_threads())
    if most > cores():
        return Finding("threads", "doubtful", found, f"more threads than cores wait for each other: set {cores()}")
    return Finding("threads", "good", found)


def _compiler() -> Finding:
    name = compiler_name()
    told = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
    first = (told.stdout.splitlines() or ["it says nothing for --version"])[0]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "threads.cpp"), Path(folder, "threads")
        source.write_text(OPENMP)
        try:
            run([name, *flags(), str(source), "-o", str(target)], "a program of five lines")
        except (SdgradError, OSError) as error:
            mend = "install g++ 11 or later with OpenMP, and set CXX to it"
            return Finding("compiler", "bad", f"{first}: {str(error).splitlines()[-1]}", mend)
        count = subprocess.run([str(target)], capture_output=True, text=True, check=False).stdout
    if not count.isdigit():
        return Finding("compiler", "bad", f"{first}: its programs do not run here", "compile on this machine, for it")
    return Finding("compiler", "good", f"{first}; OpenMP with {count} threads")


def _blas() -> Finding:
    if config.blas == "openblas" and not is_installed():
        return Finding("BLAS", "bad", "scipy-openblas32 is not installed", "pip install scipy-openblas32")
    return Finding("BLAS", "good", config.blas)


def _cache() -> Finding:
    folder = config.cache_root
    there = next(p for p in (folder, *folder.parents) if p.exists())
    found = f"{folder}, {shown(total(entries(folder)))}"
    if not os.access(there, os.W_OK | os.X_OK):
        mend = "each process compiles for itself: set SDGRAD_CACHE_DIR to a folder that you may write"
        return Finding("cache", "doubtful", f"{found}: {there} cannot be written", mend)
    free = shutil.disk_usage(there).free
    if free < LITTLE:
        return Finding("cache", "doubtful", f"{found}; {shown(free)} free", "sdgrad cache clean, or SDGRAD_CACHE_DIR")
    return Finding("cache", "good", f"{found}; {shown(free)} free")


def _header() -> Finding:
    if is_whole(Header.of(without_parts()).target):
        return Finding("precompiled header", "good", "there")
    return Finding("precompiled header", "none", "the first gradient makes it, in some seconds", "sdgrad prepare")


def _gpu() -> Finding:
    driver = shutil.which("nvidia-smi")
    try:
        compiler = nvcc.nvcc()
    except SdgradError as error:
        if driver is None:
            return Finding("GPU", "none", "no NVIDIA GPU, and no nvcc")
        return Finding("GPU", "doubtful", "a GPU, and no nvcc", str(error))
    return Finding("GPU", "good" if driver else "none", f"{compiler}, {'with' if driver else 'without'} a GPU")


def _mpi() -> Finding:
    launcher = f"mpiexec is {shutil.which('mpiexec') or 'not on PATH'}"
    if importlib.util.find_spec("mpi4py") is None:
        return Finding("MPI", "none", f"mpi4py is not there, {launcher}")
    found = f"mpi4py {_version('mpi4py') or 'of unknown version'}, {launcher}"
    told = subprocess.run([sys.executable, "-c", WHICH_MPI], capture_output=True, text=True, check=False)
    if told.returncode:
        why = (told.stderr.strip().splitlines() or [f"exit status {told.returncode}"])[-1]
        return Finding("MPI", "doubtful", f"{found}: {why}", "mpi4py finds no MPI: install openmpi or mpich")
    return Finding("MPI", "good", f"{told.stdout.strip().splitlines()[0]}, {found}")


def _gradient() -> Finding:
    import sdgrad

    x = np.linspace(0.1, 0.9, 7)
    found = sdgrad.grad(lambda x: np.sum(np.sin(x) @ np.outer(x, x)))(x)
    step = 1e-6 * np.eye(7)
    wanted = [(_value(x + d) - _value(x - d)) / 2e-6 for d in step]
    if not np.allclose(found, wanted, rtol=1e-6):
        return Finding("a gradient", "bad", f"{found} is not {np.array(wanted)}", "please report this")
    return Finding("a gradient", "good", "compiled, and right")


def _value(x: np.ndarray) -> float:
    return float(np.sum(np.sin(x) @ np.outer(x, x)))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


LOOKS: tuple[Callable[[], Finding], ...] = (
    *(_python, _extras, _processor, _threads, _compiler, _blas, _cache, _header, _gpu, _mpi, _gradient),
)
"""In this order: what comes later needs what is before it."""
