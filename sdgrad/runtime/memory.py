"""Memory that a compiled program keeps from call to call."""

from __future__ import annotations

import dace
from dace import data as dt

LEAST, MOST = 1 << 15, 1 << 26
"""Bytes of an array that is kept, since smaller ones are cheap to make anew, and of all that a program keeps."""


def keep_memory(sdfg: dace.SDFG) -> None:
    """Make temporaries of fixed size part of the program's state: made once for all calls that do not overlap.

    Otherwise each call takes their pages from the system and gives them back, which costs as much as writing to them.
    Small ones come first where not all can be kept.
    """
    fixed = [
        (int(desc.total_size) * desc.dtype.bytes, desc)
        for desc in sdfg.arrays.values()
        if type(desc) is dt.Array
        and desc.transient
        and not desc.free_symbols
        and desc.lifetime == dace.AllocationLifetime.Scope
    ]
    kept = 0
    for size, desc in sorted((pair for pair in fixed if pair[0] >= LEAST), key=lambda pair: pair[0]):
        kept += size
        if kept > MOST:
            break
        desc.lifetime = dace.AllocationLifetime.Persistent
