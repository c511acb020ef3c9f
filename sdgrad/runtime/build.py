"""From generated C++ to a shared library: one compiler call, with DaCe's header precompiled.

DaCe builds through CMake, whose configuration takes longer than most compilations here. The flags are DaCe's own.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import dace
from dace import data as dt
from dace import library
from dace.codegen import codegen, compiler
from dace.config import Config as DaceConfig

from sdgrad.config import config
from sdgrad.errors import CompilationFailed
from sdgrad.runtime import cuda
from sdgrad.runtime.pointers import local_pointers
from sdgrad.runtime.simd import in_lanes
from sdgrad.runtime.streams import around_caches

NEEDS = "needs.json"  # what a program was compiled and linked with, besides the flags of all programs
INCLUDE = Path(__file__).parent / "include"
HEADER = INCLUDE / "sdgrad_dace.h"  # what is precompiled as <dace/dace.h>
MOST_ARGUMENTS = 1000  # ctypes passes no more than 1024; programs with more take the addresses of them
AGAIN = f'#include "{HEADER.name}"\n'  # what a file that includes <dace/dace.h> once more gets
DACE_INCLUDE = Path(dace.__file__).parent / "runtime" / "include"
# Guards of headers of DaCe's runtime that most programs need nothing of: without them a compilation takes a third less
STREAMS, INSTRUMENTS = ("__DACE_STREAM_H",), ("__DACE_PERF_REPORTING_H", "__DACE_SERIALIZATION_H", "__DACE_COMM_H")
NO_SPECIAL = "SDGRAD_NO_SPECIAL_FUNCTIONS"  # see sdgrad_dace.h
SPECIAL = re.compile(
    r"\b(assoc_l|beta|comp_ellint|cyl_|ellint_|expint|hermite|laguerre|legendre|riemann_zeta|sph_)\w*\s*\("
)


def flags() -> list[str]:
    """Compiler flags of all programs."""
    level = ["-O0", "-g"] if config.debug else [f"-O{config.optimization_level}", "-DNDEBUG"]
    warnings_off = [f for f in shlex.split(DaceConfig.get("compiler", "cpu", "args")) if not f.startswith("-W")]
    return [*warnings_off, *level, *complex_rules(), "-w", "-fPIC", "-fopenmp", "-std=c++20"]


@functools.cache
def complex_rules() -> tuple[str, ...]:
    """Products and quotients of complex numbers as NumPy computes them: C++ looks for NaN after each product."""
    told = subprocess.run([compiler_name(), "--version"], capture_output=True, text=True, check=False).stdout
    return () if "clang" in told.lower() else ("-fcx-fortran-rules", "--param=vect-max-version-for-alias-checks=200")


def spared_headers(sdfg: dace.SDFG, codes: Iterable[str]) -> list[str]:
    """Flags that leave out the headers, and parts of them, that a graph and its generated code have no use for."""
    streams = any(isinstance(desc, dt.Stream) for _, _, desc in sdfg.arrays_recursive())
    guards = (() if streams else STREAMS) + (() if sdfg.is_instrumented() else INSTRUMENTS)
    special = any(SPECIAL.search(code) for code in codes)
    return [f"-D{name}" for name in (*guards, *(() if special else (NO_SPECIAL,)))]


def compiler_name() -> str:
    """The C++ compiler: ``$CXX``, what DaCe is told, or ``c++``."""
    name = os.environ.get("CXX") or DaceConfig.get("compiler", "cpu", "executable") or "c++"
    if shutil.which(name) is None:
        raise CompilationFailed(f"no C++ compiler: '{name}' is not on PATH. Install g++, or set CXX")
    return name


@functools.cache
def linker() -> tuple[str, ...]:
    """The flag for a linker that is faster than the usual one, where there is one: a fifth of a small compilation."""
    found = [name for name in ("gold", "lld") if shutil.which(f"ld.{name}")]
    return (f"-fuse-ld={found[0]}",) if found else ()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time; the others wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{path}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def precompiled_header(options: list[str]) -> list[str]:
    """An include flag that makes the compiler take ``dace.h`` precompiled; made once for each set of flags."""
    own = [h.read_text() for h in sorted(INCLUDE.glob("*.h"))]
    what = [compiler_name(), dace.__version__, AGAIN, *own, *options]
    key = hashlib.sha256(" ".join(what).encode()).hexdigest()[:16]
    folder = config.cache_folder / f"header_{key}"
    target = folder / "dace" / "dace.h.gch"
    if not target.exists():
        with locked(folder):
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.with_suffix("").write_text(AGAIN)
                part = target.with_suffix(".part")
                run(
                    [
                        compiler_name(),
                        *options,
                        f"-I{DACE_INCLUDE}",
                        "-x",
                        "c++-header",
                        str(HEADER),
                        "-o",
                        str(part),
                    ],
                    "dace.h",
                )
                part.replace(target)
    return [f"-I{folder}"]


def run(command: list[str], what: str) -> None:
    """One compiler call; its errors, shortened to the lines that say what is wrong, become ours."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise CompilationFailed(
            f"cannot compile {what}:\n" + "\n".join(lines[:10]) + f"\ncommand: {shlex.join(command)}"
        )


@dataclass(frozen=True)
class Job:
    """A graph to compile.

    :param arguments: what its program is called with; ``initial`` are those by which it is started, too.
    :param folder: for its sources.
    :param target: the library that is made.
    """

    sdfg: dace.SDFG
    arguments: Mapping[str, dt.Data]
    initial: Sequence[str]
    folder: Path
    target: Path


