"""Record integrations of stiff problems by collocation (Radau IIA): each step solves equations for three stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.record.calls import works_inside
from sdgrad.record.functions.factors import factors_and_order, solve_in_order
from sdgrad.record.functions.table import known
from sdgrad.solvers.algorithms.radau import COMPLEX, REAL, A, C, coefficients, integrate
from sdgrad.solvers.algorithms.runge_kutta import combination, powers
from sdgrad.solvers.closed import Equation
from sdgrad.solvers.implicit import derivatives, implicit, recorded, zeros
from sdgrad.solvers.initial_value.problem import Problem
from sdgrad.solvers.initial_value.search import Search
from sdgrad.solvers.roots import newton_steps

STAGES = 3
DIRECT = STAGES * 512  # unknowns up to which a step has a matrix of all derivatives: iterations are slow if it is stiff
TOL, MOST = 1e-13, 20  # of Newton's method where a step is taken again


class Radau:
    """The method of three stages and order 5."""

    order = 3  # of the error that is estimated
    coefficients = STAGES

    def interpolant(self, slope: Callable, t: Any, y: Any, h: Any, end: Any, k: Any) -> Any:
        """Return the coefficients of the polynomial through the stages."""
        return coefficients(k)

    def basis(self, x: Any) -> list:
        """Return the functions whose sum the polynomial is, at a part of the step between 0 and 1."""
        return powers(x, self.coefficients)


class Collocation(Problem):
    """A problem whose steps are implicit functions."""

    rough = 10.0

    def step(self, dense: bool, chosen: tuple) -> Callable:
        """Return a step as a function that is differentiated: where it ends, and its polynomial if ``dense``."""

        def step(t: Any, h: Any, y: Any, *operands: Any) -> Any:
            start = zeros(STAGES * self.size, self.dtype)
            equation = Equation(self._left, (t, h, y, *operands))
            found, _ = implicit("radau", equation, start, self._solved, False, DIRECT)
            z = np.reshape(found, (STAGES, self.size))
            end = y + z[-1]
            return (end, coefficients(z)) if dense else end

        return works_inside(step)

    def _left(self, stages: Any, t: Any, h: Any, y: Any, *operands: Any) -> Any:
        """Return what has to vanish: stages less the integrals of the polynomial through their slopes."""
        z = np.reshape(stages, (STAGES, self.size))
        slope = self.slope(operands)
        slopes = [slope(t + c * h, y + z[i]) for i, c in enumerate(C)]
        return stages - np.reshape(np.stack([h * combination(row, slopes) for row in A]), -1)

    def _solved(self, left: Callable, stages: Any) -> tuple[Any, Any]:
        return newton_steps(left, stages, TOL, MOST, DIRECT)


class CollocationSearch(Search):
    """Record the search for implicit steps, with the matrices of SciPy's method."""

    def steps(self, emit: Callable, state: tuple, tables: tuple) -> tuple:
        """Take the steps."""
        functions = (self.slope, self.jacobian, self.factors, solved, emit, self.goes_on)
        return recorded(integrate, *functions, *state, *self.tolerances(), tables)

    def tolerances(self) -> tuple:
        """Return the relative and the absolute tolerance, and that of Newton's method."""
        rtol = self.options.rtol
        return rtol, self.options.atol, max(10 * np.finfo(float).eps / rtol, min(0.03, rtol**0.5))

    def jacobian(self, t: Any, y: Any) -> Any:
        """Return the derivative of the slope by the state."""
        return derivatives(lambda x: self.slope(t, x), y, ())

    def factors(self, matrix: Any, h: Any) -> tuple:
        """Return the factors of the two matrices of a step."""
        ones = known(np.ones(self.problem.size))
        shifted = (np.diag(ones * (shift / h)) - matrix for shift in (REAL, COMPLEX))
        real, other = (factors_and_order(m) for m in shifted)
        return real, other


def solved(factors: tuple[Any, Any], right: Any) -> Any:
    """Solve with factors."""
    return solve_in_order(*factors, right)
