"""Tell which containers have memory of their own, and how many bytes of it."""

from __future__ import annotations

import dace
from dace import data as dt

from sdgrad.program.tree import Container

ALIGNED = 64
"""Bytes of a cache line: what lies in memory of others begins at a multiple of it."""


def has_own_memory(container: Container) -> bool:
    """True for a temporary array of known size on the heap that is no view."""
    desc = container.desc
    plain = type(desc) is dt.Array and desc.transient and container.view_of is None and not desc.free_symbols
    return plain and desc.storage == dace.StorageType.Default


def bytes_of(container: Container) -> int:
    """Return the bytes of a container of known size."""
    return int(container.desc.total_size) * container.dtype.bytes


def aligned(size: int) -> int:
    """Return the bytes of something with those up to where the next one begins."""
    return -(-size // ALIGNED) * ALIGNED
