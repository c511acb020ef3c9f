"""Record loops that add to lists, at either end: what a trip adds goes into an array, of which the list has the parts.

While the body is recorded, the list holds nothing that can be read: a body that reads what it has appended, or how
much, is written out by Python instead. Afterwards a list is known by its parts, so that what takes all of them
(``np.array``, a loop) takes the array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sdgrad.record.carried import Cell, is_array, leaves, rebuilt
from sdgrad.record.indexing import as_array, item, readable, view
from sdgrad.record.python_state import Held, PythonState
from sdgrad.record.reads import PLAIN
from sdgrad.record.recorder import Recorder
from sdgrad.record.restart import Restart
from sdgrad.record.stores import store
from sdgrad.record.tensors import Tensor
from sdgrad.record.unusable import Unusable
from sdgrad.record.values import Array, Number, Storage

Carried = Sequence[tuple[Cell, Any]]
LEAST = 3  # trips from which on an array pays
ADDING = ("append", "extend", "insert")


class Hidden(Unusable):
    """Stand for what a list holds while the body of a loop appends to it: every use has the loop written out."""

    def __init__(self, site: Any, hints: Any) -> None:
        super().__init__("what a loop appends to a list is not there while it is recorded")
        self._site, self._hints = site, hints

    def refuse(self) -> Any:
        self._hints.unlisted.add(self._site)
        self._hints.written_out.add(self._site)
        raise Restart(self._hints)


def shown(*values: Any) -> None:
    """Have a loop written out if a list that it appends to is among what is read."""
    for value in values:
        if isinstance(value, (list, tuple)):
            for part in value:
                if type(part) is Hidden:
                    part.refuse()
        elif type(value) is Hidden:
            value.refuse()


def handed(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Have a loop written out if a list that it adds to is handed to a function, or gets something in its middle."""
    owner = getattr(function, "__self__", None)
    if not isinstance(owner, list) or function.__name__ not in ADDING:
        shown(*args, *kwargs.values())
    elif function.__name__ == "insert" and not (args and type(args[0]) is int and args[0] == 0):
        shown(owner)


@dataclass
class Added:
    """What a loop adds to a list in each trip, in front and at the end: values of the last one, and where they are."""

    held: Held
    before: list[Any]
    front: list[tuple[Any, list[Any]]]
    end: list[tuple[Any, list[Any]]]