@dataclass(frozen=True)
class Needs:
    """What the generated code of a graph is compiled and linked with, besides the flags of all programs."""

    options: list[str]
    links: list[str]
    spared: list[str]

    @staticmethod
    def of_all(needs: Sequence[Needs]) -> Needs:
        """What several programs need together."""
        options, links = (list(dict.fromkeys(x for n in needs for x in getattr(n, f))) for f in ("options", "links"))
        return Needs(options, links, [x for x in needs[0].spared if all(x in n.spared for n in needs)])


def build(jobs: Sequence[Job]) -> None:
    """Generate and compile the code of graphs, all by one call of the compiler: headers take most of its time."""
    needs = [generate(job) for job in jobs]
    if len(jobs) > 1 and not any(is_device(job.sdfg) for job in jobs):  # kernels bring functions of the same names
        try:
            compile_sources(jobs, Needs.of_all(needs))
            return
        except CompilationFailed:  # two programs may have a name in common, or one of them is wrong: that one says so
            pass
    for job, own in zip(jobs, needs, strict=True):
        compile_sources([job], own)


def generate(job: Job) -> Needs:
    """Write the sources of a graph."""
    with config.compiling():
        if is_device(job.sdfg):
            cuda.configure()
        objects = codegen.generate_code(job.sdfg, validate=config.debug)
        for made in objects if "lanes" not in config.without and not is_device(job.sdfg) else ():
            made.code = in_lanes(around_caches(local_pointers(made.clean_code)))
        write_sources(job.sdfg, objects, job.folder)
    if len(job.arguments) > MOST_ARGUMENTS:
        entry = entry_by_addresses(job.sdfg.name, job.arguments)
        (job.folder / "src" / "cpu" / "by_addresses.cpp").write_text(entry)
    options, links = [], []
    for env in library.get_environments_and_dependencies({e for o in objects for e in o.environments}):
        options += [*_value(env.cmake_compile_flags), *(f"-I{i}" for i in _value(env.cmake_includes))]
        links += [*_value(env.cmake_libraries), *_value(env.cmake_link_flags)]
    (job.folder / NEEDS).write_text(json.dumps({"options": options, "links": links}))
    return Needs(options, links, spared_headers(job.sdfg, [o.code for o in objects]))


def compile_sources(jobs: Sequence[Job], needs: Needs) -> None:
    """One library with the programs of all jobs, under the name that each of them wants."""
    first = jobs[0]
    sources = [s for job in jobs for s in sources_of(job.folder)]
    if len(jobs) > 1:
        whole = first.folder / "together.cpp"
        # GCC takes a precompiled header only where the file that it is given includes it first
        whole.write_text("#include <dace/dace.h>\n" + "".join(f'#include "{source}"\n' for source in sources))
        sources = [str(whole)]
    part = first.target.with_suffix(".part")
    given = [*needs.options, *needs.spared, *(f"-I{job.folder / 'include'}" for job in jobs)]
    if any(is_device(job.sdfg) for job in jobs):
        sources += [compile_kernels(k, given) for job in jobs for k in sorted((job.folder / "src").rglob("*.cu"))]
        given += cuda.host_flags()
        needs = replace(needs, links=[*needs.links, *cuda.links()])
    else:
        given = [*precompiled_header([*flags(), *needs.spared]), *given]
    run(link_command(given, sources, part, needs.links), first.sdfg.name)
    for job in jobs[1:]:
        job.target.unlink(missing_ok=True)
        os.link(part, job.target)
    part.replace(first.target)


def is_device(sdfg: dace.SDFG) -> bool:
    """Whether a program has kernels for a GPU."""
    return any(desc.storage == dace.StorageType.GPU_Global for desc in sdfg.arrays.values())


def compile_kernels(source: Path, options: Sequence[str]) -> str:
    """An object with the kernels of a program."""
    target = source.with_suffix(".o")
    run(cuda.compile_command(source, target, [*options, f"-I{DACE_INCLUDE}", f"-I{INCLUDE}"]), source.name)
    return str(target)


def sources_of(folder: Path) -> list[str]:
    """The generated sources in the folder of a program."""
    return sorted(str(p) for p in (folder / "src").rglob("*.cpp") if "sample" not in p.parts)


def link_command(options: list[str], sources: list[str], target: Path, links: list[str]) -> list[str]:
    """Sources to a shared library."""
    includes = [f"-I{DACE_INCLUDE}", f"-I{INCLUDE}"]
    own = [*options, *flags(), *includes, "-shared", *linker()]
    return [compiler_name(), *own, *sources, "-o", str(target), *links]


def write_sources(sdfg: dace.SDFG, objects: list, folder: Path) -> None:
    """The generated sources, with the graph beside them where somebody wants to look at it."""
    if config.debug:
        compiler.generate_program_folder(sdfg, objects, str(folder))
        return
    compiler.generate_program_folder(None, objects, str(folder), folder_mode="production")
    (folder / "include").mkdir(exist_ok=True)
    (folder / "include" / "hash.h").write_text(f'#define __HASH_{sdfg.name} ""\n')


def entry_by_addresses(name: str, arguments: Mapping[str, dt.Data]) -> str:
    """C++ of a function that calls a program with its arguments in an array of pointers."""
    types = [desc.as_arg(name="") for desc in arguments.values()]
    given = [f"({t})p[{k}]" if "*" in t else f"*({t}*)p[{k}]" for k, t in enumerate(types)]
    return (
        "#include <dace/dace.h>\n"
        f'extern "C" void __program_{name}(void*, {", ".join(types)});\n'
        f'extern "C" void __by_addresses_{name}(void* handle, void** p) {{\n'
        f"    __program_{name}(handle, {', '.join(given)});\n}}\n"
    )


def _value(field):
    """A library environment's field: a list, or a function that returns one."""
    return field() if callable(field) else field
