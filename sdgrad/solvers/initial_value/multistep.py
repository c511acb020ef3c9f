"""Record integrations of stiff problems by backward differences (BDF): steps continue the polynomial of those before.

What goes from one step to the next are the differences of that polynomial, at the distance of the last step. The order
of a step is written down as its length is; neither has a derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sdgrad.record.calls import works_inside
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.factors import factors_and_order
from sdgrad.record.functions.table import known
from sdgrad.solvers.algorithms import bdf
from sdgrad.solvers.algorithms.bdf import ROWS
from sdgrad.solvers.closed import Equation
from sdgrad.solvers.implicit import implicit, recorded, zeros
from sdgrad.solvers.initial_value.collocation import CollocationSearch, solved
from sdgrad.solvers.initial_value.problem import ORDERS, TIMES, Problem
from sdgrad.solvers.roots import newton_steps

DIRECT = 512  # unknowns up to which a step has a matrix of all derivatives: iterations are slow if it is stiff
TOL, MOST = 1e-13, 20  # of Newton's method where a step is taken again


class BDF:
    """The formulas of orders 1 to 5."""

    order = 1  # of the first step

    def interpolant(self, slope: Callable, t: Any, y: Any, h: Any, end: Any, k: Any) -> Any:
        """Return the coefficients of the polynomial: the differences."""
        return k


class Multistep(Problem):
    """A problem each of whose steps takes the differences of the steps before, and is an implicit function."""

    tables = (*Problem.tables, ORDERS)
    rough = 10.0

    @property
    def width(self) -> int:
        return ROWS * self.size

    def begun(self) -> Callable:
        """Return the state before the first step as a function of the time, the state and the operands."""

        def begun(t: Any, y: Any, *operands: Any) -> Any:
            return np.reshape(bdf.first_rows(y, self.slope(operands)(t, y)), -1)

        return works_inside(begun)

    def chosen(self, given: Mapping[str, Any], k: Any) -> tuple:
        """Return the length of the step before, the order, and that of the polynomial: none has a derivative."""
        times, orders = given[TIMES], given[ORDERS]
        before = times[k] - times[np.maximum(k - 1, 0)]
        return detached(np.where(k == 0, 1.0, before)), orders[k], orders[k + 1]

    def step(self, dense: bool, chosen: tuple) -> Callable:
        """Return a step as a function that is differentiated: where it ends, and its polynomial if ``dense``."""
        before, order, following = chosen

        def step(t: Any, h: Any, state: Any, *operands: Any) -> Any:
            rows = bdf.changed(np.reshape(state, (ROWS, self.size)), order, h / before)
            guess, rest = bdf.predicted(rows, order)
            c = h / bdf.pick(bdf.ALPHA, order)
            equation = Equation(self._left, (t + h, c, guess, rest, *operands))
            d, _ = implicit("bdf", equation, zeros(self.size, self.dtype), self._solved, False, DIRECT)
            new = bdf.advanced(rows, order, d)
            end = np.reshape(new, -1)
            return (end, np.stack(bdf.up_to(new, following))) if dense else end

        return works_inside(step)

    def value(self, coefficients: Any, y: Any, t: Any, h: Any, at: Any) -> Any:
        """Return the polynomial of a step at a time."""
        return sum(w * coefficients[i] for i, w in enumerate(bdf.basis((at - t) / h)))

    def _left(self, d: Any, t: Any, c: Any, guess: Any, rest: Any, *operands: Any) -> Any:
        """Return what has to vanish."""
        return d + rest - c * self.slope(operands)(t, guess + d)

    def _solved(self, left: Callable, d: Any) -> tuple[Any, Any]:
        return newton_steps(left, d, TOL, MOST, DIRECT)


class MultistepSearch(CollocationSearch):
    """Record the search for steps and their orders."""

    def steps(self, emit: Callable, state: tuple, tables: tuple) -> tuple:
        """Take the steps."""
        functions = (self.slope, self.jacobian, self.factors, solved, emit, self.goes_on)
        return recorded(bdf.integrate, *functions, *state, *self.tolerances(), tables)

    def factors(self, matrix: Any, c: Any) -> tuple:
        """Return the factors of the matrix of a step."""
        return factors_and_order(c * (np.diag(known(np.ones(self.problem.size)) / c) - matrix))
