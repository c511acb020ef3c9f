"""Check index arrays where they enter a program, before a call: nothing outside of an array is read or written.

What is certainly used as an index is checked exactly. Of what loops and arms use, or parts of, the whole array is
checked: if an element lies outside, the function itself tells, run as Python runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.program.tree import Source
from sdgrad.record.outside import shown_line
from sdgrad.record.values import Array, Number


class PerhapsOutside(IndexError):
    """An element that may be used as an index lies outside."""


@dataclass(frozen=True)
class IndexLimit:
    """What the elements of an input have to be: indices of an axis.

    :param name: the input of the program.
    :param certain: True if each element is used in each call.
    """

    name: str
    extent: int
    axis: int
    where: Source
    certain: bool = True

    def check(self, indices: Any) -> None:
        """Raise the error of NumPy's if an index lies outside.

        :raises IndexError: one does.
        :raises PerhapsOutside: one does that may not be used.
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
        raise (IndexError if self.certain else PerhapsOutside)(f"{shown_line(self.where)}{told}")


def is_certain(recorder: Any) -> bool:
    """True where what is recorded is done in each call: in no loop, and in no arm."""
    return len(recorder.blocks) == 1 and not recorder.arms


def note_limit(recorder: Any, indices: Array, extent: Any, axis: int) -> None:
    """Remember that an array indexes an axis, if it is an input, or a part of one."""
    if indices.dtype.kind in "iu" and not indices.storage.version:
        _note(recorder, indices.storage.name, extent, axis, is_certain(recorder) and indices.tensor.place is None)


def note_element(recorder: Any, position: Number, extent: Any, axis: int) -> None:
    """Remember that an element of an array indexes an axis."""
    if position.loaded is not None and position.dtype.kind in "iu":
        _note(recorder, position.loaded[0], extent, axis, certain=False)


def _note(recorder: Any, name: str, extent: Any, axis: int, certain: bool) -> None:
    is_input = name in recorder.hints.countable or name in recorder.inputs
    known = recorder.limits.get((name, extent))
    if not isinstance(extent, int) or not is_input or known is not None and known.certain >= certain:
        return
    recorder.limits[name, extent] = IndexLimit(name, extent, axis, recorder.where(), certain)


def kept_limits(limits: Iterable[IndexLimit], written: Set[str]) -> tuple[IndexLimit, ...]:
    """Return the limits of what inputs hold, certain ones first.

    The program may have written other elements before it uses them.
    """
    kept = (limit for limit in limits if limit.certain or limit.name not in written)
    return tuple(sorted(kept, key=lambda limit: not limit.certain))


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
    :raises PerhapsOutside: an element does that may not be used; no other one does for certain.
    """
    for limit in limits:
        limit.check(inputs.get(limit.name))
