"""Interpolators of SciPy, made of recorded data or of known ones, beside SciPy's and their differences."""

import numpy as np
import pytest
import scipy.interpolate as interpolate
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import ParseError

rng = np.random.default_rng(0)
X = np.array([0.0, 0.7, 1.1, 2.0, 3.2, 3.9])
Y, Z = rng.standard_normal(6), rng.standard_normal((2, 6, 2))
GRID = (np.array([0, 0.5, 1.3, 2.0]), np.array([-1.0, 0, 0.4]))
NAMES = {
    "I": interpolate, "X": X, "GRID": GRID, "T": np.array([0, 0, 0, 0, 0.8, 1.5, 2.5, 4, 4, 4, 4.0]),
    "cubic": interpolate.CubicSpline(X, Y), "pchip": interpolate.PchipInterpolator(X, Y),
    "spline": interpolate.make_interp_spline(X, Y), "line": interpolate.interp1d(X, Y),
    "through": interpolate.BarycentricInterpolator(X, Y), "curve": interpolate.interp1d(X, Y, "cubic"),
    "field": interpolate.RegularGridInterpolator((X, np.arange(3.0)), rng.standard_normal((6, 3))),
}  # fmt: skip
GIVEN = {
    "x": X, "y": Y, "z": Z, "p": np.array([0.2, 0.75, 1.9, 2.7, 3.45]), "q": np.array([[-0.4, 4.4], [1.3, 3.3]]),
    "c": rng.standard_normal(7), "v": rng.standard_normal((4, 3)),
    "w": np.array([[0.1, -0.2], [0.45, 0.05], [0.3, -0.1], [0.62, 0.12], [0.2, 0.3]]),
}  # fmt: skip
PIECEWISE = [
    "I.CubicSpline(x, y)(p)", "I.CubicSpline(x, y, bc_type=((1, y[0]), (2, 0.3)))(q, 1)",
    "I.CubicSpline(X, z, axis=1, bc_type='natural')(q)", "I.CubicSpline(x, y).derivative()(p)",
    "I.CubicSpline(x, y, bc_type='clamped').integrate(p[0], p[3])", "I.CubicSpline(x, y, extrapolate=False)(q)",
    "I.CubicSpline(x[:3], y[:3])(p)", "I.CubicSpline(x[:2], y[:2])(p)",
    "I.CubicSpline(x, np.append(y[:-1], y[0]), bc_type='periodic')(q)", "cubic(p)", "cubic(q, 1)",
    "cubic.integrate(p[0], p[1])", "pchip(p)", "I.PchipInterpolator(x, y)(q)", "I.PchipInterpolator(X, z, axis=1)(p)",
    "I.Akima1DInterpolator(x, y)(p)", "I.Akima1DInterpolator(x, y, method='makima')(p)",
]  # fmt: skip
OTHERS = [
    "I.make_interp_spline(X, z, axis=1)(q)", "I.make_interp_spline(X, y, k=2)(p[1:3], 1)", "spline(p)", "spline(p, 2)",
    "I.make_interp_spline(X, y, bc_type='natural').integrate(p[0], p[2])", "I.BSpline(T, c, 3)(p)",
    "I.BSpline(T, c, 3).derivative()(q)", "I.BSpline(T, c, 3, extrapolate=False)(q)", "I.splev(q, (T, c, 3), 0, 3)",
    "line(p)", "curve(p)", "through(p)", "I.interp1d(x, z, axis=1)(p)", "I.interp1d(x, y, fill_value='extrapolate')(q)",
    "I.interp1d(x, y, bounds_error=False, fill_value=(1.0, y[2]))(q)", "I.interp1d(x, y, 'nearest')(p)",
    "I.interp1d(X, y, 'previous')(p)", "I.interp1d(X, y, 'next', fill_value='extrapolate')(q)",
    "I.interp1d(x[::-1], y)(p)", "I.RegularGridInterpolator(GRID, v)(w)", "field((p, p / 4))",
    "I.RegularGridInterpolator(GRID, v, method='nearest')(w)",
    "I.RegularGridInterpolator(GRID, v, bounds_error=False, fill_value=None)(3 * w)", "I.interpn(GRID, v, w)",
    "I.RegularGridInterpolator(GRID, v, bounds_error=False)(3 * w)", "I.barycentric_interpolate(x, y, p)",
    "I.interp1d(x, y, 'cubic')(p)", "I.interp1d(x, y, 'previous')(p)", "I.interp1d(x, y, 'zero')(p)",
    "I.interp1d(x, y, 'next')(np.append(p, x))", "I.interp1d(x, y, 'zero', fill_value='extrapolate')(np.append(q, x))",
    "I.RegularGridInterpolator(GRID, v)(w[0])", "I.interpn(GRID, v, (w[0, 0], w[0, 1]))",
    "I.RegularGridInterpolator(([2.0, 1.3, 0.5, 0.0], GRID[1]), v, method='slinear')(w)",
    "I.BarycentricInterpolator(x, z, axis=1)(p)", "I.CubicHermiteSpline(x, z, 2 * z, axis=1)(p, 1)",
]  # fmt: skip


