"""Tell which containers have memory of their own, or lie on the disk, and how many bytes they have."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import dace
import sympy
from dace import data as dt

from sdgrad.program.kept import kept
from sdgrad.program.tree import Container, Program

ALIGNED = 64
"""Bytes of a cache line: what lies in memory of others begins at a multiple of it."""


DISK, ALONE = 1 << 16, 1 << 17
"""The alignment of arrays in files, and of those beside which nothing waits to be used again: as ``ON_DISK`` in
``sdgrad_files.h`` and ``ALONE`` in ``sdgrad_memory.h``."""


def on_disk(dtype: dace.typeclass, shape: Sequence[sympy.Expr]) -> dt.Array:
    """Return the descriptor of a temporary that lies in a file."""
    return dt.Array(dtype, list(shape), transient=True, storage=dace.StorageType.CPU_Heap, alignment=DISK)


def is_on_disk(desc: dt.Data) -> bool:
    """True for a temporary that lies in a file."""
    return type(desc) is dt.Array and desc.alignment == DISK


def alone(desc: dt.Array) -> dt.Array:
    """Return the descriptor of a temporary that is made when all memory that waits to be used again has gone."""
    made = copy.deepcopy(desc)
    made.storage, made.alignment = dace.StorageType.CPU_Heap, ALONE
    return made


def is_for_one_call(desc: dt.Data) -> bool:
    """True for a temporary that is made in each call: on the disk, or within a limit of memory."""
    return type(desc) is dt.Array and desc.alignment in (DISK, ALONE)


def has_own_memory(container: Container) -> bool:
    """True for a temporary array of known size on the heap that is no view."""
    desc = container.desc
    plain = type(desc) is dt.Array and desc.transient and container.view_of is None and not container.symbols
    return plain and desc.storage == dace.StorageType.Default


def bytes_of(container: Container) -> int:
    """Return the bytes of a container of known size."""
    return int(container.desc.total_size) * container.dtype.bytes


def aligned(size: int) -> int:
    """Return the bytes of something with those up to where the next one begins."""
    return -(-size // ALIGNED) * ALIGNED


@kept
def viewed(program: Program) -> frozenset[str]:
    """Return the containers that others are views of."""
    return frozenset(program.root(c.name) for c in program.containers.values() if c.view_of is not None)
