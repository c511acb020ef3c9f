"""``scipy.optimize`` inside of programs: SciPy's solutions, with derivatives by differences of compiled programs."""

import numpy as np
import pytest
from scipy import optimize
from scipy.optimize import Bounds, curve_fit, least_squares, minimize, minimize_scalar, root_scalar

import sdgrad
from sdgrad.errors import ConvergenceError, ParseError

P = np.array([2.0, 3.0])
XS = np.linspace(0.0, 2.0, 9)
YS = np.exp(-0.7 * XS) * 2 + 0.05 * np.sin(7 * XS)
A = np.random.default_rng(0).standard_normal((6, 3))
B = A @ np.array([1.0, -0.5, 2.0]) + 0.1


@pytest.fixture(autouse=True)
def _compiled_fast():
    with sdgrad.config.override(optimization_level=0):
        yield


def systems(p):
    def residual(v, s):
        return [v[0] ** 2 + v[1] - p[0], v[0] * v[1] - p[1] + v[1] ** 3 * s]

    r = optimize.root(residual, [1.0, 1.0], args=(p[1] / 3,), jac=False)
    matrix = optimize.root(lambda x: x + 0.1 * x.T - p, np.zeros((2, 2)), method="krylov").x
    x, _, flag, _ = optimize.fsolve(lambda v: v**3 + v - p, np.ones(2, np.float32), full_output=True)
    assert r.success and x.dtype == np.float64 and matrix.shape == (2, 2)
    return r.x[0] * r["x"][1] ** 2 + np.sum(r.fun) + matrix[0, 1] + x @ np.arange(1.0, 3.0) * flag


def scalars(p):
    def f(x):
        return np.exp(x) + p[0] * x - p[1] - 3

    def cube(x, q):
        return x**3 - q

    a = root_scalar(f, bracket=[-10, p[1]])
    b = root_scalar(f, x0=0.5, fprime=lambda x: np.exp(x) + p[0])
    x, told = optimize.brentq(cube, 0, 4, args=(p[1],), full_output=True)
    others = [m(cube, 0, 4, args=p[0]) for m in (optimize.bisect, optimize.brenth, optimize.ridder, optimize.toms748)]
    c = optimize.newton(cube, 1.0, args=(p[0],), fprime=lambda x, q: 3 * x**2)
    d = optimize.newton(cube, np.ones(2), args=(p,))
    return a.root * b.root + x * told.root + sum(others) * c + d @ np.arange(1.0, 3.0)


def fixed_points(p):
    a = optimize.fixed_point(lambda x: np.cos(x * p[0] / 4 + p[1] / 5), 0.5)
    b = optimize.fixed_point(lambda x, c: np.sqrt(c / (x + p)), [1.2, 1.3], args=(10.0,))
    c = optimize.fixed_point(lambda x: -2 * np.sin(x) + p[0], 0.9)  # iterations do not contract
    return a + np.sum(b) + c * optimize.fixed_point(lambda x: np.cos(x) * p[0] / 4, 0.5, method="iteration")


def valley(x, a, b):
    return (a - x[0]) ** 2 + b * (x[1] - x[0] ** 2) ** 2 + 0.1 * np.sum(x**4)


def minima(p):
    r = minimize(valley, [0.5, 0.5], args=(p[0], p[1]), method="BFGS")
    s = minimize(lambda x: (np.sum((x - p) ** 2 + x**4), 2 * (x - p) + 4 * x**3), np.zeros(2), jac=True)
    t = minimize(lambda x: (x - p[0]) ** 2 + x**4, 0.5, method="Nelder-Mead", tol=1e-10)
    return r.x[0] * r.x[1] + r.fun * p[0] + s.x @ P + t.x[0]


def between_bounds(p):
    def cost(x):
        return valley(x[:2], p[0], p[1]) + (x[2] - p[1]) ** 2 + (x[3] + x[0] * 0.1 - 1.0) ** 2

    r = minimize(cost, np.zeros(4), bounds=[(None, 0.9), (-3, 3), (0, p[0]), (p[1] / 2, None)])
    free = minimize(cost, np.zeros(4), bounds=Bounds(-50.0, np.full(4, np.inf)), method="L-BFGS-B")
    return r.x @ np.array([1.0, 2.0, 3.0, 4.0]) * p[0] + r.fun + free.x @ np.arange(4.0)


def of_one_variable(p):
    a = minimize_scalar(lambda x: (x - p[0]) ** 4 + x**2 * p[1])
    b = minimize_scalar(lambda x, q: np.cos(x * p[0] / 2) + 0.1 * x * q, bounds=(0, 5), args=(p[1] / 3,))
    c = minimize_scalar(lambda x: (x - p[0]) ** 2, bounds=(0, p[1] / 3), method="bounded", options={"xatol": 1e-9})
    d = minimize_scalar(lambda x: x**4 - p[0] * x**2 + 0.1 * x, bracket=(0.5, 1.0, 2.0))
    return a.x + b.x * b.fun + c.x + d.x


def fits(p):
    def residual(q, s=1.0):
        return q[0] * np.exp(-q[1] * XS) - YS * p[0] * s - 0.1 * p[1] * XS

    r = least_squares(residual, [1.0, 1.0])
    s = least_squares(residual, (1, 1), loss="soft_l1", f_scale=0.5, kwargs={"s": p[1] / 3})
    t = least_squares(residual, [1.0, 0.2], bounds=([0.0, 0.0], [np.inf, p[1] / 10]))
    x, flag = optimize.leastsq(residual, [1.0, 1.0])
    return r.x[0] * r.x[1] + r.cost + s.cost + s.x[1] + t.x[0] + t.x[1] * t.cost + x[0] * flag


