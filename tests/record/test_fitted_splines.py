"""Splines of FITPACK, smoothing splines, splines on grids, and scattered data, beside SciPy's and their differences."""

import numpy as np
import pytest
import scipy.interpolate as interpolate
from scipy.sparse.linalg import spsolve
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

rng = np.random.default_rng(0)
X = np.array([0.0, 0.7, 1.1, 2.0, 3.2, 3.9, 4.3])
Y = rng.standard_normal(7)
GRID = (np.array([0, 0.5, 1.3, 2.0, 2.4, 3.0]), np.array([-1.0, 0, 0.4, 1.1, 1.5, 1.9]))
POINTS = rng.uniform(-1, 1, (12, 2))
NAMES = {
    "I": interpolate, "X": X, "GRID": GRID, "POINTS": POINTS, "exact": {"solver": spsolve},
    "rep": interpolate.splrep(X, Y), "uni": interpolate.UnivariateSpline(X, Y, s=0, ext=3),
    "smooth": interpolate.UnivariateSpline(X, Y, s=0.5), "krogh": interpolate.KroghInterpolator(X, Y),
    "radial": interpolate.RBFInterpolator(POINTS, POINTS[:, 0] ** 2),
    "near": interpolate.NearestNDInterpolator(POINTS, POINTS[:, 0] ** 2),
    "round": interpolate.CloughTocher2DInterpolator(POINTS, POINTS**2, tol=1e-14),
    "flat": interpolate.LinearNDInterpolator(POINTS, POINTS**2),
    "wavy": interpolate.RectBivariateSpline(*GRID, rng.standard_normal((6, 6))),
    "smoothed": interpolate.SmoothBivariateSpline(*POINTS.T, POINTS[:, 0] ** 2, kx=2, ky=1),
    "field": interpolate.RegularGridInterpolator(GRID, rng.standard_normal((6, 6)), "cubic", solver=spsolve),
}  # fmt: skip
GIVEN = {
    "x": X, "y": Y, "z": rng.standard_normal((7, 2)), "p": np.array([0.2, 0.75, 1.9, 2.7]),
    "q": np.array([[-0.4, 4.4], [1.3, 3.3]]), "v": rng.standard_normal((6, 6)), "u": rng.standard_normal((6, 6, 2)),
    "w": np.array([[0.1, -0.2], [0.45, 0.25], [1.6, 1.3]]), "r": POINTS + 0.0, "d": rng.standard_normal(12),
    "h": rng.standard_normal((12, 2)), "o": np.array([[0.1, 0.2], [-0.3, 0.15], [0.25, -0.4], [0.05, 0.45]]),
}  # fmt: skip
SPLINES = [
    "I.splev(p, I.splrep(X, y))", "I.UnivariateSpline(X, y, s=0)(q, 1)", "I.splint(p[0], p[3], I.splrep(X, y, k=4))",
    "I.InterpolatedUnivariateSpline(X, y).integral(p[1], p[3])", "I.make_smoothing_spline(X, z, lam=0.3)(q)",
    "I.splev(p, I.splantider(I.splder(I.splrep(X, y, k=5), 2)))", "uni(q)", "I.splint(p[0], 9.0 * p[3], rep)",
    "I.KroghInterpolator(x, z)(p)", "I.lagrange(x[:4], y[:4])(p)", "I.splrep(X, y)[1]",
    "I.make_lsq_spline(X, z, np.array([0, 0, 0, 0, 2.2, 4.3, 4.3, 4.3, 4.3]))(p)",
    "I.splev(q, rep)", "smooth(q)", "smooth.integral(p[0], p[2])", "uni.derivative()(p)", "krogh(p)",
    "I.InterpolatedUnivariateSpline(X, y, ext=1)(q)", "I.UnivariateSpline(X, y, s=0, ext=3)(q)",
    "I.UnivariateSpline(X, y, k=2, s=0).antiderivative()(p)", "I.UnivariateSpline(X, y, s=0).derivative(2)(p)",
    "I.UnivariateSpline(X, y, s=0).get_coeffs()", "I.splev(p, I.splder(rep))", "I.krogh_interpolate(X, y, p)",
    "I.make_smoothing_spline(X, y, w=X + 1.0, lam=0.1).derivative()(p)", "I.lagrange(X, y).c",
    "I.UnivariateSpline(X, y, s=0).get_knots() * p[0]",
]  # fmt: skip
FIELDS = [
    "I.RegularGridInterpolator(GRID, v, 'cubic', **exact)(w)", "I.RBFInterpolator(r, d)(o)",
    "I.RBFInterpolator(r, h, smoothing=0.1, kernel='gaussian', epsilon=d[0]**2 + 0.5)(o)",
    "I.RegularGridInterpolator(GRID, v, 'pchip')(w)",
    "I.LinearNDInterpolator(POINTS, d)(o)", "I.griddata(POINTS, h, (o[:, 0], o[:, 1]))",
    "I.RBFInterpolator(r, d, kernel='multiquadric', epsilon=1.5, degree=1)(o)", "I.NearestNDInterpolator(r, h)(o)",
    "I.RBFInterpolator(POINTS, d, kernel='cubic')(np.concatenate([o, POINTS[:2]]))", "radial(o)", "near(o)", "flat(o)",
    "I.RBFInterpolator(POINTS, d, kernel='quintic')(o)", "I.RBFInterpolator(POINTS, d, kernel='linear')(o)",
    "I.RBFInterpolator(POINTS, d, kernel='inverse_quadratic', epsilon=1.0)(o)", "flat(o[:, 0], o[:, 1] * 9.0)",
    "I.RBFInterpolator(POINTS, d, kernel='inverse_multiquadric', epsilon=1.0, degree=-1)(o)", "field(w)",
    "I.griddata(POINTS, d, o, 'nearest')",
    "I.interpn(GRID, u, w, 'pchip')",
    "I.RegularGridInterpolator(GRID, u, 'quintic', **exact)(w)",
    "I.RegularGridInterpolator(GRID, v, 'cubic', bounds_error=False, **exact)(3 * w)",
]  # fmt: skip
GRIDDED = [
    "I.RectBivariateSpline(*GRID, v, kx=2).ev(w[:, 0], w[:, 1], 1, 1)", "I.RectBivariateSpline(*GRID, v)(p, p - 0.4)",
    "I.RectBivariateSpline(*GRID, v, kx=4, ky=5)(w[:, 0], 0.1, grid=False)", "wavy(p, p, dy=1)",
    "I.RectBivariateSpline(*GRID, v, kx=2, ky=1).integral(p[0], p[2], p[1], -p[0])", 
    "I.RectBivariateSpline(*GRID, v, kx=5).partial_derivative(2, 1)(p - 0.5, p[:2])",
    "wavy.integral(p[0], 9.0, p[1], -9.0)", "I.bisplev(p[0], p[1], wavy.tck + (3, 3), 1)",
    "I.RectBivariateSpline(*GRID, v, kx=1, ky=2).get_coeffs()[:3]",
    "I.bisplev(p, p[0], (*wavy.get_knots(), np.ravel(v), 3, 3))",
    "smoothed.ev(o[:, 0], o[:, 1])",
]  # fmt: skip
HARD = [*SPLINES[:12:2], *SPLINES[9:12:2]]


