"""Fresh names."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """Hands out names that are free: ``fresh("gradient_X")`` gives ``gradient_X``, then ``gradient_X_0``, ..."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        name, k = stem, self._next.get(stem, 0)
        while name in self._taken:
            name, k = f"{stem}_{k}", k + 1
        self._next[stem] = k
        self._taken.add(name)
        return name

    def copy(self) -> Names:
        """An independent copy, for a trial."""
        twin = Names(self._taken)
        twin._next = dict(self._next)
        return twin

    def add(self, names: Iterable[str]) -> None:
        """Mark names as taken."""
        self._taken.update(names)

    def __contains__(self, name: str) -> bool:
        return name in self._taken
