"""Splines through samples, by FITPACK's functions and classes, or near them, by those that smooth.

Coefficients are linear in the samples, for known places: SciPy computes those of each unit vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as interpolate

from sdgrad.errors import ParseError
from sdgrad.record.functions import splines
from sdgrad.record.functions.arguments import require, static, static_axis
from sdgrad.record.functions.evaluated import Evaluated, frozen, made
from sdgrad.record.functions.piecewise import first_axis, wide
from sdgrad.record.functions.splines import Spline
from sdgrad.record.functions.table import active, array, fixed, known, rule
from sdgrad.record.recorder import ONLY_DATA
from sdgrad.record.settling import settle

KNOTS = "the knots depend on the data: pass s=0, or use make_smoothing_spline or make_lsq_spline"


def _known(name: str, *values: Any) -> list[Any]:
    """Return what has to be known: places, knots, weights.

    :raises ParseError: only a run knows it.
    """
    found = [None if v is None else fixed(array(v)) for v in values]
    if any(f is None and v is not None for f, v in zip(found, values, strict=True)):
        settle(active(), ONLY_DATA)  # arrays from outside of the function may be made known
        raise ParseError(f"scipy.interpolate.{name}: all but the samples must be known when recording")
    return found


def _linear(model: Callable, y: Any, axis: Any, name: str) -> Spline:
    """Return the spline of samples, by the splines of unit vectors."""
    data, d = first_axis(wide(y, name), static_axis(axis, np.ndim(y)))
    own = model(np.eye(data.shape[0]))
    return made(Spline(known(own.t), np.tensordot(known(own.c), data, 1), own.k, True, d))


@rule(interpolate.make_smoothing_spline)
def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: Any = 0) -> Spline:
    if lam is None:
        raise ParseError("scipy.interpolate.make_smoothing_spline: cross-validation is not recorded; pass lam=")
    places, weights, smoothing = _known("make_smoothing_spline", x, w, lam)
    make = interpolate.make_smoothing_spline
    return _linear(lambda units: make(places, units, weights, float(smoothing)), y, axis, "make_smoothing_spline")


@rule(interpolate.make_lsq_spline)
def make_lsq_spline(
    x: Any, y: Any, t: Any, k: Any = 3, w: Any = None, axis: Any = 0, check_finite: bool = True, *, method: Any = "qr"
) -> Spline:
    places, knots, weights = _known("make_lsq_spline", x, t, w)
    make = interpolate.make_lsq_spline
    return _linear(lambda u: make(places, u, knots, static(k), weights, method=method), y, axis, "make_lsq_spline")


# -- FITPACK
def _through(x: Any, y: Any, k: Any, name: str) -> Spline:
    """Return the spline through samples, with a knot at each place but those next to the ends."""
    (places,), degree = _known(name, x), static(k)
    if not 1 <= degree <= 5:
        raise ValueError("k should be 1 <= k <= 5")
    if np.shape(y) != np.shape(places) or np.ndim(y) != 1:
        raise ValueError("x and y should have a same length")
    require(np.all(np.diff(places) > 0), "x must be strictly increasing if s = 0")
    return splines.make_interp_spline(known(places), y, degree)


def _whole(x: Any, ends: Any) -> bool:
    """True if the ends of an interval are those of the places."""
    return all(e is None for e in ends)


@rule(interpolate.splrep)
def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: Any = 3, task: Any = 0, s: Any = None,
    t: Any = None, full_output: Any = 0, per: Any = 0, quiet: Any = 1,
) -> tuple[Any, Any, int]:  # fmt: skip
    if not _whole(x, (xb, xe)) or task or t is not None or full_output or per:
        raise ParseError("scipy.interpolate.splrep: xb=, xe=, task=, t=, full_output= and per= are not recorded")
    if s is None and w is not None or s is not None and s != 0:
        raise ParseError(f"scipy.interpolate.splrep: {KNOTS}")
    own = _through(x, y, k, "splrep")
    return own.t, _padded(own), own.k


def _padded(s: Spline) -> Any:
    """Return coefficients with zeros, one for each knot (as FITPACK has them)."""
    return np.concatenate([s.c[: s.count], np.zeros(s.k + 1)])


def of_tck(tck: Any, name: str) -> Spline:
    if not isinstance(tck, tuple):
        return Spline.of(tck)
    t, c, k = tck
    if isinstance(c, (list, tuple)):
        raise ParseError(f"scipy.interpolate.{name}: several coordinates are not recorded")
    return Spline(wide(t, name), wide(c, name), static(k))


def _as_given(tck: Any, s: Spline) -> Any:
    return (s.t, _padded(s), s.k) if isinstance(tck, tuple) else made(s)


@rule(interpolate.splint)
def splint(a: Any, b: Any, tck: Any, full_output: Any = 0) -> Any:
    """Integrate within the knots: the spline is zero outside of them."""
    if full_output:
        raise ParseError("scipy.interpolate.splint: full_output= is not recorded")
    return splines.integrate(of_tck(tck, "splint"), a, b, False)


@rule(interpolate.splder)
def splder(tck: Any, n: Any = 1) -> Any:
    if static(n) < 0:
        return splantider(tck, -static(n))
    own = of_tck(tck, "splder")
    if static(n) > own.k:
        raise ValueError(f"Order of derivative (n = {static(n)!r}) must be <= order of spline (k = {own.k!r})")
    return _as_given(tck, splines.derived(own, static(n)))


@rule(interpolate.splantider)
def splantider(tck: Any, n: Any = 1) -> Any:
    if static(n) < 0:
        return splder(tck, -static(n))
    return _as_given(tck, splines.antiderivative(of_tck(tck, "splantider"), n))


EXTENSIONS = {0: 0, "extrapolate": 0, 1: 1, "zeros": 1, 2: 2, "raise": 2, 3: 3, "const": 3}


@dataclass(frozen=True, eq=False)
class Univariate(Evaluated):
    """Hold a spline, and what it has outside of its knots: one of FITPACK's numbers."""

    told = "a UnivariateSpline"

    spline: Spline
    ext: int

    @staticmethod
    def of(value: Any) -> Univariate:
        """Return one of SciPy's, or one of ours, as ours."""
        if isinstance(value, Univariate):
            return value
        t, c, k = value._eval_args
        return made(Univariate(made(Spline(frozen(t), array(c), k)), value.ext))


