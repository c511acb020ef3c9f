"""Check the elements of index arrays: before a call where they are arguments, in the program where it computes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sdgrad.record.elements import Dim, Element, where
from sdgrad.record.elementwise import apply
from sdgrad.record.index_limits import IndexLimit, checks_indices, note_limit, outside_error
from sdgrad.record.recorder import Recorder
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import RULES, Array


def needs_no_check(recorder: Recorder, indices: Array, extent: Dim, axis: int) -> bool:
    """True if an index array is known or checked before the call, or if none is to be checked."""
    is_known = indices.known is not None and not recorder.ranges.may_be_short(extent)
    is_inside = is_known or _lies_below(recorder, indices, extent)
    return note_limit(recorder, indices, extent, axis) or is_inside or not checks_indices(recorder)


def _lies_below(recorder: Recorder, indices: Array, extent: Dim) -> bool:
    """True if a function made an index array of places in an axis, and nobody wrote it."""
    own = indices.storage
    return (
        isinstance(extent, int) and 0 < own.indexes <= extent and not own.version and own.block is recorder.blocks[-1]
    )


def checked_operands(recorder: Recorder, limits: Iterable[IndexLimit], operands: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operands of a program's call, with index arrays that reach nothing outside.

    They are checked before a call of this program, or, if it computes them, where that is recorded.
    """
    found = dict(operands)
    for limit in limits:
        indices = found.get(limit.name)
        if not isinstance(indices, Array) or not checks_indices(recorder):
            continue
        if (known := indices.read_known()) is not None:
            limit.check(known)
        elif not note_limit(recorder, indices, limit.extent, limit.axis, limit.certain):
            check_indices(recorder, indices.tensor, indices.tensor.shape, limit.extent, limit.axis)
            found[limit.name] = recorder.array(_kept_inside(recorder, indices, limit.extent))
    return found


def or_first(index: Element, size: Element) -> Element:
    """Return an index, or zero for one outside of an axis."""
    return where((index >= -size) & (index < size), index, 0)


def _kept_inside(recorder: Recorder, indices: Array, extent: Dim) -> Tensor:
    """Return indices with zeros for those outside of an axis."""
    tensor, size = indices.tensor, recorder.element(extent, np.int64)

    def inside(*at: Any) -> Element:
        return or_first(tensor[at], size)

    return recorder.compute(tensor.shape, indices.dtype, inside)


def check_indices(recorder: Recorder, tensor: Tensor, shape: Sequence[Dim], extent: Dim, axis: int) -> None:
    """Record that the elements of an index array that the program computes lie in an axis."""
    end = recorder.element(recorder.size(extent), np.int64)

    def outside(at: tuple) -> Element:
        return ((tensor[at] < -end) | (tensor[at] >= end)).astype(np.int64)

    found = recorder.reduction_over(shape, range(len(shape)), outside, "sum", np.int64)
    RULES.require(recorder, apply(np.equal, [recorder.read(found, ()), 0]), outside_error(recorder, extent, axis))
