"""Splines by their coefficients: ``BSpline``, ``make_interp_spline`` and ``splev``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as interpolate

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import static, static_axis
from sdgrad.record.functions.evaluated import Evaluated, frozen, made
from sdgrad.record.functions.piecewise import first_axis, interval_of, over, placed, wide
from sdgrad.record.functions.table import active, array, fixed, known, rule
from sdgrad.record.recorder import ONLY_DATA
from sdgrad.record.settling import settle


@dataclass(frozen=True, eq=False)
class Spline(Evaluated):
    """Hold knots ``t``, coefficients ``c`` with their axis in front, and the degree ``k``."""

    told = "a BSpline"

    t: Any
    c: Any
    k: int
    extrapolate: Any = True
    axis: int = 0

    @staticmethod
    def of(value: Any) -> Spline:
        """Return one of SciPy's splines, or one of ours, as ours."""
        if isinstance(value, Spline):
            return value
        c = first_axis(array(value.c), value.axis)[0]
        return made(Spline(frozen(value.t), c, value.k, value.extrapolate, value.axis))

    @property
    def count(self) -> int:
        return np.shape(self.t)[0] - self.k - 1


def derived(s: Spline, order: int) -> Spline:
    """Return a derivative: a spline of a lower degree, on the same knots but the first and the last."""
    for _ in range(order):
        if s.k == 0:
            return Spline(s.t, np.zeros_like(s.c), 0, s.extrapolate, s.axis)
        n, trailing = s.count, np.ndim(s.c) - 1
        widths = s.t[s.k + 1 : s.k + n] - s.t[1:n]
        proper = np.where(widths > 0, widths, 1.0)
        factors = np.where(widths > 0, s.k / proper, 0.0)
        s = Spline(s.t[1:-1], np.diff(s.c[:n], axis=0) * over(factors, trailing), s.k - 1, s.extrapolate, s.axis)
    return s


