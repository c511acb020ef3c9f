"""Compile generated C++ to shared libraries: one compiler call, with DaCe's header precompiled.

DaCe builds with CMake, whose configuration takes longer than most compilations here. The flags are DaCe's own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import dace
from dace import data as dt
from dace import library
from dace.codegen import codegen, compiler

from sdgrad.config import config
from sdgrad.errors import CompilationFailed
from sdgrad.program.interrupts import POLL
from sdgrad.program.own_memory import is_for_one_call, is_on_disk
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile import nvcc
from sdgrad.runtime.compile.codegen_answers import answers_once
from sdgrad.runtime.compile.compiler import DACE_INCLUDE, compiler_name, cores, flags, run
from sdgrad.runtime.compile.fast_linker import fast_linker
from sdgrad.runtime.compile.nontemporal_stores import around_caches
from sdgrad.runtime.compile.precompiled_header import Header, without_parts
from sdgrad.runtime.compile.program_objects import memory_object
from sdgrad.runtime.compile.restrict_pointers import local_pointers
from sdgrad.runtime.compile.simd import in_lanes, keeping_nan
from sdgrad.runtime.compile.translation_units import divided
from sdgrad.runtime.compile.wide_permutations import NARROW, has_doubtful_permutation

NEEDS = "needs.json"
"""The file that lists a program's own compiler and linker flags."""
DONE, NO_MEMORY, NO_DISK, INTERRUPTED = 1, 2, 3, 4
"""What a program returns: it has run, or there was no memory for one of its arrays."""
SPECIAL = re.compile(
    r"\b(assoc_l|beta|comp_ellint|cyl_|ellint_|expint|hermite|laguerre|legendre|riemann_zeta|sph_)\w*\s*\("
)
"""Calls of the special functions of C++17, whose headers are left out of other programs."""
OF_HASH = '#include "../../include/hash.h"\n'
"""A header of DaCe's for programs that ask whether their graph has changed: here the name of a program says it."""
READ_WHOLE = re.compile(r"^(\s*)(\w+ ?\* ?all_\w+ = &)", re.MULTILINE)
"""The pointer to a container that a tasklet reads as a whole."""


def spared_headers(sdfg: dace.SDFG, codes: Iterable[str]) -> list[str]:
    """Return the flags that leave out the parts of DaCe's header that a program does not use."""
    streams = any(isinstance(desc, dt.Stream) for _, _, desc in sdfg.arrays_recursive())
    special = any(SPECIAL.search(code) for code in codes)
    return without_parts(streams, sdfg.is_instrumented(), special)


@dataclass(frozen=True)
class Job:
    """A graph to compile.

    :param arguments: the arguments of its program.
    :param initial: the arguments that its initialization takes as well.
    :param folder: the folder for its sources.
    :param target: the path of the library.
    """

    sdfg: dace.SDFG
    arguments: Mapping[str, dt.Data]
    initial: Sequence[str]
    folder: Path
    target: Path


@dataclass(frozen=True)
class Needs:
    """The flags of one program: compiler options, linker options, and those that leave out parts of the header."""

    options: list[str]
    links: list[str]
    spared: list[str]

    @staticmethod
    def of_all(needs: Sequence[Needs]) -> Needs:
        """Merge the flags of several programs for one compiler call."""
        options, links = (list(dict.fromkeys(x for n in needs for x in getattr(n, f))) for f in ("options", "links"))
        return Needs(options, links, [x for x in needs[0].spared if all(x in n.spared for n in needs)])


def build(jobs: Sequence[Job]) -> None:
    """Generate the code of graphs, and compile it by one compiler call: headers take most of its time.

    The jobs are compiled one by one if they have kernels (whose helper functions have the same names), or if the joint
    compilation fails: then either two programs share a name, or the error of one of them is reported.
    """
    needs = [generate(job) for job in jobs]
    if len(jobs) > 1 and not any(is_device(job.sdfg) for job in jobs):
        try:
            compile_sources(jobs, Needs.of_all(needs))
            return
        except CompilationFailed:
            pass
    for job, own in zip(jobs, needs, strict=True):
        compile_sources([job], own)


