"""Compile the kernels of a program with NVIDIA's compiler: ``.cu`` files to objects."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dace.config import Config as DaceConfig

from sdgrad.errors import CompilationFailed

OLDEST = "75"
"""The compute capability of generated code if no GPU is there."""
DEFINES = ("-DWITH_CUDA",)


def nvcc() -> str:
    """Return the compiler: ``nvcc`` of ``$CUDA_HOME``, or on ``PATH``.

    :raises CompilationFailed: it is not installed.
    """
    home = os.environ.get("CUDA_HOME")
    found = shutil.which("nvcc", path=os.path.join(home, "bin") if home else None)
    if found is None:
        where = f"in {home}/bin" if home else "on PATH"
        raise CompilationFailed(f"no CUDA compiler: 'nvcc' is not {where}. Install CUDA's toolkit, or set CUDA_HOME")
    return found


@functools.cache
def _home(compiler: str) -> Path:
    """Return the toolkit's folder, as the compiler reports it."""
    told = subprocess.run([compiler, "--dryrun", "-c", "x.cu"], capture_output=True, text=True, check=False).stderr
    top = next((line.split("=", 1)[1] for line in told.splitlines() if line.startswith("#$ TOP=")), None)
    return Path(top).resolve() if top else Path(compiler).resolve().parent.parent


def home() -> Path:
    """Return the folder with CUDA's headers and libraries."""
    return _home(nvcc())


@functools.cache
def architecture() -> str:
    """Return the target architecture: that of the first GPU, or the oldest supported one."""
    asked = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=20).stdout.split()
    except (OSError, subprocess.SubprocessError):
        told = []
    return f"sm_{told[0].replace('.', '')}" if told else f"sm_{OLDEST}"


def host_flags() -> list[str]:
    """Return the compiler flags for the host part of a program."""
    return [*DEFINES, f"-I{home() / 'include'}"]


def links() -> list[str]:
    """Return the linker flags for CUDA's runtime."""
    folder = next((f for f in (home() / "lib64", home() / "lib") if f.is_dir()), home() / "lib")
    return [f"-L{folder}", "-lcudart", f"-Wl,-rpath,{folder}"]


def compile_command(source: Path, target: Path, options: Sequence[str]) -> list[str]:
    """Return the command that compiles a file of kernels to an object.

    :param options: include folders and defines.
    """
    own = ["-Xcompiler", "-fPIC,-w", "-w", "-std=c++20", "-O3", "--expt-relaxed-constexpr", f"-arch={architecture()}"]
    return [nvcc(), "-c", str(source), "-o", str(target), *own, *DEFINES, *options]


def configure() -> None:
    """Configure DaCe's code generation for GPUs: one stream, and the target architecture."""
    DaceConfig.set("compiler", "cuda", "max_concurrent_streams", value="-1")
    DaceConfig.set("compiler", "cuda", "cuda_arch", value=architecture().removeprefix("sm_"))


def describe() -> str:
    """Describe the compiler and the architecture, for the key of compiled programs."""
    return shlex.join([nvcc(), architecture()])
