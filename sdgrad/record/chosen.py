"""Lists and dicts of which only a run knows which one a name is: they are read, and not changed.

What stands for them is a copy, with the content of either one. Python changes the one that was chosen.
"""

from __future__ import annotations

from typing import Any

from sdgrad.errors import ParseError
from sdgrad.record.python_state import PythonState
from sdgrad.record.reads import Reads

CHANGING = {
    *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"),
    *("update", "setdefault", "popitem", "__setitem__", "__delitem__", "__iadd__"),
}


def note_chosen(reads: Reads, before: PythonState, ends: list[Any], found: Any) -> None:
    """Remember that a value is a copy of one of several that were there before a branch."""
    if any(before.holds(part) for end in ends for part in _containers(end)):
        reads.chosen.update((id(part), part) for part in _containers(found))


def are_two(a: Any, b: Any) -> bool:
    """True of lists and dicts that are not the same objects, whatever they hold."""
    pairs = zip(_containers(a), _containers(b), strict=False)
    return any(one is not other for one, other in pairs)


def refuse_change(reads: Reads, owner: Any) -> None:
    """Refuse to change one of several lists or dicts.

    :raises ParseError: only a run knows which one it is.
    """
    if id(owner) in reads.chosen:
        kind = type(owner).__name__
        raise ParseError(
            f"which of two {kind}s is changed here, only a run knows: change each in its arm of the condition, "
            "or choose between copies"
        )


def _containers(value: Any) -> list[Any]:
    """Return the lists and dicts that a value is, or holds."""
    if not isinstance(value, (list, tuple, dict)):
        return []
    parts = value.values() if isinstance(value, dict) else value
    own = [] if isinstance(value, tuple) else [value]
    return [*own, *(c for p in parts for c in _containers(p))]
