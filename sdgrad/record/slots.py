"""Let loops hand on attributes of objects, and entries of lists and dicts, as they hand on names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sdgrad.record.branches import MISSING
from sdgrad.record.carried import is_value
from sdgrad.record.growth import Growth
from sdgrad.record.left_outside import Left, found_outside
from sdgrad.record.python_state import Held, PythonState, content_of, put
from sdgrad.record.restart import Hints, Restart


@dataclass
class Slots:
    """The attributes and entries that the body of a loop binds again.

    :param known: found in earlier recordings, by what errors call them.
    """

    site: Any
    hints: Hints
    python: PythonState
    growth: Growth | None
    known: dict[str, tuple[Held, Any]]

    @staticmethod
    def of(site: Any, hints: Hints, python: PythonState, growth: Growth | None) -> Slots:
        """Return those that are known so far."""
        wanted = hints.slots.get(site, {})
        by_path = {h.path: h for h in python.held} if wanted else {}
        known = {n: (by_path[path], key) for n, (path, key) in wanted.items() if path in by_path}
        return Slots(site, hints, python, growth, known)

    def values(self) -> dict[str, Any]:
        """Return what they hold by now."""
        return {n: h.entry(content_of(h.owner) or {}, key, MISSING) for n, (h, key) in self.known.items()}

    def found(self, recorder: Any) -> dict[str, Any]:
        """Return what they hold before the loop; a number from outside as an input, which results must not need."""
        values = self.values()
        for name, (held, key) in self.known.items():
            place = recorder.outside_places.still_there(held, key)
            if place is not None:
                values[name] = found_outside(recorder, values[name], place.state())
        return values

    def bind(self, values: Mapping[str, Any]) -> None:
        """Let them hold other values."""
        for name, (held, key) in self.known.items():
            if values[name] is not MISSING:
                put(held.owner, {**(content_of(held.owner) or {}), key: values[name]})

    def begin(self, values: Mapping[str, Any]) -> None:
        """Let them hold what they do at the beginning of a trip."""
        grows = self.growth is not None and self.growth.begin(self.python)
        if self.known or grows:
            self.bind(values)
            self.python = self.python.again()

    def is_more_changed(self) -> bool:
        """True if a trip changes something else; start again if that can be handed on as well."""
        new: dict[str, tuple[str, Any]] = {}
        for k, now in self.python.changes().items():
            held = self.python.held[k]
            other = held.grows and now.keys() != held.content.keys()
            if other and (self.growth is None or not self.growth.found(held, now)):
                return True
            for key, value in now.items():
                before = held.entry(held.content, key, MISSING)
                if value is before or held.told(key) in self.known:
                    continue
                is_known = before is MISSING or isinstance(before, Left) or is_value(before)
                if not is_value(value) or not is_known:
                    return True
                new[held.told(key)] = (held.path, key)
        if not new:
            return False
        own = self.hints.slots.setdefault(self.site, {})
        if own.keys() >= new.keys():  # which was no use
            return True
        own |= new
        raise Restart(self.hints)
