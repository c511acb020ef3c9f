"""Find the C++ compiler, choose the flags of all programs, and run it."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import dace
from dace.config import Config as DaceConfig

from sdgrad.config import config
from sdgrad.errors import CompilationFailed
from sdgrad.runtime.compile.cache_folder import NO_SPACE, cannot_write

ANOTHER_COMPILER = "install g++, or set CXX to a compiler of C++20"
KILLED = "Killed signal"
"""What GCC says if one of its processes was ended."""
WHY_KILLED = "most likely by the system, for want of memory; free some, or set sdgrad.config.optimization_level to 1"
DACE_INCLUDE = Path(dace.__file__).parent / "runtime" / "include"


def flags() -> list[str]:
    """Return the compiler flags of all programs."""
    level = ["-O0", "-g"] if config.debug else [f"-O{config.optimization_level}", "-DNDEBUG"]
    warnings_off = [f for f in shlex.split(DaceConfig.get("compiler", "cpu", "args")) if not f.startswith("-W")]
    return [*warnings_off, *level, *complex_rules(), "-w", "-fPIC", "-fopenmp", "-std=c++20"]


@functools.cache
def complex_rules() -> tuple[str, ...]:
    """Return the flags for complex products without the NaN checks of C++, as NumPy computes them; none for clang."""
    told = _ran([compiler_name(), "--version"]).stdout
    return () if "clang" in told.lower() else ("-fcx-fortran-rules", "--param=vect-max-version-for-alias-checks=200")


def compiler_name() -> str:
    """Return the C++ compiler: ``$CXX``, DaCe's setting, or ``c++``.

    :raises CompilationFailed: it is not installed.
    """
    name = os.environ.get("CXX") or DaceConfig.get("compiler", "cpu", "executable") or "c++"
    if shutil.which(name) is None:
        raise CompilationFailed(f"no C++ compiler: '{name}' is not on PATH. Install g++, or set CXX")
    return name


def run(command: list[str], what: str, generated: Sequence[Path] = ()) -> None:
    """Run a compiler command.

    :param what: the name of what is compiled, for the error message.
    :param generated: the files that it compiles, if they are generated code.
    :raises CompilationFailed: the compiler fails; the message has its first error lines and the command. Of generated
        code it names a file that has them, and the code.
    :raises DiskError: the disk is full.
    """
    done = _ran(command)
    if done.returncode and NO_SPACE in done.stderr:
        raise cannot_write(NO_SPACE.lower())
    if done.returncode < 0 or done.returncode and KILLED in done.stderr:
        raise CompilationFailed(f"the C++ compiler was killed while it compiled '{what}': {WHY_KILLED}")
    if not done.returncode and "-o" in command and not Path(command[command.index("-o") + 1]).exists():
        raise CompilationFailed(f"'{command[0]}' wrote nothing when it should compile '{what}': {ANOTHER_COMPILER}")
    if done.returncode and generated:
        report = generated[0].parent / "report.txt"
        code = [f"// {source}\n{source.read_text()}" for source in generated]
        report.write_text("\n".join([shlex.join(command), done.stderr, *code]))
        raise CompilationFailed(
            f"the code generated for '{what}' does not compile. Unless you wrote C++ of your own in it, this is "
            f"a fault of sdgrad: please report it, with the file {report}"
        )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        lines = lines or [f"'{command[0]}' does not say why: {ANOTHER_COMPILER}", *done.stderr.splitlines()]
        raise CompilationFailed(
            f"cannot compile {what}:\n"
            + "\n".join(line[:300] for line in lines[:10])
            + f"\ncommand: {shlex.join(command)}"
        )


def _ran(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command of the compiler; what it says may be in any encoding.

    :raises CompilationFailed: the system cannot run it.
    """
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise CompilationFailed(
            f"the C++ compiler '{command[0]}' cannot be run ({error.strerror}): {ANOTHER_COMPILER}"
        ) from error


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
