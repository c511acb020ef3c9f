"""Keep the memory of temporaries in a compiled program's state, from call to call."""

from __future__ import annotations

import dace
from dace import data as dt

from sdgrad.program.own_memory import is_for_one_call

LEAST, MOST = 1 << 15, 1 << 24
"""The least and the greatest size in bytes of an array that is kept: smaller ones are cheap to allocate."""


def keep_memory(sdfg: dace.SDFG) -> None:
    """Make temporaries of fixed size part of the program's state, which is allocated once.

    Otherwise every call takes their pages from the operating system, which costs as much as the stores to them. Arrays
    in device memory are always kept: their allocation is slow.
    """
    for desc in sdfg.arrays.values():
        if type(desc) is dt.Array and desc.transient and not desc.free_symbols:
            size = _bytes(desc)
            kept = LEAST <= size <= MOST or desc.storage == dace.StorageType.GPU_Global
            if kept and desc.lifetime == dace.AllocationLifetime.Scope and not is_for_one_call(desc):
                desc.lifetime = dace.AllocationLifetime.Persistent


def kept_bytes() -> tuple[int, int]:
    """Return how large temporaries are that :func:`keep_memory` keeps, at least and at most."""
    return LEAST, MOST


def keep_in_registers(sdfg: dace.SDFG) -> None:
    """Put temporaries of one element on the stack, where the compiler sees that no store to an array changes them."""
    graphs = list(sdfg.all_sdfgs_recursive())
    if any(d.storage == dace.StorageType.GPU_Global for g in graphs for d in g.arrays.values()):
        return
    for desc in (d for g in graphs for d in g.arrays.values()):
        single = type(desc) is dt.Array and desc.transient and desc.total_size == 1
        if single and desc.storage == dace.StorageType.Default and desc.lifetime == dace.AllocationLifetime.Scope:
            desc.storage = dace.StorageType.Register


def allocate_once(sdfg: dace.SDFG) -> None:
    """Let small temporaries live as long as the program runs: those of a state in a loop would be new in each trip."""
    for desc in sdfg.arrays.values():
        small = type(desc) is dt.Array and desc.transient and not desc.free_symbols and _bytes(desc) < LEAST
        own = desc.storage == dace.StorageType.Default and desc.lifetime == dace.AllocationLifetime.Scope
        if small and own and not is_for_one_call(desc):
            desc.lifetime = dace.AllocationLifetime.SDFG


def _bytes(desc: dt.Data) -> int:
    return int(desc.total_size) * desc.dtype.bytes
