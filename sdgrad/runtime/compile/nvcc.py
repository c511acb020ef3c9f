"""Kernels by NVIDIA's compiler: from the ``.cu`` files of a program to objects that its library is linked with."""

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

OLDEST = "75"  # compute capability that code is made for where no GPU says its own
DEFINES = ("-DWITH_CUDA",)


def nvcc() -> str:
    """The compiler: ``nvcc`` of ``$CUDA_HOME``, or on ``PATH``.

    :raises CompilationFailed: there is none.
    """
    home = os.environ.get("CUDA_HOME")
    found = shutil.which("nvcc", path=os.path.join(home, "bin") if home else None)
    if found is None:
        where = f"in {home}/bin" if home else "on PATH"
        raise CompilationFailed(f"no CUDA compiler: 'nvcc' is not {where}. Install CUDA's toolkit, or set CUDA_HOME")
    return found


@functools.cache
def _home(compiler: str) -> Path:
    """The toolkit's folder, which the compiler knows."""
    told = subprocess.run([compiler, "--dryrun", "-c", "x.cu"], capture_output=True, text=True, check=False).stderr
    top = next((line.split("=", 1)[1] for line in told.splitlines() if line.startswith("#$ TOP=")), None)
    return Path(top).resolve() if top else Path(compiler).resolve().parent.parent


def home() -> Path:
    """The folder with CUDA's headers and libraries."""
    return _home(nvcc())


@functools.cache
def architecture() -> str:
    """What code is made for: the GPU that is there, or the oldest one that is supported."""
    asked = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=20).stdout.split()
    except (OSError, subprocess.SubprocessError):
        told = []
    return f"sm_{told[0].replace('.', '')}" if told else f"sm_{OLDEST}"


def host_flags() -> list[str]:
    """Flags for the part of a program that runs on the host."""
    return [*DEFINES, f"-I{home() / 'include'}"]


def links() -> list[str]:
    """What a library is linked with."""
    folder = next((f for f in (home() / "lib64", home() / "lib") if f.is_dir()), home() / "lib")
    return [f"-L{folder}", "-lcudart", f"-Wl,-rpath,{folder}"]


def compile_command(source: Path, target: Path, options: Sequence[str]) -> list[str]:
    """The call that makes an object of a file of kernels.

    :param options: include folders and defines.
    """
    own = ["-Xcompiler", "-fPIC,-w", "-w", "-std=c++20", "-O3", "--expt-relaxed-constexpr", f"-arch={architecture()}"]
    return [nvcc(), "-c", str(source), "-o", str(target), *own, *DEFINES, *options]


def configure() -> None:
    """DaCe's own configuration as it has to be while code for a GPU is generated."""
    DaceConfig.set("compiler", "cuda", "max_concurrent_streams", value="-1")  # one after another
    DaceConfig.set("compiler", "cuda", "cuda_arch", value=architecture().removeprefix("sm_"))


def describe() -> str:
    """The compiler and what it makes code for, as a part of the key of compiled programs."""
    return shlex.join([nvcc(), architecture()])
