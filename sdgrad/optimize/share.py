"""Arrays that are never there together, in one piece of memory.

What a program is written in stages with, it has an array for in each of them, and its adjoint has as many again. Two of
one shape, of which the first is used for the last time before the second is used for the first, are one.
"""

from __future__ import annotations

from dataclasses import replace

import dace
from dace import data as dt

from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Container, Program, local_names, own_reads, reads, walk, writes
from sdgrad.runtime.memory import LEAST


def share_memory(program: Program) -> Program:
    """The program with fewer arrays."""
    local = {c for n in walk(program.body) for c in local_names(n)}
    spans: dict[str, tuple[int, int]] = {}
    for k, node in enumerate(program.body):
        inside = (c for n in walk((node,)) for c in reads(n) | writes(n) | own_reads(n))
        for name in {program.root(c) for c in inside}:
            spans[name] = (spans.get(name, (k, k))[0], k)
    free: dict[tuple, list[tuple[int, str]]] = {}  # by what they look like: when last used, and the name
    places: dict[str, str] = {}
    for name, (first, last) in sorted(spans.items(), key=lambda item: item[1]):
        container = program.containers[name]
        if name in local or name in program.arguments or not _is_large(container):
            continue
        alike = free.setdefault(_look(container), [])
        done = next((x for x in alike if x[0] < first), None)
        if done is not None:
            alike.remove(done)
            places[name] = done[1]
        alike.append((last, done[1] if done is not None else name))
    if not places:
        return program
    moved = renamed_program(program, places)
    return replace(moved, containers={n: c for n, c in moved.containers.items() if n not in places})


def _is_large(container: Container) -> bool:
    desc = container.desc
    if type(desc) is not dt.Array or not desc.transient or container.view_of is not None or desc.free_symbols:
        return False
    return desc.storage == dace.StorageType.Default and int(desc.total_size) * desc.dtype.bytes >= LEAST


def _look(container: Container) -> tuple:
    return container.dtype, container.shape, tuple(container.desc.strides), int(container.desc.total_size)