def generate(job: Job) -> Needs:
    """Generate and write the sources of a graph, and return its flags."""
    with config.compiling():
        if is_device(job.sdfg):
            nvcc.configure()
        with answers_once():
            objects = codegen.generate_code(job.sdfg, validate=config.debug)
        change = _on_device if is_device(job.sdfg) else _on_host
        for made in objects:
            made.code = change(keeping_nan(made.clean_code.replace(OF_HASH, "")))
        objects[0].code = objects[0].clean_code + entries(
            job.sdfg.name,
            job.arguments,
            job.initial,
            files=_has(is_on_disk, job.sdfg),
            alone=_has(is_for_one_call, job.sdfg),
            polls=POLL in objects[0].code,
        )
        first, *others = [objects[0].code] if is_device(job.sdfg) else divided(objects[0].code)
        objects[0].code = first
        write_sources(job.sdfg, objects, job.folder)
        for k, code in enumerate(others):
            (job.folder / "src" / "cpu" / f"{job.sdfg.name}_{k}.cpp").write_text(code)
    options, links = _flags_of({e for o in objects for e in o.environments})
    (job.folder / NEEDS).write_text(json.dumps({"options": options, "links": links}))
    return Needs(options, links, spared_headers(job.sdfg, [*(o.code for o in objects), *others]))


def _on_host(code: str) -> str:
    """Return DaCe's code as the host runs it."""
    return code if "simd-reductions" in config.without else in_lanes(around_caches(local_pointers(code)))


def _on_device(code: str) -> str:
    """Return DaCe's code for kernels, and for the host that calls them.

    Arrays that kernels only read are constant: twice, or not at all in pointers to views of them.
    """
    return READ_WHOLE.sub(r"\1const \2", code).replace("const const ", "const ")


def _flags_of(environments: set[str]) -> tuple[list[str], list[str]]:
    """Return the compiler and linker options of library environments and their dependencies."""
    options: list[str] = []
    links: list[str] = []
    for env in library.get_environments_and_dependencies(environments):
        options += [*_value(env.cmake_compile_flags), *(f"-I{i}" for i in _value(env.cmake_includes))]
        links += [*_value(env.cmake_libraries), *_value(env.cmake_link_flags)]
    return options, links


def compile_sources(jobs: Sequence[Job], needs: Needs) -> None:
    """Compile the sources of all jobs to one library, and link it under the target of each job."""
    first = jobs[0]
    sources = [s for job in jobs for s in sources_of(job.folder)]
    if 1 < len(jobs) == len(sources):
        whole = first.folder / "together.cpp"
        # GCC uses a precompiled header only if it is the first include of the file on the command line
        whole.write_text("#include <dace/dace.h>\n" + "".join(f'#include "{source}"\n' for source in sources))
        sources = [str(whole)]
    part = first.target.with_suffix(f".{os.getpid()}.part")  # compilers of processes that were killed write to others
    for left in first.folder.glob("*.part"):
        left.unlink(missing_ok=True)
    given = [*needs.options, *needs.spared]
    if any(is_device(job.sdfg) for job in jobs):
        sources += [compile_kernels(k, given) for job in jobs for k in sorted((job.folder / "src").rglob("*.cu"))]
        given += nvcc.host_flags()
        needs = replace(needs, links=[*needs.links, *nvcc.links()])
    else:
        header, memory = shared_parts(needs.spared)
        given = [header, *given]
        needs = replace(needs, links=[memory, *needs.links])
    written = [Path(s) for job in jobs for s in sources_of(job.folder)]
    make_library(given, sources, part, needs.links, first.sdfg.name, written)
    if has_doubtful_permutation(part.read_bytes()):
        make_library([NARROW, *given], sources, part, needs.links, first.sdfg.name, written)
    for job in jobs[1:]:
        job.target.unlink(missing_ok=True)
        os.link(part, job.target)
    part.replace(first.target)


def shared_parts(spared: Sequence[str]) -> tuple[str, str]:
    """Make what programs of the host have in common, unless it exists.

    :returns: the compiler flag of the header, and the object to link.
    """
    header = Header.of(spared)
    header.make()
    return header.include, str(memory_object().make())


def make_library(
    options: list[str], sources: list[str], target: Path, links: list[str], name: str, written: Sequence[Path]
) -> None:
    """Compile sources, side by side if there are several, and link them."""
    if len(sources) == 1:
        run(link_command(options, sources, target, links), name, written)
        return
    own = [s for s in sources if s.endswith(".cpp")]
    objects = [f"{s.removesuffix('.cpp')}.{os.getpid()}.o" for s in own]
    commands = [compile_command(options, s, o) for s, o in zip(own, objects, strict=True)]  # of this thread's settings
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(lambda command: run(command, name, written), commands))
    others = [s for s in sources if s not in own]  # kernels
    run(link_command(options, [*objects, *others], target, links), name, written)
    for made in objects:
        Path(made).unlink()


