"""Arrays that are never there together, in one piece of memory.

What a program is written in stages with, it has an array for in each of them, and its adjoint has as many again. Two of
one size, of which the first is used for the last time before the second is used for the first, are one. Where their
shapes differ the second is a view of the first.
"""

from __future__ import annotations

from dataclasses import replace

import dace
from dace import data as dt

from sdgrad.optimize.dataflow.reshape_views import as_view
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Container, Program, local_names, own_reads, reads, walk, writes
from sdgrad.runtime.call.persistent_workspace import LEAST


def share_memory(program: Program) -> Program:
    """The program with fewer arrays."""
    local = {c for n in walk(program.body) for c in local_names(n)}
    spans: dict[str, tuple[int, int]] = {}
    for k, node in enumerate(program.body):
        inside = (c for n in walk((node,)) for c in reads(n) | writes(n) | own_reads(n))
        for name in sorted({program.root(c) for c in inside}):
            spans[name] = (spans.get(name, (k, k))[0], k)
    free: dict[tuple, list[tuple[int, str]]] = {}  # by what they look like: when last used, and the name
    places: dict[str, str] = {}
    views: dict[str, str] = {}
    for name, (first, last) in sorted(spans.items(), key=lambda item: item[1]):
        container = program.containers[name]
        if name in local or name in program.arguments or not _is_large(container):
            continue
        alike = free.setdefault(_look(container), [])
        done = min((x for x in alike if x[0] < first), key=lambda x: not _same_look(x[1], name, program), default=None)
        if done is not None:
            alike.remove(done)
            (places if _same_look(done[1], name, program) else views)[name] = done[1]
        alike.append((last, done[1] if done is not None else name))
    if not places and not views:
        return program
    moved = renamed_program(program, places)
    containers = {n: c for n, c in moved.containers.items() if n not in places}
    for name, whole in views.items():
        containers[name] = as_view(containers[name], containers[whole])
    return replace(moved, containers=containers)


def _is_large(container: Container) -> bool:
    desc = container.desc
    if type(desc) is not dt.Array or not desc.transient or container.view_of is not None or desc.free_symbols:
        return False
    return desc.storage == dace.StorageType.Default and int(desc.total_size) * desc.dtype.bytes >= LEAST


def _look(container: Container) -> tuple:
    """What arrays have in common that may share memory: a size if they lie in C's order, and otherwise the layout."""
    desc = container.desc
    rest = () if desc.is_packed_c_strides() else (container.shape, tuple(desc.strides))
    return container.dtype, int(desc.total_size), rest


def _same_look(one: str, other: str, program: Program) -> bool:
    ours, theirs = (program.containers[n] for n in (one, other))
    return ours.shape == theirs.shape and tuple(ours.desc.strides) == tuple(theirs.desc.strides)
