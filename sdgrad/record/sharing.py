"""Find out what is one array in Python from one trip of a recorded loop to the next, where the program has copies.

A name that a loop binds again has memory of its own, into which each trip copies what it leaves. In Python it may be an
array that another name has as well, or a part of it: a write through one is seen through the other. What a trip leaves
holds at the beginning of the next one, so the body is recorded again when something new is found at its end.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy

from sdgrad.record.carried import Cell, leaves
from sdgrad.record.choices import ChoiceCell, payload
from sdgrad.record.restart import Hints, Restart
from sdgrad.record.values import Array, Storage
from sdgrad.symbolic.expr import free_names, substitute

Cells = Mapping[str, Sequence[Cell | ChoiceCell | None]]


@dataclass
class Sharing:
    """What is one array in Python at the beginning of a trip.

    :param places: memory by what names it in each recording: the names that trips hand on, and arrays before the loop.
    """

    site: Any
    hints: Hints
    places: dict[Any, Storage]

    @staticmethod
    def of(site: Any, hints: Hints, cells: Cells, state: Mapping[str, Any]) -> Sharing:
        """Return what is known so far, and note it."""
        held = [payload(x) for v in list(state.values()) for x in leaves(v)]
        arrays = [x for x in held if isinstance(x, Array)]
        places: dict[Any, Storage] = {x.storage.site or x.storage.name: x.storage for x in arrays}
        places |= {place: cell.value.storage for place, cell in _arrays(cells)}
        for where, pair in hints.shared:
            if where == site and places.keys() >= pair:
                first, second = (places[p] for p in pair)
                first.meet(second)
        for where, place in hints.stale:
            if where == site and place in places:
                places[place].stale = OLD
        return Sharing(site, hints, places)

    def at_end(self, cells: Cells, ends: Mapping[str, Any]) -> None:
        """Look for names that have one array at the end of a trip: it is the beginning of the next one."""
        left = {}
        for place, cell in _arrays(cells):
            value = _left(ends, place)
            if isinstance(value, Array):
                left[place] = (cell, value.storage)
        mine = [cell.value.storage for _, cell in _arrays(cells)]
        pairs: list[tuple[set[Any], Storage, Storage]] = [
            ({p, q}, a.value.storage, b.value.storage)
            for (p, (a, s)), (q, (b, t)) in itertools.combinations(left.items(), 2)
            if s.may_be(t)
        ]
        names: dict[int, Any] = {id(s): place for place, s in self.places.items()}
        for place, (cell, storage) in left.items():
            for other in (storage, *storage.partners):
                if not any(other is m for m in mine):
                    pairs.append(({place, names.get(id(other))}, cell.value.storage, other))
        self._note(pairs)

    def _note(self, pairs: Sequence[tuple[set[Any], Storage, Storage]]) -> None:
        """Note what is one array; start again if a trip begins with what it was not recorded with."""
        new = set()
        for pair, first, second in pairs:
            if second not in first.partners and first is not second:
                first.meet(second)
                if self.places.keys() >= pair:  # both are there when a trip begins
                    new.add((self.site, frozenset(pair)))
        if new - self.hints.shared:
            self.hints.shared |= new
            raise Restart(self.hints)

    def after(self, cells: Cells) -> None:
        """Start again if the next trip begins with old content that this one did not begin with."""
        new = {(self.site, p) for p, s in self.places.items() if s.stale} - self.hints.stale
        if new:
            self.hints.stale |= new
            raise Restart(self.hints)

    def runs(self, cells: Cells, ends: Mapping[str, Any]) -> None:
        """Forget what was one array with memory only before a loop that runs at least once."""
        mine = [cell.value.storage for _, cell in _arrays(cells)]
        for place, cell in _arrays(cells):
            value = _left(ends, place)
            if not isinstance(value, Array):
                continue
            own = cell.value.storage
            for other in list(own.partners):
                if not value.storage.may_be(other) and not any(other is m for m in mine):
                    own.part(other)


def part_at_end(value: Any, cells: Cells, before: Sequence[Any], last: Mapping[str, Any]) -> Array | None:
    """Return memory from before a loop, or the part of it that the last trip has; None where data decide that.

    :param cells: the memory of the loop, in which the next trip has another array.
    :param before: the blocks in which the loop is.
    :param last: what the loop's symbol is in the last trip.
    """
    if not isinstance(value, Array) or not any(value.storage.block is b for b in before):
        return None
    if any(value.storage is c.value.storage for _, c in _arrays(cells)):
        return None
    axes = tuple(sympy.Dummy() for _ in value.tensor.shape)
    place = value.tensor.place
    index = place(axes) if place is not None else axes
    if not all(isinstance(n, (int, sympy.Basic)) for n in (*value.tensor.shape, *index)):
        return None
    at_end = [substitute(sympy.sympify(n), last) for n in index]
    if not free_names(*value.tensor.shape, *at_end) <= {*(a.name for a in axes), *value.recorder.hints.counts}:
        return None
    moved = [n for n, before_it in zip(at_end, index, strict=True) if n != before_it]
    if place is None or not moved:
        return value
    if value.storage.known is not None or not all(n.is_Integer and n >= 0 for n in moved):
        return None
    there = replace(value.tensor, place=lambda i: tuple(substitute(sympy.sympify(n), last) for n in place(i)))
    return Array(value.recorder, value.storage, there, placed=value.placed)


OLD = (
    "this array may share the memory of one that an earlier trip of the loop has written, and is a copy of it here: "
    "make the copy where it is taken, with .copy()"
)


def _left(ends: Mapping[str, Any], place: tuple[str, int]) -> Any:
    """Return what a trip leaves at a place."""
    return payload(next(itertools.islice(leaves(ends[place[0]]), place[1], None), None))


def _arrays(cells: Cells) -> list[tuple[tuple[str, int], Any]]:
    """Return the memory of arrays that trips hand on, by name and position in its nest."""
    rows = (((n, k), c) for n, row in cells.items() for k, c in enumerate(row))
    held = ((place, c.number if isinstance(c, ChoiceCell) else c) for place, c in rows)
    return [(place, c) for place, c in held if c is not None and isinstance(c.value, Array)]
