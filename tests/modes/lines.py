"""What a line of a table says of a function."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

ANY, SMALL, POSITIVE, UNIT, ABOVE, AWAY = (-3.0, 3.0), (-1.2, 1.2), (0.3, 3.0), (-0.9, 0.9), (1.2, 4.0), (0.4, 3.0)
PROBABILITY = (0.1, 0.9)

Interval = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A call, in the letters of :mod:`modes.operands`.

    ``domain`` holds an interval for each of the letters ``a``, ``b``, ``d`` of an element-wise function. ``exact`` is
    the function in mpmath. ``edges`` are further points to look at. ``twice`` is False where there is no second
    derivative to compare. ``nan`` is False where NaN is left out of the points. ``rounds`` is True of functions whose
    derivative is that of their rounded value: it is exact to the precision of 1, not of itself. ``only`` is the
    interval of the points to look at. ``beside`` is False where JAX's derivative at infinity is another convention.
    """

    text: str
    domain: tuple[Interval, ...] = ()
    exact: Callable | None = None
    edges: tuple[float, ...] = ()
    twice: bool = True
    nan: bool = True
    rounds: bool = False
    only: Interval = (-math.inf, math.inf)
    beside: bool = True

    @property
    def elementwise(self) -> bool:
        return bool(self.domain)

    @property
    def letters(self) -> str:
        return "abd"[: len(self.domain)]


def one(text: str, domain: Interval = ANY, exact: Callable | None = None, **more) -> Line:
    return Line(text, (domain,), exact, **more)


def two(text: str, first: Interval, second: Interval, exact: Callable | None = None, **more) -> Line:
    return Line(text, (first, second), exact, **more)