def _extension(ext: Any) -> int:
    if ext not in EXTENSIONS:
        raise ValueError(f"Unknown extrapolation mode {ext}.")
    return EXTENSIONS[ext]


def univariate_at(u: Any, x: Any, nu: Any = 0, ext: Any = None) -> Any:
    own = Univariate.of(u)
    mode, s, places = own.ext if ext is None else _extension(ext), own.spline, wide(x, "UnivariateSpline")
    first, last = s.t[s.k], s.t[s.count]
    inside = (places >= first) & (places <= last)
    if mode == 2:
        require(np.all(inside), "Error code returned by splev: 1")
    if mode == 3 and static(nu):
        raise ParseError("scipy.interpolate.UnivariateSpline: derivatives at ext=3 are not recorded; use .derivative()")
    found = splines.values_at(s, np.clip(places, first, last) if mode == 3 else places, nu)
    return np.where(inside | np.isnan(places), found, 0.0) if mode == 1 else found


def _moved(change: Callable) -> Callable:
    """Return a method that gives another spline; what is constant outside has a derivative of zero there."""

    def method(u: Any, n: Any = 1) -> Univariate:
        own = Univariate.of(u)
        return made(Univariate(made(change(own.spline, n)), 1 if own.ext == 3 and change is splder else own.ext))

    return method


Univariate.table = {
    "__call__": univariate_at,
    "derivative": _moved(splder),
    "antiderivative": _moved(splantider),
    "integral": lambda u, a, b: splines.integrate(Univariate.of(u).spline, a, b, False),
    "get_coeffs": lambda u: u.spline.c[: u.spline.count],
    "get_knots": lambda u: u.spline.t[u.spline.k : u.spline.count + 1],
}


@rule(interpolate.InterpolatedUnivariateSpline)
def interpolated(
    x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: Any = 3, ext: Any = 0, check_finite: bool = False
) -> Univariate:
    if not _whole(x, bbox):
        raise ParseError("scipy.interpolate.UnivariateSpline: bbox= is not recorded")
    own = _through(x, y, k, "UnivariateSpline")  # weights do not count: it goes through all samples
    return made(Univariate(own, _extension(ext)))


@rule(interpolate.UnivariateSpline)
def univariate(
    x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: Any = 3, s: Any = None, ext: Any = 0,
    check_finite: bool = False,
) -> Univariate:  # fmt: skip
    if s is None or s != 0:
        raise ParseError(f"scipy.interpolate.UnivariateSpline: {KNOTS}")
    return interpolated(x, y, w, bbox, k, ext)


@rule(interpolate.UnivariateSpline.__call__)
def call_known(u: Any, x: Any, nu: Any = 0, ext: Any = None) -> Any:
    return univariate_at(u, x, nu, ext)


@rule(interpolate.UnivariateSpline.integral)
def integral_known(u: Any, a: Any, b: Any) -> Any:
    return splines.integrate(Univariate.of(u).spline, a, b, False)
