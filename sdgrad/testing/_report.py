"""What the checks say: comparisons, tables of them, and the error that carries a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


class GradientCheckError(AssertionError):
    """A gradient is wrong, or there is nothing to compare it with. ``report`` has the details."""

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


@dataclass(frozen=True)
class Comparison:
    """One derivative in one direction: `where` is an element of the argument, or a random direction."""

    where: str
    expected: float
    found: float
    tolerance: float
    method: str
    uncertainty: float

    @property
    def excess(self) -> float:
        """The error in units of the tolerance; a derivative passes up to 1."""
        error = abs(self.found - self.expected)
        return math.inf if math.isnan(error) else error / self.tolerance if self.tolerance else math.inf * bool(error)

    @property
    def conclusive(self) -> bool:
        """Whether the reference is known well enough to judge by it."""
        return self.uncertainty <= 100 * self.tolerance


@dataclass(frozen=True)
class ArgumentReport:
    """All comparisons for one argument."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    mode: str
    order: int
    comparisons: tuple[Comparison, ...]

    @property
    def worst(self) -> Comparison:
        """The comparison to look at first: the largest error; of equals, one that is conclusive."""
        return max(self.comparisons, key=lambda c: (c.excess, c.conclusive))

    @property
    def passed(self) -> bool:
        return all(c.excess <= 1 and c.conclusive for c in self.comparisons)

    @property
    def verdict(self) -> str:
        if self.passed:
            return "ok"
        return "WRONG" if any(c.excess > 1 and c.conclusive for c in self.comparisons) else "UNCERTAIN"


@dataclass(frozen=True)
class GradientReport:
    """What :func:`check_grads` found, one line for each argument, mode and order."""

    arguments: tuple[ArgumentReport, ...] = field(default_factory=tuple)

    @property
    def passed(self) -> bool:
        return all(a.passed for a in self.arguments)

    def __str__(self) -> str:
        head = (
            "argument",
            "type",
            "mode",
            "order",
            "checks",
            "worst at",
            "expected",
            "found",
            "reference",
            "verdict",
        )
        rows = [
            (
                a.name,
                f"{a.dtype}[{', '.join(map(str, a.shape))}]",
                a.mode,
                str(a.order),
                str(len(a.comparisons)),
                a.worst.where,
                f"{a.worst.expected:.9g}",
                f"{a.worst.found:.9g}",
                a.worst.method,
                a.verdict,
            )
            for a in self.arguments
        ]
        return table(head, rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip() for line in lines)