def values_at(s: Spline, at: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
    """Return the spline, or a derivative, at some places (de Boor 1972)."""
    mode, places = s.extrapolate if extrapolate is None else extrapolate, wide(at, "a spline")
    own, flat, trailing = derived(s, static(nu)), np.reshape(places, -1), np.ndim(s.c) - 1
    k, n, t = own.k, own.count, own.t
    first, last = t[k], t[n]
    if isinstance(mode, str) and mode == "periodic":
        flat, mode = first + (flat - first) % (last - first), False
    at_knot = interval_of(t[k : n + 1], flat, n - k) + k
    found = _de_boor(own, flat, proper_interval(t, at_knot, k, n))
    if not mode:
        found = np.where(over((flat >= first) & (flat <= last), trailing), found, np.nan)
    return placed(found, places.shape, s.axis)


def proper_interval(t: Any, at_knot: Any, k: int, n: int) -> Any:
    """Return intervals that are not empty: at a repeated last knot, the one before."""
    content = fixed(array(t))
    if content is None:
        return at_knot
    proper = [i for i in range(k, n) if content[i] < content[i + 1]]
    own = [max([p for p in proper if p <= i], default=proper[0]) for i in range(n)]
    return known(np.array(own))[at_knot]


def _de_boor(s: Spline, at: Any, knot: Any) -> Any:
    trailing = np.ndim(s.c) - 1
    parts = [s.c[knot - s.k + j] + 0.0 * over(at, trailing) for j in range(s.k + 1)]
    for r in range(1, s.k + 1):
        for j in range(s.k, r - 1, -1):
            left = s.t[knot + (j - s.k)]
            share = over((at - left) / (s.t[knot + (j + 1 - r)] - left), trailing)
            parts[j] = (1.0 - share) * parts[j - 1] + share * parts[j]
    return parts[s.k]


def derivative(s: Any, nu: Any = 1) -> Any:
    order = static(nu)
    return made(derived(Spline.of(s), order)) if order >= 0 else antiderivative(s, -order)


def antiderivative(s: Any, nu: Any = 1) -> Any:
    own = Spline.of(s)
    if isinstance(own.extrapolate, str):
        raise ParseError("the integral of a periodic spline is not recorded")
    for _ in range(static(nu)):
        k, n, trailing = own.k, own.count, np.ndim(own.c) - 1
        areas = own.c[:n] * over((own.t[k + 1 : k + 1 + n] - own.t[:n]) / (k + 1.0), trailing)
        sums = np.concatenate([np.zeros_like(areas[:1]), np.cumsum(areas, axis=0)])
        own = Spline(np.concatenate([own.t[:1], own.t, own.t[-1:]]), sums, k + 1, own.extrapolate, own.axis)
    return made(own)


def integrate(s: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    own = Spline.of(s)
    mode = own.extrapolate if extrapolate is None else extrapolate
    whole, ends = antiderivative(own), [array(a), array(b)]
    if not mode:
        ends = [array(np.clip(e, own.t[own.k], own.t[own.count])) for e in ends]
    return values_at(whole, ends[1], 0, True) - values_at(whole, ends[0], 0, True)


Spline.table = {
    "__call__": values_at, "derivative": derivative, "antiderivative": antiderivative, "integrate": integrate,
}  # fmt: skip


# -- SciPy's
@rule(interpolate.BSpline.__call__)
def call_known(s: Any, x: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
    return values_at(Spline.of(s), x, nu, extrapolate)


@rule(interpolate.BSpline.integrate)
def integrate_known(s: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    return integrate(s, a, b, extrapolate)


@rule(interpolate.BSpline)
def bspline(t: Any, c: Any, k: Any, extrapolate: Any = True, axis: Any = 0) -> Any:
    knots, (factors, d), degree = wide(t, "BSpline"), first_axis(wide(c, "BSpline"), axis), static(k)
    if degree < 0:
        raise ValueError("Spline order cannot be negative.")
    if knots.ndim != 1 or knots.shape[0] < 2 * degree + 2:
        raise ValueError(f"Need at least {2 * degree + 2} knots for degree {degree}")
    if factors.shape[0] < knots.shape[0] - degree - 1:
        raise ValueError("Knots, coefficients and degree are inconsistent.")
    return made(Spline(knots, factors, degree, extrapolate, d))


@rule(interpolate.make_interp_spline)
def make_interp_spline(
    x: Any, y: Any, k: Any = 3, t: Any = None, bc_type: Any = None, axis: Any = 0, check_finite: bool = True
) -> Any:
    return spline_through("make_interp_spline", "CubicSpline", x, y, k, t, bc_type, axis)


def spline_through(
    name: str, instead: str, x: Any, y: Any, k: Any = 3, t: Any = None, bc_type: Any = None, axis: Any = 0
) -> Any:
    """Solve for the coefficients by SciPy's for each of the unit vectors: they are linear in the data.

    :param name: the function of SciPy's that the user calls.
    :param instead: what takes points that only a run knows.
    """
    points, knots = fixed(array(x)), t if t is None else fixed(array(t))
    if points is None or (t is not None and knots is None):
        settle(active(), ONLY_DATA)  # arrays from outside of the function may be made known
        raise ParseError(
            f"scipy.interpolate.{name}: the points and knots must be known when recording; "
            f"{instead} takes recorded ones"
        )
    if not (bc_type is None or isinstance(bc_type, str) or all(b is None or isinstance(b, str) for b in bc_type)):
        raise ParseError("scipy.interpolate.make_interp_spline: values of derivatives in bc_type are not recorded")
    data, d = first_axis(wide(y, "make_interp_spline"), static_axis(axis, np.ndim(y)))
    n = data.shape[0]
    units, used = np.eye(n), data
    if isinstance(bc_type, str) and bc_type == "periodic":
        units, used = np.concatenate([np.eye(n - 1), np.eye(n - 1)[:1]]), data[:-1]
    model = interpolate.make_interp_spline(points, units, static(k), knots, bc_type)
    c = np.tensordot(known(model.c), used, 1)
    return made(Spline(known(model.t), c, model.k, model.extrapolate, d))


@rule(interpolate.splev)
def splev(x: Any, tck: Any, der: Any = 0, ext: Any = 0) -> Any:
    if not isinstance(tck, tuple):
        return values_at(Spline.of(tck), x, der)
    t, c, k = tck
    if isinstance(c, (list, tuple)) or ext not in (0, 1, 3) or ext == 3 and der != 0:
        raise ParseError("scipy.interpolate.splev: several coordinates, ext=2, and der= at ext=3 are not recorded")
    knots, places, degree = wide(t, "splev"), wide(x, "splev"), static(k)
    first, last = knots[degree], knots[-degree - 1]
    clipped = np.clip(places, first, last) if ext == 3 else places
    found = values_at(Spline(knots, wide(c, "splev"), degree), clipped, der)
    return np.where((places >= first) & (places <= last), found, 0.0) if ext == 1 else found
