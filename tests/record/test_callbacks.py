"""Python called at run time: values, derivatives by the user's function, exceptions, and what is refused."""

import threading

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import sdgrad
from sdgrad.errors import ArgumentError, DifferentiationError, ParseError

X = np.array([0.5, 1.2, 0.7])
KNOTS = np.linspace(0.0, 3.0, 20)
SPLINE = CubicSpline(KNOTS, np.sin(KNOTS))
spline = sdgrad.pure_callback(SPLINE, X, vjp=lambda g, x: g * SPLINE(x, 1))


def table(x):
    return np.sum(spline(x * x) * x)


def in_a_loop(x):
    s = 0.0
    for i in range(3):
        cube = sdgrad.pure_callback(lambda v, m: m * v**3, 0.0, vjp=lambda g, v, m: (3 * g * m * v * v, None))
        s = s + cube(x[i], 2)
    return s


def until_small(x):
    y = x
    halve = sdgrad.pure_callback(lambda v: v / 2, x, vjp=lambda g, v: g / 2)
    while np.sum(y * y) > 0.1:
        y = halve(y)
    return np.sum(y)


def nests(p, x):
    def model(p, x, power=1):
        return {"a": p["k"] * x**power, "b": np.sum(x)}

    def back(g, p, x, power=1):
        return {"k": np.sum(g["a"] * x**power)}, g["a"] * p["k"] * power * x ** (power - 1) + g["b"]

    found = sdgrad.pure_callback(model, {"a": x, "b": 0.0}, vjp=back)(p, x, power=2)
    return np.sum(found["a"]) * found["b"]


def slope(f, x, step, h=1e-5):
    """The derivative along a direction, by differences."""
    near, far = f(x + h * step) - f(x - h * step), f(x + 2 * h * step) - f(x - 2 * h * step)
    return (8 * near - far) / (12 * h)


@pytest.mark.parametrize("f", [table, in_a_loop, until_small], ids=lambda f: f.__name__)
def test_value_and_gradient(f):
    value, gradient = sdgrad.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    step = np.array([0.3, -0.2, 0.9])
    assert gradient @ step == pytest.approx(slope(f, X, step), rel=1e-7)


def test_nests_keywords_and_numbers():
    gradient = sdgrad.grad(nests, (0, 1))({"k": 1.5}, X)
    total, squares = np.sum(X), np.sum(X * X)
    assert gradient[0]["k"] == pytest.approx(squares * total)
    np.testing.assert_allclose(gradient[1], 1.5 * (2 * X * total + squares))


def test_forward_mode_is_the_derivative_that_the_user_gives_or_refused():
    with pytest.raises(DifferentiationError, match="give pure_callback a vjp"):
        sdgrad.jvp(table, (X,), (np.ones(3),))


def test_without_a_derivative():
    plain = sdgrad.pure_callback(SPLINE, X)

    def through(x):
        return np.sum(plain(x))

    def beside(x):
        return np.sum(plain(sdgrad.stop_gradient(x)) * x)

    assert sdgrad.compile_forward(through)(X) == pytest.approx(np.sum(SPLINE(X)))
    with pytest.raises(DifferentiationError, match=r"give pure_callback a vjp(.|\n)*test_callbacks.py:"):
        sdgrad.grad(through)(X)
    np.testing.assert_allclose(sdgrad.grad(beside)(X), SPLINE(X))


def test_every_point_of_a_batch():
    double = sdgrad.pure_callback(lambda v: 2 * v, X, vjp=lambda g, v: 2 * g)
    batch = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(sdgrad.vmap(lambda x: np.sum(double(x) * x))(batch), 2 * np.sum(batch**2, axis=1))


@pytest.mark.parametrize("door", [sdgrad.compile_forward, sdgrad.grad, sdgrad.value_and_grad])
def test_exceptions_come_from_the_call(door):
    def refuses(x):
        if x[0] > 1.0:
            raise KeyError("too large")
        return x

    call = sdgrad.pure_callback(refuses, X, vjp=lambda g, x: g)
    f = door(lambda x: np.sum(call(x)))
    f(X)
    with pytest.raises(KeyError, match="too large"):
        f(X + 1.0)
    f(X)


def test_exceptions_of_the_derivative():
    def back(g, x):
        raise ZeroDivisionError("no slope")

    call = sdgrad.pure_callback(lambda x: x, X, vjp=back)
    with pytest.raises(ZeroDivisionError, match="no slope"):
        sdgrad.grad(lambda x: np.sum(call(x)))(X)


def test_each_thread_has_its_own_exceptions():
    def refuses(x):
        if x[0] > 1.0:
            raise KeyError("too large")
        return x

    call = sdgrad.pure_callback(refuses, X)
    f = sdgrad.compile_forward(lambda x: np.sum(call(x)))
    f(X)
    seen = []

    def run(x, wanted):
        for _ in range(200):
            try:
                f(x)
                seen.append(wanted is None)
            except KeyError:
                seen.append(wanted is KeyError)

    threads = [threading.Thread(target=run, args=a) for a in ((X, None), (X + 1.0, KeyError))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(seen) == 400 and all(seen)


@pytest.mark.parametrize(
    "f, message",
    [
        (lambda x: np.ones(2), r"float64 of shape \(2,\), not float64 of shape \(3,\)"),
        (lambda x: x + 1j, "complex128"),
        (lambda x: (x, x), "something else than result_like|of shape"),
        (lambda x: None, "something else than result_like|not float64"),
    ],
)
def test_results_are_what_was_promised(f, message):
    call = sdgrad.pure_callback(f, X)
    with pytest.raises(ArgumentError, match=message):
        sdgrad.compile_forward(lambda x: np.sum(call(x)))(X)
    with pytest.raises(ArgumentError, match=message):
        call(X)


def test_cotangents_fit_the_arguments():
    call = sdgrad.pure_callback(lambda a, b: a * b, X, vjp=lambda g, a, b: g * b)
    with pytest.raises(ArgumentError, match="1 cotangents for 2 arguments"):
        sdgrad.grad(lambda x: np.sum(call(x, x)))(X)


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match="takes a function"):
        sdgrad.pure_callback(3, X)
    with pytest.raises(ArgumentError, match="needs arrays or numbers"):
        sdgrad.pure_callback(np.sin, None)
    with pytest.raises(ArgumentError, match="arrays and numbers"):
        sdgrad.pure_callback(np.sin, "x")


def test_sizes_are_numbers():
    def slices(x):
        s = 0.0
        for i in range(3):
            s = s + sdgrad.pure_callback(np.sum, 0.0)(x[:i])
        return s

    with pytest.raises(ParseError, match="sizes must be numbers"):
        sdgrad.compile_forward(slices)(X)


def test_programs_that_call_python_stay_in_this_process(tmp_path):
    with pytest.raises(ArgumentError, match="calls Python"):
        sdgrad.compile_gradient(table, X)
