"""Check index arrays where they enter a program, before a call: nothing outside of an array is read or written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.program.tree import Source
from sdgrad.record.outside import shown_line
from sdgrad.record.values import Array, Number


@dataclass(frozen=True)
class IndexLimit:
    """What the elements of an input have to be: indices of an axis.

    :param name: the input of the program.
    """

    name: str
    extent: int
    axis: int
    where: Source

    def check(self, indices: Any) -> None:
        """Raise the error of NumPy's if an index lies outside.

        :raises IndexError: one does.
        """
        if not isinstance(indices, np.ndarray) or indices.dtype.kind not in "iu" or not indices.size:
            return
        if indices.view(f"u{indices.dtype.itemsize}").max() < self.extent:
            return  # one pass: negative ones are large without their sign
        least, most = indices.min(), indices.max()
        if -self.extent <= least and most < self.extent:
            return
        wrong = least if least < -self.extent else most
        told = f"index {wrong} in '{self.name}' is out of bounds for axis {self.axis} with size {self.extent}"
        raise IndexError(f"{shown_line(self.where)}{told}")


def is_certain(recorder: Any) -> bool:
    """True where what is recorded is done in each call: in no loop, and in no arm."""
    return len(recorder.blocks) == 1 and not recorder.arms


def note_limit(recorder: Any, indices: Array, extent: Any, axis: int) -> None:
    """Remember that an array indexes an axis, if it is an input as it stands, and certainly used."""
    storage, tensor = indices.storage, indices.tensor
    if not is_certain(recorder) or not isinstance(extent, int):
        return
    if tensor.place is not None or indices.dtype.kind not in "iu":
        return
    name = storage.name
    is_input = name in recorder.hints.countable or name in recorder.inputs
    if not is_input or storage.version or (name, extent) in recorder.limits:
        return
    recorder.limits[name, extent] = IndexLimit(name, extent, axis, recorder.where())


def check_position(recorder: Any, position: Number, extent: Any) -> None:
    """Check an index that integer arguments decide; calls with others that do not fit have another program.

    :raises IndexError: it lies outside.
    """
    if not is_certain(recorder) or position.expr is None or not isinstance(extent, int):
        return
    fits = recorder.hints.fits_of(position.expr + extent, 2 * extent - 1)
    if fits is None or not fits.symbols:
        return
    if not recorder.hints.takes(fits):
        wrong = fits.value(recorder.hints.integers()) - extent
        raise IndexError(f"index {wrong} is out of bounds for an axis of size {extent}")


def check_limits(limits: tuple[IndexLimit, ...], inputs: Mapping[str, Any]) -> None:
    """Check the index arrays among the inputs of a program.

    :raises IndexError: one of them reaches outside of what it indexes.
    """
    for limit in limits:
        limit.check(inputs.get(limit.name))