def curves(p):
    def model(x, a, b, c):
        return a * np.exp(-b * x) + c

    y = YS * p[0] + 0.1 * p[1] * XS**2
    a, covariance = curve_fit(model, XS, y)
    b, other = curve_fit(model, XS, y, [1.0, 1.0, 0.5], sigma=0.1 + XS * p[1] / 30, absolute_sigma=True)
    c, _ = curve_fit(model, XS, y, bounds=(0.0, [10.0, 0.5, 10.0]))
    return a[0] * a[1] + a[2] + 100 * covariance[0, 1] + b[0] * b[1] + 10 * other[1, 2] + c @ np.arange(3.0)


def linear(p):
    x, size = optimize.nnls(A * p[0], B + p[1] * A[:, 0])
    r = optimize.lsq_linear(A * p[0], B + p[1] * A[:, 0], bounds=(-0.2, [p[1] / 10, 2.0, 0.7]))
    free = optimize.lsq_linear(A * p[0], B + p[1] * A[:, 0])
    return x @ np.arange(1.0, 4.0) + size + r.x @ np.arange(1.0, 4.0) + r.cost + np.sum(free.x)


CASES = (systems, scalars, fixed_points, minima, between_bounds, of_one_variable, fits, curves, linear)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_values_and_derivatives(f):
    both, step = sdgrad.value_and_grad(f), 1e-5
    value, gradient = both(P)
    assert abs(value - f(P)) <= 1e-4 * abs(value)  # SciPy's tolerances
    around = [(both(P + step * d), both(P - step * d)) for d in np.eye(2)]
    np.testing.assert_allclose(gradient, [(a[0] - b[0]) / (2 * step) for a, b in around], rtol=2e-7, atol=1e-8)
    if f not in (fits, curves, linear):  # which take long to compile
        along = sdgrad.jvp(f, (P,), (np.array([1.0, -2.0]),))[1]
        np.testing.assert_allclose(along, gradient @ [1.0, -2.0], rtol=1e-9)
    if f in (fixed_points, between_bounds):
        second = [(a[1] - b[1]) / (2 * step) for a, b in around]
        np.testing.assert_allclose(sdgrad.hessian(f)(P), second, rtol=1e-6, atol=1e-7)


def test_bounds_hold_exactly_and_have_derivatives():
    """In closed form: at a bound the solution is the bound, elsewhere it does not know of it."""

    def nearest(a, low, high):
        return minimize(lambda x: np.sum((x - a) ** 2 * np.arange(1.0, 4.0)), np.zeros(3), bounds=Bounds(low, high)).x

    a, low, high = np.array([-1.0, 0.5, 4.0]), np.zeros(3), np.full(3, 2.0)
    x, pullback = sdgrad.vjp(nearest, a, low, high)
    np.testing.assert_array_equal(x, [0.0, 0.5, 2.0])
    np.testing.assert_allclose(pullback(np.arange(1.0, 4.0)), [[0, 2, 0], [1, 0, 0], [0, 0, 3]], atol=1e-12)


def test_a_search_that_begins_on_a_peak_goes_down():
    def low(p):
        return minimize_scalar(lambda x: x**4 - p * x**2, bracket=(-1.0, 2.0)).x ** 2

    value, slope = sdgrad.value_and_grad(low)(3.0)
    np.testing.assert_allclose([value, slope], [1.5, 0.5], rtol=1e-9)


def test_without_a_solution():
    with pytest.raises(ConvergenceError, match="scipy.optimize.brentq did not converge"):
        sdgrad.grad(lambda p: optimize.brentq(lambda x: x * x + p, -1.0, 1.0))(1.0)


REFUSED = {
    "constraints=": lambda p: minimize(lambda x: np.sum(x**2) * p, np.ones(2), constraints={"type": "eq"}).fun,
    "ignores bounds": lambda p: minimize(lambda x: p * x[0], [1.0], bounds=[(0, 1)], method="BFGS").fun,
    "method='mine'": lambda p: minimize(lambda x: p * x[0], [1.0], method="mine").fun,
    "callback= is not": lambda p: minimize(lambda x: p * x[0], [1.0], callback=print).fun,
    "no recorded 'hess_inv'": lambda p: minimize(lambda x: (x[0] - p) ** 2, [1.0]).hess_inv[0, 0],
    "up to 64 unknowns": lambda p: minimize(lambda x: np.sum(x - p), np.ones(65), bounds=Bounds(0, 1)).fun,
    "fewer equations": lambda p: optimize.nnls(np.ones((1, 2)) * p, np.ones(1))[1],
    "`loss` must be one of": lambda p: least_squares(lambda x: x - p, [1.0], loss="mine").cost,
    "full_output= is not": lambda p: curve_fit(lambda x, a: a * x, XS, YS * p, full_output=True)[0][0],
}


@pytest.mark.parametrize("told", REFUSED)
def test_refused(told):
    with pytest.raises((ParseError, ValueError), match=told):
        sdgrad.grad(REFUSED[told])(2.0)


def test_errors_of_scipy():
    for wrong in (
        lambda p: minimize(lambda x: np.sum(x) * p, np.ones((2, 2))).fun,
        lambda p: root_scalar(lambda x: x - p).root,
        lambda p: root_scalar(lambda x: x - p, method="mine", x0=1.0).root,
        lambda p: minimize_scalar(lambda x: x * p, method="bounded").x,
        lambda p: minimize(lambda x: x[0] * p, [1.0, 2.0], bounds=[(0, 1)] * 3).fun,
    ):
        with pytest.raises(ValueError):
            sdgrad.grad(wrong)(2.0)