def test_splines():
    assert value_differences(others(SPLINES, HARD), NAMES, GIVEN) == []
    assert differences(HARD, NAMES, GIVEN, tolerance=1e-11, loose=1e-6, second=False) == []


def test_fields():
    assert differences(FIELDS[:7], NAMES, GIVEN, tolerance=1e-9, loose=1e-6) == []
    wanted = [eval(t, {"np": np, **NAMES}, dict(GIVEN)) for t in FIELDS[7:]]  # noqa: S307
    text = ", ".join(FIELDS[7:])
    from together import programs

    f, _ = programs(FIELDS[7:], NAMES, list(GIVEN))
    found = sdgrad.compile_forward(f)(*GIVEN.values())
    np.testing.assert_allclose(found, np.concatenate(list(map(np.ravel, wanted))), rtol=1e-8, atol=1e-9, err_msg=text)


def test_patches():
    def f(d, o):
        return interpolate.CloughTocher2DInterpolator(POINTS, d, tol=1e-14)(o) + NAMES["round"](o * 0.7)[:, 1]

    given = GIVEN["d"], GIVEN["o"]
    np.testing.assert_allclose(sdgrad.compile_forward(f)(*given), f(*given), rtol=1e-10)
    check_grads(f, given)


def test_splines_of_two_coordinates():
    used = {n: GIVEN[n] for n in ("p", "v", "w", "o")}
    assert value_differences(GRIDDED[2:], NAMES, used) == []
    assert differences(GRIDDED[:2], NAMES, used, tolerance=1e-10, loose=1e-6, second=False) == []
    with pytest.raises(ValueError, match="strictly increasing when `grid`"):
        sdgrad.compile_forward(lambda p: NAMES["wavy"](p, p))(GIVEN["p"][::-1].copy())


REFUSED = {
    "RectBivariateSpline: s= is not": lambda y: interpolate.RectBivariateSpline(X, X, np.outer(y, y), s=1.0).ev(y, y),
    "use RectBivariateSpline": lambda y: interpolate.SmoothBivariateSpline(y, y, y).ev(y, y),
    "splrep: the knots depend on the data": lambda y: interpolate.splrep(X, y, s=1.0)[1][0],
    "UnivariateSpline: the knots depend": lambda y: interpolate.UnivariateSpline(X, y)(1.0),
    "all but the samples must be known": lambda y: interpolate.UnivariateSpline(y, X, s=0)(1.0),
    "cross-validation": lambda y: interpolate.make_smoothing_spline(X, y)(1.0),
    "neighbors= is not recorded": lambda y: interpolate.RBFInterpolator(X[:, None], y, neighbors=3)([[1.0]])[0],
    "points must be known": lambda y: interpolate.LinearNDInterpolator(np.stack([y, y**2], 1), Y)(0.0, 0.0),
    "points on a line are not": lambda y: interpolate.griddata(X, y, 1.0),
    "several coordinates": lambda y: interpolate.splint(0.0, 1.0, (X, [y, y], 1)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(REFUSED[message])(Y)


def test_points_that_come_twice():
    with pytest.raises(ValueError, match="points that come twice"):
        sdgrad.grad(lambda y: interpolate.KroghInterpolator([0.0, 0.0, 1.0], y)(0.5))(np.ones(3))
