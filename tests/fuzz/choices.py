"""Where the choices of a random program come from: hypothesis, which can shrink them, or a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices(Protocol):
    """A source of choices."""

    def number(self, low: int, high: int) -> int:
        """An integer of ``low .. high``; the lowest is the simplest."""

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in some order."""


class Drawn:
    """Choices of a hypothesis strategy."""

    def __init__(self, draw: Callable) -> None:
        self.draw = draw

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.draw(st.permutations(list(items)))


class Seeded:
    """Choices of a random number generator."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def number(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.rng.sample(list(items), len(items))