@dataclass
class Growth:
    """The lists that a loop appends to.

    :param trips: how many there are.
    :param hidden: each list, with what it held before.
    """

    recorder: Recorder
    site: Any
    trips: int
    hidden: list[tuple[Held, list[Any]]] = field(default_factory=list)
    added: list[Added] = field(default_factory=list)

    def begin(self, python: PythonState) -> bool:
        """Hide what the lists hold that are known to grow; True if there are any."""
        paths = self.recorder.hints.lists.get(self.site, ())
        for held in python.held:
            if held.path in paths and isinstance(held.owner, list):
                self.hidden.append((held, list(held.owner)))
                held.owner[:] = [Hidden(self.site, self.recorder.hints)]
        return bool(self.hidden)

    def found(self, held: Held, now: Mapping[Any, Any]) -> bool:
        """Start again if it is a list that a trip has appended to; False if it has to be written out."""
        hints, values = self.recorder.hints, list(now.values())
        before = list(held.content.values())
        grown = isinstance(held.owner, list) and len(values) > len(before)
        starts = range(len(values) - len(before) + 1) if grown else ()
        same = any(all(a is b for a, b in zip(values[k:], before, strict=False)) for k in starts)
        if not same or self.trips < LEAST or self.site in hints.unlisted:
            return False
        known = hints.lists.setdefault(self.site, set())
        if held.path in known:
            return False
        known.add(held.path)
        raise Restart(hints)

    def end(self, ordinal: Number, handed_on: Carried, versions: Mapping[int, int]) -> bool:
        """Write what the trip has added to arrays; False if that cannot be done.

        :param ordinal: of the trip, from zero.
        :param handed_on: the memory of names that trips hand on, with what this one leaves.
        :param versions: how often arrays had been written when the trip began, by identity of their memory.
        """
        for held, before in self.hidden:
            places = [k for k, value in enumerate(held.owner) if type(value) is Hidden]
            if len(places) != 1:
                return False
            (at,) = places
            new = [*held.owner[:at], *held.owner[at + 1 :]]
            kept = [k for value in new if (k := self._kept(value, ordinal, handed_on, versions)) is not None]
            if len(kept) < len(new):
                return False
            held.owner[:] = [held.owner[at]]
            both = list(zip(new, kept, strict=True))
            self.added.append(Added(held, before, both[:at], both[at:]))
        return True

    def _kept(self, value: Any, ordinal: Number, handed_on: Carried, versions: Mapping[int, int]) -> list[Any] | None:
        """Return an array for each leaf of what is appended, or what it is in every trip; None if there is none."""
        found: list[Any] = []
        for leaf in leaves(value):
            if isinstance(leaf, (Number, Array)):
                if not all(isinstance(n, int) for n in _extents(leaf)):  # another size in each trip
                    return None
                if isinstance(leaf, Array) and not self._stays(leaf, handed_on, versions):
                    return None
                found.append(self._stored(leaf, ordinal))
            elif isinstance(leaf, PLAIN):
                found.append(leaf)
            elif is_array(leaf):
                found.append(self._stored(as_array(self.recorder, leaf), ordinal))
            else:
                return None
        return found

    def _stays(self, value: Array, handed_on: Carried, versions: Mapping[int, int]) -> bool:
        """True if no later trip writes the array that a trip appends: the list has the array itself."""
        own = value.storage
        written = [c.value.storage for c, end in handed_on if _storage(end) is not None and _storage(end).may_be(own)]
        for storage in (own, *own.partners):
            if storage.block is not self.recorder.blocks[-1]:
                written.append(storage)
        return all(s.version == versions.get(id(s), 0) for s in written)

    def _stored(self, value: Any, ordinal: Number) -> Array:
        """Return an array with a part for each trip, of which the body writes one."""
        shape = _extents(value)
        tensor = self.recorder.declare("listed", (self.trips, *shape), value.dtype)
        outer = self.recorder.blocks[-2]
        whole = Array(self.recorder, Storage(tensor.container, None, outer, None), tensor)
        if isinstance(value, Array):
            readable(value)
        store(whole, ordinal, value)
        if isinstance(value, Array):
            whole.storage.share(value.storage)
        return whole

    def after(self) -> None:
        """Give each list its parts."""
        trips = range(self.trips)
        for new in self.added:
            front = [self._item(value, kept, k) for k in reversed(trips) for value, kept in new.front]
            end = [self._item(value, kept, k) for k in trips for value, kept in new.end]
            new.held.owner[:] = [*front, *new.before, *end]

    def _item(self, value: Any, kept: Sequence[Any], k: int) -> Any:
        parts = [
            self._part(old, whole, k) if isinstance(whole, Array) else whole
            for old, whole in zip(leaves(value), kept, strict=True)
        ]
        return rebuilt(value, iter(parts))

    def _part(self, old: Any, whole: Array, k: int) -> Any:
        """Return what one trip has added."""
        if is_array(old):
            part: Any = item(whole, k)
        else:
            tensor = Tensor(self.recorder, whole.storage.name, (), whole.dtype, place=lambda index: (k, *index))
            part = Number(self.recorder, whole.dtype, old.weak, old.origin, tensor=tensor)
        self.recorder.listed[id(part)] = (part, whole, k)
        return part


def _extents(value: Number | Array) -> tuple:
    return value.tensor.shape if isinstance(value, Array) else ()


def _storage(value: Any) -> Any:
    return value.storage if isinstance(value, Array) else None


def _place(recorder: Recorder, parts: Sequence[Any], k: int, whole: Array) -> int | None:
    """Return which part of an array the value at a position is; None if it is none, or there is no value."""
    own = recorder.listed.get(id(parts[k])) if k < len(parts) else None
    return own[2] if own is not None and own[1] is whole else None


def runs(recorder: Recorder, parts: Sequence[Any]) -> list[Any]:
    """Return parts in order, those of one array that follow each other as one: (array, count), or (part, 0)."""
    found: list[Any] = []
    k = 0
    while k < len(parts):
        own = recorder.listed.get(id(parts[k]))
        if own is None:
            found.append((parts[k], 0))
            k += 1
            continue
        _, whole, first = own
        count, step = 1, -1 if _place(recorder, parts, k + 1, whole) == first - 1 else 1
        while _place(recorder, parts, k + count, whole) == first + step * count:
            count += 1
        last = first + step * count
        along = slice(first, last if last >= 0 else None, step)
        found.append((view(whole, [along, *[slice(None)] * (whole.ndim - 1)]), count))
        k += count
    return found


def as_one(recorder: Recorder, values: Any) -> Array | None:
    """Return a list whose parts are those of one array as the array; None of other lists."""
    if not isinstance(values, (list, tuple)) or len(values) < LEAST or not recorder.listed:
        return None
    found = runs(recorder, values)
    return found[0][0] if len(found) == 1 and found[0][1] else None
