"""Check index arrays where they enter a program, before a call: nothing outside of an array is read or written.

What is certainly used as an index is checked exactly. Of what loops and arms use, or parts of, the whole array is
checked: if an element lies outside, the function itself tells, run as Python runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from sdgrad.config import config
from sdgrad.program.tree import Source
from sdgrad.record.index_parts import Part, part_of, part_of_element, taken
from sdgrad.record.index_ranges import plain
from sdgrad.record.outside import shown_line
from sdgrad.record.restart import Restart
from sdgrad.record.values import Array, Number
from sdgrad.runtime.call.marshalling import as_array
from sdgrad.symbolic.expr import free_names, sym

MANY = 1 << 60


class PerhapsOutside(IndexError):
    """An element that may be used as an index lies outside."""


@dataclass(frozen=True)
class IndexLimit:
    """What the elements of an input have to be: indices of an axis.

    :param name: the input of the program.
    :param certain: True if each element is used in each call.
    :param least: the least of them; None if negative ones count from the end.
    :param left_out: a value that indexes nothing.
    :param part: the part of the input that is meant; None is all of it.
    """

    name: str
    extent: int
    axis: int
    where: Source
    certain: bool = True
    least: int | None = None
    left_out: int | None = None
    part: Part | None = None

    def check(self, indices: Any) -> None:
        """Raise the error of NumPy's if an index lies outside.

        :raises IndexError: one does.
        :raises PerhapsOutside: one does that may not be used.
        """
        if not isinstance(indices, np.ndarray) or indices.dtype.kind not in "iu":
            return
        indices = taken(indices, self.part)
        if not indices.size:
            return
        if indices.view(f"u{indices.dtype.itemsize}").max() < self.extent:
            return  # one pass: negative ones are large without their sign
        if self.left_out is not None:
            indices = indices[indices != self.left_out]
            if not indices.size:
                return
        least, most = indices.min(), indices.max()
        begin = -self.extent if self.least is None else self.least
        if begin <= least and most < self.extent:
            return
        wrong = least if least < begin else most
        if self.least is not None and least < begin:
            told = f"a loop from {least} in '{self.name}' would count from the end of axis {self.axis}: write it % size"
            raise IndexError(f"{shown_line(self.where)}{told}")
        told = f"index {wrong} in '{self.name}' is out of bounds for axis {self.axis} with size {self.extent}"
        raise (IndexError if self.certain else PerhapsOutside)(f"{shown_line(self.where)}{told}")


@dataclass(frozen=True)
class PlacesLimit(IndexLimit):
    """What an array of places of a sparse matrix has to be.

    :param ascending: it says where rows begin: from zero, in order, to ``extent - 1``.
    """

    ascending: bool = False

    def check(self, indices: Any) -> None:
        """Raise an error if a place lies outside of the matrix.

        :raises ValueError: one does.
        """
        if not isinstance(indices, np.ndarray) or not indices.size:
            return
        is_inside = indices.view(f"u{indices.dtype.itemsize}").max() < self.extent
        if is_inside and self.ascending:
            is_inside = indices[0] == 0 and indices[-1] == self.extent - 1 and bool(np.all(indices[1:] >= indices[:-1]))
        if not is_inside:
            raise ValueError(f"'{self.name}' of a sparse matrix has places outside of it: see its method check_format")


def note_places(recorder: Any, places: Array, extent: int, ascending: bool = False) -> None:
    """Remember that an array holds places of a sparse matrix, if it is an input: it is looked at before each call."""
    name = places.storage.name
    if places.dtype.kind in "iu" and (name in recorder.hints.countable or name in recorder.inputs):
        limit = PlacesLimit(name, extent, 0, recorder.where(), least=0, ascending=ascending)
        recorder.limits[(name, extent, ascending, "places")] = limit


def checks_indices(recorder: Any) -> bool:
    """True if indices are checked (``config.check_indices``); a change of that makes another program."""
    recorder.reads.add(config, "check_indices", "attribute", config.check_indices)
    return config.check_indices


def is_certain(recorder: Any) -> bool:
    """True where what is recorded is done in each call: in no loop, and in no arm."""
    return len(recorder.blocks) == 1 and not recorder.arms


def note_limit(recorder: Any, indices: Array, extent: Any, axis: int, certain: bool = True) -> bool:
    """Remember that an array indexes an axis, if it is an input, or a part of one; True if it is checked then.

    :param certain: False if some of its elements may not be used.
    """
    if indices.dtype.kind not in "iu" or indices.storage.version:
        return False
    name, tensor = indices.storage.name, indices.tensor
    part, is_exact = part_of(tensor) if tensor.container == name else (None, tensor.place is None)
    certain = certain and is_certain(recorder) and is_exact
    return _note(recorder, name, extent, axis, certain, part=part)


def note_element(recorder: Any, position: Number, extent: Any, axis: int) -> bool:
    """Remember that an element of an array indexes an axis; True if it is checked before a call."""
    if position.loaded is None or position.dtype.kind not in "iu":
        return False
    root, container, place = position.loaded
    part = part_of_element(place, recorder.containers.get(root)) if root == container else None
    return _note(recorder, root, extent, axis, certain=False, part=part)


def lies_inside(recorder: Any, position: sympy.Expr, extent: Any, axis: int) -> bool:
    """True if an index of loops lies in an axis, or what decides it is checked before a call.

    Of loops that run over known numbers, this is looked at when all is known of them.
    """
    least, most = recorder.ranges.least(position), recorder.ranges.most(position)
    if not isinstance(extent, int):
        ends = (least, plain(extent) - 1 - most) if least is not None and most is not None else (None,)
        is_inside = all(end is not None and sympy.expand(end).is_nonnegative for end in ends)
        return is_inside or not recorder.ranges.may_be_short(extent)
    noted = _note_trips(recorder, position, extent, axis)
    if is_unknown(recorder, least, most):
        return noted
    only_loops = free_names(position) <= recorder.loops
    lowest = least if only_loops else least + extent  # others count from the end by a remainder
    for bound in (lowest, extent - 1 - most):
        fits = recorder.hints.fits_of(bound, MANY)
        if fits is not None and not (recorder.hints.takes(fits) if fits.symbols else only_loops or fits.holds({})):
            return False
    return True


def is_unknown(recorder: Any, *ends: Any) -> bool:
    """True if one of the ends of a range is not known, or if only a run knows it."""
    return any(end is None or free_names(end) & computed(recorder) for end in ends)


def computed(recorder: Any) -> set[str]:
    """Return the symbols of integers that only a run knows."""
    return recorder.symbols.keys() - recorder.hints.counts.keys()


def _note_trips(recorder: Any, position: sympy.Expr, extent: int, axis: int) -> bool:
    """Remember that loops run over an axis whose ends are elements of an array: none lies beyond that axis.

    True if all ends that only a run knows are such elements.
    """
    found = []
    for symbol in position.free_symbols & {*map(sym, recorder.loops)}:
        if (ends := recorder.trip_ends.get(str(symbol))) is None:  # it runs downwards
            found.append(False)
        rest = position - symbol
        for end in ends or ():
            if isinstance(end, Number) and (end.expr is None or free_names(end.expr) & computed(recorder)):
                known = end.loaded is not None and rest.is_Integer
                size, least = (extent - int(rest) + 1, -int(rest)) if known else (0, 0)
                found.append(known and _note(recorder, end.loaded[0], size, axis, certain=False, least=least))
    return bool(found) and all(found)


def _note(
    recorder: Any,
    name: str,
    extent: Any,
    axis: int,
    certain: bool,
    least: int | None = None,
    part: Part | None = None,
) -> bool:
    is_input = name in recorder.hints.countable or name in recorder.inputs
    if not isinstance(extent, int) or not is_input or name in recorder.hints.rewritten and not certain:
        return False
    key = (name, extent, least, part)
    known = recorder.limits.get(key)
    if known is None or known.certain < certain:
        recorder.limits[key] = IndexLimit(name, extent, axis, recorder.where(), certain, least, part=part)
    return True


def kept_limits(recorder: Any, written: Set[str]) -> tuple[IndexLimit, ...]:
    """Return the limits of what inputs hold, certain ones first.

    :raises Restart: the program may write other elements before it uses them: it has to check them itself.
    """
    limits = recorder.limits.values()
    if rewritten := {limit.name for limit in limits if not limit.certain} & written:
        recorder.hints.rewritten |= rewritten
        raise Restart(recorder.hints)
    return tuple(sorted(limits, key=lambda limit: not limit.certain))


def outside_error(recorder: Any, extent: Any, axis: int) -> IndexError:
    """Return the error of an index that only a run knows."""
    told = f"an index that only a run knows is out of bounds for axis {axis} with size {extent}"
    return IndexError(f"{shown_line(recorder.where())}{told}")


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
    for limit in limits if config.check_indices else ():
        limit.check(as_array(inputs.get(limit.name)))
