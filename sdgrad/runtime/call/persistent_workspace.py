"""Memory that a compiled program keeps from call to call."""

from __future__ import annotations

import dace
from dace import data as dt

LEAST, MOST = 1 << 15, 1 << 24
"""Bytes of an array that is kept. Smaller ones are cheap to make anew, and larger ones are given back."""


def keep_memory(sdfg: dace.SDFG) -> None:
    """Make temporaries of fixed size part of the program's state: made once for all calls that do not overlap.

    Otherwise each call takes their pages from the system and gives them back, which costs as much as writing to them.
    """
    for desc in sdfg.arrays.values():
        if type(desc) is dt.Array and desc.transient and not desc.free_symbols:
            size = int(desc.total_size) * desc.dtype.bytes
            kept = LEAST <= size <= MOST or desc.storage == dace.StorageType.GPU_Global  # where taking any is slow
            if kept and desc.lifetime == dace.AllocationLifetime.Scope:
                desc.lifetime = dace.AllocationLifetime.Persistent
