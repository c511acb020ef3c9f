"""Describe initial value problems, and name what an integration takes and makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sdgrad.record.calls import works_inside
from sdgrad.record.functions.table import array
from sdgrad.solvers.implicit import shaped

RESULT, TIMES, SAVED, WRITTEN = "solution", "times", "saved", "written"
COUNT, EVERY, REACHED, ORDERS = "count", "every", "reached", "orders"
START, BEGIN, END, AT = "start", "begin", "end", "at"


@dataclass(frozen=True, eq=False)
class Problem:
    """An equation, and a method for it.

    :param slope_of: a function of the time, the state, and operands.
    :param shape: that of the state.
    :cvar tables: the names of what is written down of the steps.
    :cvar rough: how many tolerances SciPy's results may be away, whose steps solve equations with another matrix.
    """

    tables: ClassVar[tuple[str, ...]] = (TIMES, SAVED, WRITTEN, COUNT, EVERY)
    rough: ClassVar[float] = 0.0

    slope_of: Callable
    method: Any
    shape: tuple[int, ...]
    dtype: Any

    @property
    def size(self) -> int:
        """Return the number of unknowns."""
        return int(np.prod(self.shape))

    @property
    def width(self) -> int:
        """Return how many numbers go from one step to the next: the state comes first."""
        return self.size

    def begun(self) -> Callable | None:
        """Return what the first step takes as a function of the time, the state and operands; None: the state."""
        return None

    def chosen(self, given: Mapping[str, Any], k: Any) -> tuple:
        """Return what was chosen for step ``k`` besides its length."""
        return ()

    def slope(self, operands: Sequence[Any]) -> Callable:
        """Return the slope as a function of the time and the vector of the state."""

        def slope(t: Any, y: Any) -> Any:
            found = array(self.slope_of(t, shaped(y, self.shape), *operands))
            return np.reshape(found.astype(self.dtype), -1)

        return works_inside(slope)

    def step(self, dense: bool, chosen: tuple) -> Callable:
        """Return a step as a function that is differentiated: where it ends, and its polynomial if ``dense``."""

        def step(t: Any, h: Any, y: Any, *operands: Any) -> Any:
            slope = self.slope(operands)
            end, k = self.method.step(slope, t, y, slope(t, y), h)
            return (end, self.method.interpolant(slope, t, y, h, end, k)) if dense else end

        return works_inside(step)

    def value(self, coefficients: Any, y: Any, t: Any, h: Any, at: Any) -> Any:
        """Return the polynomial of a step at a time."""
        weights = self.method.basis((at - t) / h)
        return y + sum(w * coefficients[i] for i, w in enumerate(weights))


@dataclass(frozen=True, eq=False)
class Options:
    """How exactly steps are taken, and how many there may be."""

    rtol: Any
    atol: Any
    first_step: Any
    max_step: Any
    max_steps: int
    continuous: bool = False  # the adjoint is


def along_last(rows: Any, shape: tuple[int, ...]) -> Any:
    """Return states of a shape along the last axis, from rows of their elements."""
    return np.moveaxis(np.reshape(rows, (rows.shape[0], *shape)), 0, -1)


def moves(value: Any) -> bool:
    """True of what carries a derivative."""
    return np.dtype(getattr(value, "dtype", type(value))).kind in "fc"


def operands_of(given: Mapping[str, Any]) -> list[Any]:
    """Return what the slope takes besides the time and the state."""
    return [v for n, v in given.items() if n not in (START, BEGIN, END, AT)]


def step_of(given: Mapping[str, Any], k: Any) -> tuple[Any, Any]:
    """Return where a step begins, and how long it is."""
    times = given[TIMES]
    return times[k], times[k + 1] - times[k]
