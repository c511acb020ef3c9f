"""See what a function changes outside of itself: attributes, global names, and names of functions around it."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CellType
from typing import Any

import numpy as np

from sdgrad.convert.callables import is_filled
from sdgrad.errors import ParseError
from sdgrad.program.source_lines import file_and_line, text_of
from sdgrad.program.tree import Source
from sdgrad.record.python_state import Content, GlobalNames, Held, PythonState, content_of, is_drawn_from, put
from sdgrad.record.reads import How, Reads
from sdgrad.record.restart import Hints, Restart
from sdgrad.record.values import holds_recorded

MISSING = object()
WRITTEN = "an array that the function did not make is written: pass it as an argument"
STATE = (
    "is outside of the function, which reads it and then changes it: what a compiled call computes does not stay there "
    "for the next. Make it an argument, and return what it becomes"
)


@dataclass(frozen=True)
class Place:
    """Something that can be bound: an attribute, an entry of a dict, a cell; with what it was bound to."""

    owner: Any
    key: Any
    how: How
    old: Any
    where: Source

    @property
    def now(self) -> Any:
        return _now(self.owner, self.key, self.how)

    def told(self) -> str:
        return f"'{type(self.owner).__name__}.{self.key}'" if self.how == "attribute" else f"'{self.key}'"

    def state(self) -> str:
        """Return the error for a function that depends on it and changes it."""
        return f"{shown_line(self.where)}{self.told()} {STATE}"

    def bind(self, value: Any) -> None:
        """Bind it to a value."""
        if self.how == "cell":
            self.owner.cell_contents = value
        elif self.how == "item":
            self.owner.pop(self.key, None) if value is MISSING else self.owner.update({self.key: value})
        elif isinstance(self.owner, type):
            delattr(self.owner, self.key) if value is MISSING else setattr(self.owner, self.key, value)
        elif value is not MISSING:
            object.__setattr__(self.owner, self.key, value)
        elif self.now is not MISSING:
            object.__delattr__(self.owner, self.key)


@dataclass(frozen=True)
class Contents:
    """A collection, with what it held."""

    owner: Any
    old: Content

    @property
    def now(self) -> Content:
        return content_of(self.owner) or {}

    def bind(self, content: Any) -> None:
        """Let it hold something else."""
        put(self.owner, content)


@dataclass(frozen=True)
class Advanced:
    """A counter from outside that went on, and what it said before."""

    owner: Any
    old: str

    @property
    def now(self) -> str:
        return repr(self.owner)

    def bind(self, _: Any) -> None:
        """Leave it: nothing sets it back."""


Change = Place | Contents | Advanced


def shown_line(where: Source) -> str:
    """Return the place of a line, and the line."""
    line = text_of(where)
    return f"{file_and_line(where)}\n    {line}\n" if line else ""


def _now(owner: Any, key: Any, how: How) -> Any:
    if how == "cell":
        return owner.cell_contents
    if how == "item":
        return owner.get(key, MISSING)
    held = getattr(owner, "__dict__", {})
    return held.get(key, MISSING) if hasattr(owner, "__dict__") else getattr(owner, key, MISSING)


@dataclass
class Outside:
    """Collect the places outside of a function that it binds."""

    places: dict[Any, Place] = field(default_factory=dict)
    bound: set[Any] = field(default_factory=set)  # attributes and global names, since the call began
    found: dict[str, str] = field(default_factory=dict)  # errors, by the inputs that hold what is changed later
    guards: list[Any] = field(default_factory=list)  # what the handlers catch in whose bodies the recording is
    counted: dict[int, int] = field(default_factory=dict)  # what was taken of counters, by their identity
    open: list[Any] = field(default_factory=list)  # loops and branches whose bodies are being recorded

    @property
    def is_in_loop(self) -> bool:
        """True while the body of a loop is being recorded."""
        return any(getattr(handler, "is_loop", False) for handler in self.open)

    def close(self, handler: Any) -> None:
        """Note that the body of a loop or a branch is at its end."""
        if handler in self.open:
            del self.open[self.open.index(handler) :]

    def drawn(self, *values: Any) -> None:
        """Note that something is drawn from generators or iterators: a loop that began before cannot be recorded."""
        for value in values:
            if is_drawn_from(value):
                for handler in reversed(self.open):
                    if handler.python.holds(value):
                        handler.cannot_draw()

    def attribute(self, recorder: Any, owner: Any, name: str) -> None:
        """Note that an attribute is bound; start again where an arm or a loop has not looked at its owner."""
        self._watch(recorder, id(owner), owner)
        self.bound.add((id(owner), name, "attribute"))
        place = self.add(owner, name, "attribute", recorder.where())
        recorder.hints.places[id(owner), name] = place

    def names(self, recorder: Any, names: Sequence[str], space: dict[str, Any]) -> None:
        """Note that global names may be bound from now on."""
        self._watch(recorder, (id(space), *names), GlobalNames(names, space))
        for name in names:
            place = self.add(space, name, "item", recorder.where())
            recorder.hints.places[id(space), name] = place

    def _watch(self, recorder: Any, key: Any, owner: Any) -> None:
        hints = recorder.hints
        if key not in hints.watched:
            hints.watched[key] = owner
            if len(recorder.blocks) > 1:
                raise Restart(hints)

    def again(self, hints: Hints) -> None:
        """Note, before anything is recorded, what earlier recordings have bound."""
        for place in hints.places.values():
            self.add(place.owner, place.key, place.how, place.where)

    def add(self, owner: Any, key: Any, how: How, where: Source) -> Place:
        """Note that a place may be bound from now on."""
        own = (id(owner), key, how)
        if own not in self.places:
            self.places[own] = Place(owner, key, how, _now(owner, key, how), where)
        return self.places[own]

    def cells(self, names: Sequence[str], cells: Sequence[CellType], where: Source) -> None:
        """Note the names of functions around the one that is recorded."""
        for name, cell in zip(names, cells, strict=True):
            if is_filled(cell):
                self.add(cell, name, "cell", where)

    def still_there(self, held: Held, key: Any) -> Place | None:
        """Return the place of an attribute or a global name that nobody has bound since the call began."""
        is_global = isinstance(held.owner, GlobalNames)
        owner = held.owner.space if is_global else held.owner
        own = (id(owner), key, "item" if is_global else "attribute")
        place = self.places.get(own)
        return place if place is not None and own not in self.bound and place.now is place.old else None

    def put_back(self) -> None:
        """Bind everything as it was."""
        for place in self.places.values():
            if place.now is not place.old:
                place.bind(place.old)

    def finish(self, reads: Reads, hints: Hints, left: Callable[[Place], Any]) -> tuple[Change, ...]:
        """Return the places that are bound to something else, and what is changed; nothing recorded stays anywhere.

        :param left: returns what stands for something recorded.

        :raises ParseError: a place was read first: the next call would have to see what this one leaves.
        """
        contents = [Contents(owner, before) for owner, before in reads.write_back()]
        changed = [p for p in self.places.values() if p.now is not p.old]
        for place in changed:
            if not holds_recorded(place.now):
                continue
            read = reads.found.get((id(place.owner), None if place.how == "cell" else place.key, place.how))
            if read is not None and (read.value is place.old or place.old is MISSING):  # that of the class
                raise ParseError(place.state())
        for place in changed:
            if holds_recorded(place.now):
                place.bind(left(place))
        return (*changed, *contents, *(before for before, _ in hints.counted.values()))


def held_outside(recorder: Any) -> list[Any]:
    """Return what stands for lists and dicts from outside, and objects from there that are changed."""
    copies = [copy for _, copy, _ in recorder.reads.copies.values()]
    return [*copies, *(v for v, _ in recorder.reads.loose.values()), *recorder.hints.watched.values()]


def check_met(recorder: Any, before: PythonState) -> None:
    """Start again if a body changed a collection from outside that was not yet known when it began.

    :param before: what was known.
    :raises Restart: one did: it is met first of all, then.
    """
    met, known = recorder.hints.met, {id(h.owner) for h in before.held}
    new = {id(o): o for o in recorder.reads.changed(known) if id(o) not in met}
    for collection in new.values():
        if _holds_arrays(collection):  # how they are reached is not known then
            raise ParseError(
                f"a {type(collection).__name__} of arrays from outside is changed in a loop or an arm, where it is "
                "first read: give it a name before, as in 'held = settings'"
            )
    if new:
        met.update(new)
        raise Restart(recorder.hints)


def _holds_arrays(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, deque)) else ()
    return isinstance(value, np.ndarray) or any(map(_holds_arrays, parts))


def put_back(changes: Sequence[Change]) -> None:
    """Have everything as it was before a recording."""
    for change in changes:
        change.bind(change.old)


@contextlib.contextmanager
def as_before(places: Sequence[Change]) -> Iterator[None]:
    """Have everything inside as it was before a recording."""
    now = [p.now for p in places]
    put_back(places)
    try:
        yield
    finally:
        for place, value in zip(places, now, strict=True):
            place.bind(value)
