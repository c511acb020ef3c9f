"""Describe the trips of a loop that is recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from sdgrad.record.restart import Hints
from sdgrad.record.values import Number, Origin
from sdgrad.symbolic.expr import sym


@dataclass(frozen=True)
class Trips:
    """Describe the trips of a loop: ``range(start, stop, step)``, and what the target is in each of them."""

    start: Any
    stop: Any
    step: int
    item: Callable[[Any], Any]

    @property
    def origin(self) -> Origin:
        """Return what the ends of the range depend on."""
        ends = [n for n in (self.start, self.stop) if isinstance(n, Number)]
        return frozenset().union(*(n.origin for n in ends))

    @property
    def span(self) -> sympy.Expr | None:
        """Return how far it is from start to stop, over sizes and indices of other loops; None if data decide."""
        ends = [getattr(n, "expr", n) for n in (self.start, self.stop)]
        return None if None in ends else (sympy.sympify(ends[1]) - sympy.sympify(ends[0])) * int(np.sign(self.step))

    def in_this_call(self, hints: Hints) -> int | None:
        """Return how many there are with the arguments of this call; None if they do not tell."""
        if self.span is None:
            return None
        span = self.span.xreplace({sym(s): sympy.Integer(value) for s, (_, value) in hints.counts.items()})
        return max(0, -(-int(span) // abs(self.step))) if span.is_Integer else None
