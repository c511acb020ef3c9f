"""Keep what is known of elements of an array, by their subscripts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

import sympy

from sdgrad.symbolic.expr import same

T = TypeVar("T")


@dataclass
class Elements(Generic[T]):
    """What is known of elements of a container, by their subscripts.

    :param fixed: of those whose subscripts are numbers: two of them are the same, or are not.
    :param loose: of others.
    """

    fixed: dict[tuple, list[T]] = field(default_factory=dict)
    loose: dict[tuple, list[T]] = field(default_factory=dict)

    def put(self, index: tuple, value: T) -> None:
        """Add a value."""
        (self.fixed if _is_fixed(index) else self.loose).setdefault(index, []).append(value)

    def last(self, index: tuple) -> T | None:
        """Return the last value of an element as it is written; None if there is none."""
        found = self.fixed.get(index) or self.loose.get(index)
        return found[-1] if found else None

    def take(self, index: tuple) -> list[T]:
        """Remove the values of one element, and return them."""
        found = self.fixed.pop(index, [])
        for other in [k for k in self.loose if same(k, index)]:
            found += self.loose.pop(other)
        return found

    def forget(self, index: tuple) -> None:
        """Remove the values of elements that may be a given one."""
        if _is_fixed(index):
            self.fixed.pop(index, None)
        else:
            self.fixed = {k: v for k, v in self.fixed.items() if _differ(k, index)}
        self.loose = {k: v for k, v in self.loose.items() if _differ(k, index)}


def _is_fixed(index: tuple) -> bool:
    return all(isinstance(i, (int, sympy.Integer)) for i in index)


def _differ(first: tuple, second: tuple) -> bool:
    """True if subscripts are those of different elements."""
    return any((a - b).is_number and (a - b).is_nonzero for a, b in zip(first, second, strict=True))