def is_device(sdfg: dace.SDFG) -> bool:
    """True if a program has kernels for a GPU."""
    return any(desc.storage == dace.StorageType.GPU_Global for desc in sdfg.arrays.values())


def compile_kernels(source: Path, options: Sequence[str]) -> str:
    """Compile a file of kernels, and return the path of the object."""
    target = source.with_suffix(".o")
    spared = [] if "cub::" in source.read_text() else [f"-I{INCLUDE / 'without_cub'}"]
    given = [*options, *spared, f"-I{DACE_INCLUDE}", f"-I{INCLUDE}"]
    run(nvcc.compile_command(source, target, given), source.name, [source])
    return str(target)


def sources_of(folder: Path) -> list[str]:
    """List the generated sources in the folder of a program."""
    return sorted(str(p) for p in (folder / "src").rglob("*.cpp") if "sample" not in p.parts)


def compile_command(options: list[str], source: str, target: str) -> list[str]:
    """Return the command that compiles a source to an object."""
    return [*_command(options), "-c", source, "-o", target]


def link_command(options: list[str], sources: list[str], target: Path, links: list[str]) -> list[str]:
    """Return the command that compiles sources to a shared library."""
    return [*_command(options), "-shared", *fast_linker(), *sources, "-o", str(target), *links]


def _command(options: list[str]) -> list[str]:
    return [compiler_name(), *options, *flags(), f"-I{DACE_INCLUDE}", f"-I{INCLUDE}"]


def write_sources(sdfg: dace.SDFG, objects: list, folder: Path) -> None:
    """Write the generated sources; with ``config.debug`` the graph as well, and what else DaCe writes."""
    if config.debug:
        compiler.generate_program_folder(sdfg, objects, str(folder))
        return
    for made in objects:
        if made.linkable:
            place = folder / "src" / made.target.target_name / (made.target_type or "")
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{made.name}.{made.language}").write_text(made.clean_code)


def _has(asked: Callable[[dt.Data], bool], sdfg: dace.SDFG) -> bool:
    """True if a graph has arrays of some kind."""
    return any(asked(desc) for _, _, desc in sdfg.arrays_recursive())


def entries(
    name: str,
    arguments: Mapping[str, dt.Data],
    initial: Sequence[str],
    files: bool = False,
    alone: bool = False,
    polls: bool = False,
) -> str:
    """Generate C++ functions, in the file of the program, that start it, and run it on pointers to its arguments.

    An exception ends here: Python's calls would end the process. With DaCe's own header arrays are its own.

    :param files: it has arrays on the disk.
    :param alone: it has a limit of memory.
    :param polls: it asks for interrupts.
    """
    types = [desc.as_arg(name="") for desc in arguments.values()]
    given = [f"({t})p[{k}]" if "*" in t else f"*({t}*)p[{k}]" for k, t in enumerate(types)]
    passed = ", ".join([f"({name}_state_t*)handle", *given])
    taken = ", ".join(arguments[n].as_arg(name=n) for n in initial)
    owner = "static char owner; sdgrad::Running now(&owner); " if alone else ""
    ends = [("sdgrad::NoDisk", NO_DISK)] if files else []
    plain = _caught([*ends, ("std::bad_alloc", NO_MEMORY)])
    pooled = _caught(
        [("sdgrad::Interrupted", INTERRUPTED), *ends, ("std::bad_alloc", NO_MEMORY)], "sdgrad::leave(call); "
    )
    return (
        f'extern "C" int __by_addresses_{name}(void* handle, void** p) {{\n'
        "#ifdef SDGRAD_POOL\n    sdgrad::Call call;\n#endif\n"
        f"    try {{ {owner}__program_{name}({passed}); return {DONE}; }}\n"
        f"#ifdef SDGRAD_POOL\n{pooled}#else\n{plain}#endif\n}}\n"
        f'extern "C" void* __start_{name}({taken}) {{\n'
        f"    try {{ return __dace_init_{name}({', '.join(initial)}); }}\n"
        "    catch (const std::bad_alloc&) { return nullptr; }\n}\n"
    ) + (f'extern "C" void __polls_{name}() {{}}\n' if polls else "")


def _caught(ends: Sequence[tuple[str, int]], before: str = "") -> str:
    """Return what catches exceptions, each with what is returned then."""
    return "".join(f"    catch (const {kind}&) {{ {before}return {code}; }}\n" for kind, code in ends)


def _value(field):
    """Return a library environment's field, which is a list or a function that returns one."""
    return field() if callable(field) else field