def test_piecewise_polynomials():
    assert value_differences(others(PIECEWISE, PIECEWISE[::4]), NAMES, GIVEN) == []
    assert differences(PIECEWISE[::4], NAMES, GIVEN, step=1e-3) == []


def test_splines_and_interpolators():
    assert value_differences(others(OTHERS, OTHERS[::4]), NAMES, GIVEN) == []
    assert differences(OTHERS[::4], NAMES, GIVEN, step=1e-3, second=False) == []


def test_places_that_only_a_run_knows_are_checked():
    def f(x, p):
        return interpolate.interp1d(x, x * x)(p)

    found = sdgrad.compile_forward(f)
    np.testing.assert_allclose(found(X, np.array([1.0])), f(X, np.array([1.0])))
    with pytest.raises(ValueError, match="above the interpolation range"):
        found(X, np.array([9.0]))


def test_nan_stays_nan():
    def f(y, p):
        return interpolate.CubicSpline(X, y)(p), interpolate.interp1d(X, y)(p)

    found = sdgrad.compile_forward(f)(Y, np.array([np.nan, 1.0]))
    assert [np.isnan(v).tolist() for v in found] == [[True, False]] * 2


BERNSTEIN = interpolate.BPoly(np.ones((3, 2)), [0.0, 1.0, 2.0])
REFUSED = {
    "BPoly is not recorded": lambda x: BERNSTEIN(x)[0],
    "points and knots must be known": lambda x: interpolate.make_interp_spline(x, Y)(1.0),
    "kind='nearby' is not recorded": lambda x: interpolate.interp1d(x, Y, "nearby")(1.0),
    "complex numbers is not recorded": lambda x: interpolate.CubicSpline(X, x + 1j)(1.0).real,
    "'near' is not defined: use one of": lambda x: interpolate.RegularGridInterpolator((X,), x, "near")([1.0])[0],
    "der= is not recorded": lambda x: interpolate.barycentric_interpolate(X, x, 1.0, der=1),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises((ParseError, ValueError), match=message):
        sdgrad.grad(REFUSED[message])(X)


def test_points_must_ascend():
    with pytest.raises(ValueError, match="strictly increasing"):
        sdgrad.grad(lambda y: interpolate.CubicSpline([0.0, 1.0, 1.0], y)(0.5))(np.ones(3))


def test_points_that_only_a_run_knows_must_ascend():
    def f(x, y):
        return interpolate.PchipInterpolator(x, y)(1.0), interpolate.RegularGridInterpolator((x,), y)([1.0])

    found = sdgrad.compile_forward(f)
    for value, wanted in zip(found(X, Y), f(X, Y), strict=True):
        np.testing.assert_allclose(value, wanted)
    with pytest.raises(ValueError, match="strictly"):
        found(X[::-1].copy(), Y)


def test_points_from_outside_of_the_function_are_known():
    def f(y, p):
        return interpolate.interp1d(X * 1.0, y, "quadratic")(p)

    np.testing.assert_allclose(sdgrad.compile_forward(f)(Y, 1.5), f(Y, 1.5))
