"""Hand out fresh names."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """Hand out free names: ``fresh("gradient_X")`` gives ``gradient_X``, then ``gradient_X_0``, ..."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """Return the stem, or the first name after it that is free, and mark it as taken."""
        name, k = stem, self._next.get(stem, 0)
        while name in self._taken:
            name, k = f"{stem}_{k}", k + 1
        self._next[stem] = k
        self._taken.add(name)
        return name

    def free(self, names: Iterable[str]) -> None:
        """Mark names as free again."""
        self._taken.difference_update(names)

    def copy(self) -> Names:
        """Return an independent copy, for a trial."""
        twin = Names(self._taken)
        twin._next = dict(self._next)
        return twin

    def add(self, names: Iterable[str]) -> None:
        """Mark names as taken."""
        self._taken.update(names)

    def __contains__(self, name: str) -> bool:
        return name in self._taken
