"""Export compiled programs as a C library: a header, and one function for each program."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import dace
from dace import data as dt

from sdgrad.errors import ArgumentError
from sdgrad.runtime.compile.build import NEEDS, link_command, shared_parts, sources_of
from sdgrad.runtime.compile.cache import Library
from sdgrad.runtime.compile.compiler import run
from sdgrad.runtime.compile.precompiled_header import without_parts

C_TYPES = {
    dace.float64: "double",
    dace.float32: "float",
    dace.complex128: "double _Complex",
    dace.complex64: "float _Complex",
    dace.int64: "int64_t",
    dace.int32: "int32_t",
    dace.int16: "int16_t",
    dace.int8: "int8_t",
    dace.uint8: "uint8_t",
    dace.uint32: "uint32_t",
    dace.uint64: "uint64_t",
    dace.bool_: "bool",
}
"""The C types of elements."""
Function = tuple[Library, Sequence[str], Mapping[str, str], str | None]
"""A program, its parameters in order, the C names of its results, and the argument that is one (the seed), if any."""


def export(
    name: str, folder: Path, functions: Mapping[str, Function], notes: Mapping[str, str], values: Mapping[str, str]
) -> Path:
    """Write ``lib<name>.so`` and ``<name>.h``, and return the path of the header.

    :param functions: by their names in C.
    :param notes: what the header says of arguments, by name.
    :param values: of arguments that the programs are for, by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    header, wrapper = folder / f"{name}.h", folder / f"{name}_wrapper.cpp"
    declarations = [_declaration(f, *parts, notes) for f, parts in functions.items()]
    header.write_text(HEADER.format(guard=name.upper(), values=_values(values), declarations="\n\n".join(declarations)))
    definitions = [_definition(f, *parts) for f, parts in functions.items()]
    wrapper.write_text(SOURCE.format(definitions="\n\n".join(definitions)))
    folders = list(dict.fromkeys(Path(parts[0].path).parent for parts in functions.values()))
    needs = [json.loads((f / NEEDS).read_text()) for f in folders]
    common, memory = shared_parts(without_parts(streams=True, instruments=True, special=True))
    options = [common, *(o for n in needs for o in n["options"]), *(f"-I{f / 'include'}" for f in folders)]
    links = list(dict.fromkeys([memory, *(x for n in needs for x in n["links"])]))
    target = folder / f"lib{name}.so"
    sources = [*(s for f in folders for s in sources_of(f)), str(wrapper)]
    run(link_command(options, sources, target, links), target.name)
    wrapper.unlink()
    return header


def _parameters(
    library: Library, parameters: Sequence[str], results: Mapping[str, str]
) -> list[tuple[str, dt.Data, str]]:
    """List the arguments of a C function: the name in the program, the descriptor, the name in C."""
    own = [n for n in parameters if n in library.arguments]
    closure = [n for n in library.arguments if n not in parameters and n not in results]
    named = {**{n: n for n in (*own, *closure)}, **results}
    return [(n, library.arguments[n], c) for n, c in named.items()]


def _typed(desc: dt.Data, name: str, result: bool) -> str:
    """Declare a parameter in C: a pointer, or a number.

    :raises ArgumentError: C has no such type.
    """
    if desc.dtype not in C_TYPES:
        raise ArgumentError(f"argument '{name}' is {desc.dtype.to_string()}, which C has no type for")
    kind = C_TYPES[desc.dtype]
    return f"{kind} {name}" if isinstance(desc, dt.Scalar) and not result else f"{kind} *{name}"


def _declaration(
    name: str,
    library: Library,
    parameters: Sequence[str],
    results: Mapping[str, str],
    one: str | None,
    notes: Mapping[str, str],
) -> str:
    """Declare a function in the header, with the shapes of its arguments in a comment."""
    found = [p for p in _parameters(library, parameters, results) if p[0] != one]
    lines = [f" *   {c}: {_shape(d)}{', written' if n in results else ''}{_noted(n, notes)}" for n, d, c in found]
    typed = ", ".join(_typed(d, c, n in results) for n, d, c in found)
    return "/*\n" + "\n".join(lines) + f"\n */\nvoid {name}({typed});"


def _values(values: Mapping[str, str]) -> str:
    """Return what a comment says of arguments that C functions do not have."""
    told = ", ".join(f"{n} = {v}" for n, v in values.items()).replace("*/", "* /")
    return f"/* Compiled for {told}. */\n" if told else ""


def _noted(name: str, notes: Mapping[str, str]) -> str:
    """Return what a comment says of an argument besides its type, on lines of its own behind the first."""
    lines = notes.get(name, "").replace("*/", "* /").splitlines()
    return "".join(f", {line}" if k == 0 else f"\n *     {line}" for k, line in enumerate(lines))


def _shape(desc: dt.Data) -> str:
    """Describe the type and the shape of an argument."""
    shape = ", ".join(map(str, desc.shape)) if isinstance(desc, dt.Array) else ""
    return f"{desc.dtype.to_string()}[{shape}]" if shape else desc.dtype.to_string()


def _definition(
    name: str, library: Library, parameters: Sequence[str], results: Mapping[str, str], one: str | None
) -> str:
    """Define a function that clears its results and calls the program, whose state it creates in the first call."""
    found = {n: (d, c) for n, d, c in _parameters(library, parameters, results)}
    typed = ", ".join(_plain(d, c, n in results) for n, (d, c) in found.items() if n != one)
    raw = ", ".join(_plain(d, n, False) for n, d in library.arguments.items())
    start = ", ".join(_plain(library.arguments[n], n, False) for n in library.initial)
    passed = ", ".join("&one" if n == one else found[n][1] for n in library.arguments)
    begin = ", ".join(found[n][1] for n in library.initial)
    seed = f"    {library.arguments[one].dtype.ctype} one = 1;\n" if one is not None else ""
    clear = "".join(_clear(d, c) for n, (d, c) in found.items() if n in results)
    return (
        f"void *__dace_init_{library.name}({start});\n"
        f"void __program_{library.name}(void *{', ' if raw else ''}{raw});\n"
        f"void {name}({typed}) {{\n"
        f"    static void *state = __dace_init_{library.name}({begin});\n{seed}{clear}"
        f"    __program_{library.name}(state{', ' if passed else ''}{passed});\n}}"
    )


def _clear(desc: dt.Data, name: str) -> str:
    """Set a result to zero in C; nothing for numbers."""
    if not isinstance(desc, dt.Array):
        return ""
    return f"    for (int64_t k = 0; k < {desc.total_size}; ++k) {name}[k] = 0;\n"


def _plain(desc: dt.Data, name: str, result: bool) -> str:
    """Declare a parameter in C++."""
    kind = desc.dtype.ctype
    return f"{kind} {name}" if isinstance(desc, dt.Scalar) and not result else f"{kind} *{name}"


HEADER = """/* Written by sdgrad. Arrays are dense, in C order; sizes are in elements. */
{values}#ifndef {guard}_H
#define {guard}_H
#include <stdbool.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {{
#endif

{declarations}

#ifdef __cplusplus
}}
#endif
#endif
"""
SOURCE = """#include <dace/dace.h>

extern "C" {{
{definitions}
}}
"""
