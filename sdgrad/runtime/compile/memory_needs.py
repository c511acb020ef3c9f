"""Say how much memory the temporaries of a program take, for the error where there is not enough."""

from __future__ import annotations

import dace
from dace import data as dt

from sdgrad.machine.limits import shown
from sdgrad.program.own_memory import is_on_disk

ALL = "its arrays do not fit into memory"
MOST = 4  # arrays that are named


def memory_needs(sdfg: dace.SDFG) -> str:
    """Return in words how large temporaries are: the largest one by name, those of sizes that a call decides, files."""
    temporaries = {n: d for _, n, d in sdfg.arrays_recursive() if type(d) is dt.Array and d.transient}
    arrays = {n: d for n, d in temporaries.items() if not is_on_disk(d)}
    files = sum(int(d.total_size) * d.dtype.bytes for d in temporaries.values() if is_on_disk(d))
    sizes = {n: int(d.total_size) * d.dtype.bytes for n, d in arrays.items() if not d.free_symbols}
    texts = [f"'{n}' takes {d.dtype.bytes}*{d.total_size} bytes" for n, d in arrays.items() if d.free_symbols]
    if sizes:
        largest = max(sizes, key=lambda n: sizes[n])
        whole = f"its temporaries take {shown(sum(sizes.values()))}, '{largest}' alone {shown(sizes[largest])}"
        texts.insert(0, whole)
    told = [*texts[:MOST], *([f"its files take {shown(files)}"] if files else [])]
    return "; ".join(told) or ALL
