"""Steps of explicit Runge-Kutta methods, with the tableaux of SciPy's classes.

Source: Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I (1993), sections II.4 to II.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

Slope = Callable[[Any, Any], Any]


def mean_square(x: Any) -> Any:
    """Return the mean of the squared moduli."""
    return np.mean(np.abs(x) ** 2)


def norm(x: Any) -> Any:
    """Return the root of the mean square."""
    return np.sqrt(mean_square(x))


def combination(weights: Sequence[float], terms: Sequence[Any]) -> Any:
    """Return a weighted sum, without terms of weight zero."""
    return sum(float(w) * k for w, k in zip(weights, terms, strict=False) if w)


def powers(x: Any, n: int) -> list:
    """Return the first ``n`` powers."""
    return [x ** (i + 1) for i in range(n)]


class Explicit:
    """An explicit method that begins with the slope where the last step ended.

    :param tableau: a class of SciPy's with the coefficients.
    """

    def __init__(self, tableau: Any) -> None:
        self.tableau = tableau
        self.order = tableau.error_estimator_order
        self.coefficients = tableau.P.shape[1]

    def step(self, slope: Slope, t: Any, y: Any, f: Any, h: Any) -> tuple[Any, list]:
        """Return where a step ends, and the slopes on the way, the last of them there."""
        a, b, c = self.tableau.A, self.tableau.B, self.tableau.C
        k = [f]
        for row, node in zip(a[1:], c[1:], strict=True):
            k.append(slope(t + float(node) * h, y + h * combination(row, k)))
        end = y + h * combination(b, k)
        return end, [*k, slope(t + h, end)]

    def error(self, k: list, h: Any, scale: Any) -> Any:
        """Return the norm of the estimated error, relative to what is allowed."""
        return norm(h * combination(self.tableau.E, k) / scale)

    def interpolant(self, slope: Slope, t: Any, y: Any, h: Any, end: Any, k: list) -> Any:
        """Return the coefficients of the polynomial between the ends of a step, a row for each function of `basis`."""
        return np.stack([h * combination(column, k) for column in self.tableau.P.T])

    def basis(self, x: Any) -> list:
        """Return the functions whose sum the polynomial is, at a part of the step between 0 and 1."""
        return powers(x, self.coefficients)


class Order8(Explicit):
    """The method of order 8 of Dormand and Prince, with errors of orders 5 and 3, and an interpolant of order 7."""

    def __init__(self) -> None:
        self.tableau = DOP853
        self.order = DOP853.error_estimator_order
        self.coefficients = 3 + len(DOP853.D)

    def error(self, k: list, h: Any, scale: Any) -> Any:
        """Return the norm of the estimated error, relative to what is allowed."""
        fifth = mean_square(combination(DOP853.E5, k) / scale)
        third = mean_square(combination(DOP853.E3, k) / scale)
        both = fifth + 0.01 * third
        return np.abs(h) * fifth / np.sqrt(np.where(both == 0.0, 1.0, both))

    def interpolant(self, slope: Slope, t: Any, y: Any, h: Any, end: Any, k: list) -> Any:
        """Return the coefficients, with three more slopes."""
        k = list(k)
        for row, node in zip(DOP853.A_EXTRA, DOP853.C_EXTRA, strict=True):
            k.append(slope(t + float(node) * h, y + h * combination(row, k)))
        rise, first, last = end - y, h * k[0], h * k[len(DOP853.B)]
        own = [rise, first - rise, 2.0 * rise - last - first]
        return np.stack([*own, *(h * combination(row, k) for row in DOP853.D)])

    def basis(self, x: Any) -> list:
        """Return the products ``x``, ``x (1 - x)``, ``x^2 (1 - x)``, .."""
        found = [x]
        for i in range(1, self.coefficients):
            found.append(found[-1] * (1.0 - x if i % 2 else x))
        return found


EXPLICIT = {"RK23": Explicit(RK23), "RK45": Explicit(RK45), "DOP853": Order8()}
