"""Make what stands for objects of libraries that a function reads outside of itself, or has made."""

from __future__ import annotations

from typing import Any

from sdgrad.record.functions.table import OBJECTS, wrapped
from sdgrad.record.sparse.known import met_sparse


def met_object(recorder: Any, value: Any) -> Any:
    """Return what stands for an object of a library's; all else as it is."""
    stands_for = OBJECTS.get(type(value))
    if stands_for is None:
        return met_sparse(recorder, value, wrapped)
    if id(value) in recorder.reads.own:
        return wrapped(value)
    if id(value) in recorder.outer:
        return recorder.outer[id(value)][1]

    def taken(name: str) -> Any:
        part = getattr(value, name)
        recorder.reads.add(value, name, "attribute", part)
        return recorder.outside(part)

    found = stands_for(value, taken)
    recorder.outer[id(value)] = (value, found)
    return found
