"""What is recorded apart and put into a program: its names, and the objects of the program that it calls."""

import linecache

import numpy as np
import pytest
from scipy import integrate, interpolate, optimize

import sdgrad

T = np.linspace(0.0, 2.0, 5)
U = np.array([0.0, 1.0, 2.0, 1.0, 3.0])
SOURCE = """
def f(u):
    s = 0.0
    for {name} in range(3):
        q = np.interp(0.3 * {name} + 0.1, T, u)
        w = sdgrad.grad(lambda z: np.sum(np.interp(z * u, T, u) ** 2 + np.clip(z * u, 0.2, 0.9) * u))(0.4 + q * 0.1)
        s = s + w * np.sum(np.where(u > {name}, np.sort(u), u * w)) + u[{name}]
    return s
"""


@pytest.fixture(autouse=True)
def _quick():
    with sdgrad.config.override(optimization_level=0):
        yield


def slopes(f, x, step):
    """Differences of a function in each direction."""
    return [(f(x + s) - f(x - s)) / (2 * step) for s in step * np.eye(len(x))]


def named(name):
    """The function with this name for its loop's variable."""
    text, file = SOURCE.format(name=name), f"<loop over {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"np": np, "sdgrad": sdgrad, "T": T}
    exec(compile(text, file, "exec"), space)  # noqa: S102
    return space["f"]


@pytest.mark.parametrize("name", ["c", "i0", "at"])
def test_a_variable_of_a_loop_may_have_the_name_of_a_value_inside(name):
    """Such a loop had no end, or wrote outside of its arrays."""
    value, gradient = sdgrad.value_and_grad(named(name))(U)
    assert value == pytest.approx(4425.5344, rel=1e-12)
    np.testing.assert_allclose(gradient, [973.7296, 9745.592, 2908.3248, 8168.7488, 22629.52], rtol=1e-12)


@sdgrad.custom_vjp
def powers(x, n):
    return x ** (n + 1)


@powers.defvjp
def powers_vjp(x, n, grad_out):
    return grad_out * (n + 1) * x**n


def solved(u, name):
    """The sum of solutions of equations that have the counter ``name``, which their rules are given."""
    text = f"""
def f(u):
    s = 0.0
    for {name} in range(3):
        v = sdgrad.root(lambda v: v ** 3 + v - u * ({name} + 1), np.zeros(2))
        s = s + np.sum(v) + np.sum(powers(v, {name}))
    return s
"""
    file = f"<solutions over {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"np": np, "sdgrad": sdgrad, "powers": powers}
    exec(compile(text, file, "exec"), space)  # noqa: S102
    return sdgrad.grad(space["f"])(u)


@pytest.mark.parametrize("name", ["i0", "i0_0"])
def test_rules_keep_the_counter_of_a_loop_around_them_apart(name):
    """A parameter of the rule was named like it: the gradient was another one."""
    u, expected = np.array([1.0, 2.0]), np.zeros(2)
    for n in range(3):
        v = np.array([optimize.brentq(lambda v, c=c: v**3 + v - c, 0.0, 9.0, xtol=1e-15) for c in u * (n + 1)])
        expected += (1 + (n + 1) * v**n) * (n + 1) / (3 * v**2 + 1)
    np.testing.assert_allclose(solved(u, name), expected, rtol=1e-10)


def test_integral_of_an_interpolation():
    """The search halves parts by a variable ``c``, which the interpolation has for a condition: it did not end."""

    def f(u):
        return integrate.quad(lambda x: np.interp(x, T, u), 0.0, 2.0)[0]

    value, gradient = sdgrad.value_and_grad(f)(U)
    assert value == pytest.approx(np.trapezoid(U, T), rel=1e-12)
    np.testing.assert_allclose(gradient, [0.25, 0.5, 0.5, 0.5, 0.25], rtol=1e-9)


MAKERS = {
    "cubic": lambda u: interpolate.CubicSpline(T, u),
    "slope": lambda u: interpolate.make_interp_spline(T, u).derivative(),
    "fitted": lambda u: interpolate.UnivariateSpline(T, u, s=0),
}


@pytest.mark.parametrize("name", MAKERS)
def test_objects_are_called_where_a_solver_calls(name):
    """Objects that are made in a function and called by an integrand of it."""

    def f(u):
        curve = MAKERS[name](u)
        return integrate.quad(lambda x: curve(x) ** 2, 0.0, 2.0, epsabs=1e-12)[0]

    value, gradient = sdgrad.value_and_grad(f)(U)
    assert value == pytest.approx(f(U), rel=1e-9)
    np.testing.assert_allclose(gradient, slopes(f, U, 1e-4), rtol=1e-6, atol=1e-8)


def test_methods_are_called_where_a_solver_calls():
    def f(u):
        curve = interpolate.CubicSpline(T, u)
        area = curve.integrate
        root = optimize.brentq(curve, 0.1, 1.0)
        return root + optimize.brentq(lambda x: area(0.0, x) + 0.05, 0.0, 0.2)

    shifted = U - 0.5
    value, gradient = sdgrad.value_and_grad(f)(shifted)
    assert value == pytest.approx(f(shifted), rel=1e-9)
    np.testing.assert_allclose(gradient, slopes(f, shifted, 1e-5), rtol=1e-5)


def left_out(x):
    s = 0.0
    for i in range(-2, 4):
        s += np.sum(np.delete(x, i) ** 2 * np.arange(3)) * x[i]
    return s + np.sum(np.delete(x, np.argmax(x)) ** 3)


def put_in(x):
    A, s = np.outer(x, x), 0.0
    for i in range(-3, 5):
        s += np.sum(np.insert(x, i, [1.0, x[1]]) ** 2 * np.arange(6)) + np.sum(np.insert(A, i, x, axis=0)[1:3] ** 3)
    return s


@pytest.mark.parametrize("f", [left_out, put_in])
def test_one_is_left_out_or_put_in_where_a_loop_is(f):
    x = np.array([0.3, 0.7, 1.2, 0.4])
    value, gradient = sdgrad.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-13)
    np.testing.assert_allclose(gradient, slopes(f, x, 1e-5), rtol=1e-8)


def outside(x):
    s = 0.0
    for i in range(5):
        s += np.sum(np.delete(x, i))
    return s


def test_places_beyond_the_end():
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 4"):
        sdgrad.grad(outside)(np.ones(4))
    with pytest.raises(sdgrad.errors.ParseError, match=r"np.delete takes one place, or places known without a run"):
        sdgrad.grad(lambda x: np.sum(np.delete(x, np.argsort(x)[:2])))(np.ones(4))


def test_arrays_that_subscripts_make():
    """``np.r_`` made another array in each recording, whose content was asked for again and again."""

    def f(y):
        return interpolate.make_lsq_spline(np.arange(6.0), y, np.r_[[0.0] * 4, [5.0] * 4])(2.2) + np.mgrid[0:3] @ y[:3]

    y = np.arange(6.0) ** 1.5
    np.testing.assert_allclose(sdgrad.grad(f)(y), [f(s) for s in np.eye(6)], rtol=1e-9, atol=1e-9)
