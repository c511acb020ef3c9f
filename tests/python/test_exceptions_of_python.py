"""Exceptions that Python raises by data: not caught without a word, and raised by the first call."""

import math

import numpy as np
import pytest

import sdgrad
from python.check import name_of
from sdgrad.errors import ArgumentError, ParseError

X = np.array([0.5, 1.5])


def divided(x, i):
    try:
        return float(x[0]) / float(x[1])
    except ZeroDivisionError:
        return 0.0


def rooted(x, i):
    try:
        return math.sqrt(x[0])
    except ValueError:
        return 0.0


def raised(x, i):
    try:
        return math.exp(x[0])
    except ArithmeticError:
        return 0.0


def picked(x, i):
    try:
        return x[i] ** 2
    except IndexError:
        return x[0]


@pytest.mark.parametrize(
    ("f", "error"),
    [(divided, "ZeroDivisionError"), (rooted, "ValueError"), (raised, "OverflowError"), (picked, "IndexError")],
)
def test_one_that_the_function_would_catch(f, error):
    with pytest.raises(
        ParseError, match=f"whether this raises {error}, only a run knows.*ask for the condition with 'if'"
    ):
        sdgrad.grad(f, "x")(X, 1)


def test_others_are_caught():
    def f(x, options):
        try:
            scale = options["scale"]
        except KeyError:
            scale = 2.0
        try:
            return scale * x[0] / x[1]
        except IndexError:
            return 0.0

    np.testing.assert_allclose(sdgrad.grad(f)(X, {}), [2 / 1.5, -2 * 0.5 / 1.5**2])


@pytest.mark.parametrize(
    ("f", "arguments", "error"),
    [
        (lambda t: math.sqrt(t), (-1.0,), ValueError),
        (lambda t: math.log(t), (0.0,), ValueError),
        (lambda t: math.exp(t), (1000.0,), OverflowError),
        (lambda t: 1.0 / t, (0.0,), ZeroDivisionError),
        (lambda x, i: x[i] ** 2, (X, 5), IndexError),
        (lambda x, i: np.sum(x[i]), (X, np.array([0, 5])), IndexError),
    ],
)
def test_the_first_call_raises_what_python_raises(f, arguments, error):
    with pytest.raises(error):
        f(*arguments)
    with sdgrad.config.override(verify="auto"), pytest.raises(error):
        sdgrad.grad(f, 0)(*arguments)


@pytest.mark.parametrize("f", [math.sin, math.sqrt, math.floor, lambda x: math.hypot(x, 1.0), float], ids=name_of)
def test_a_function_of_numbers_of_an_array(f):
    with pytest.raises(TypeError, match="only length-1 arrays can be converted to Python scalars"):
        sdgrad.grad(lambda x: f(x) * x[0])(X)
    assert np.isfinite(sdgrad.grad(lambda x: f(x) * x[0])(X[:1]))


@pytest.mark.parametrize("array", [np.ma.array(X, mask=[1, 0]), np.eye(2).view(np.matrix)], ids=["masked", "matrix"])
def test_arrays_whose_operators_mean_something_else(array):
    gradient = sdgrad.grad(lambda x: np.sum(x * x))
    gradient(np.asarray(array))
    with pytest.raises(ArgumentError, match=r"argument 'x' is a numpy\.[\w.]+, not an ndarray"):
        gradient(array)
    with pytest.raises(ParseError, match="an array outside of the function is a numpy"):
        sdgrad.grad(lambda x: np.sum(x * array))(np.ones(array.shape))


@pytest.mark.parametrize("f", [np.sum, np.mean, np.linalg.norm, np.max, np.prod], ids=lambda f: f.__name__)
def test_functions_of_numpy_as_they_stand(f):
    value, gradient = sdgrad.value_and_grad(f)(X)
    expected = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(gradient, expected, atol=1e-8)
    assert value == f(X)


def test_universal_functions_as_they_stand():
    assert sdgrad.grad(np.exp)(0.5) == np.exp(0.5)
    np.testing.assert_allclose(sdgrad.jacobian(np.sin)(X), np.diag(np.cos(X)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sdgrad.grad(lambda W: np.sum(W), "w")(X), "no argument named 'w'; did you mean 'W'"),
        (lambda: sdgrad.grad(lambda x, y=None: np.sum(x), "y")(X), "argument 'y' is None"),
        (lambda: sdgrad.grad(lambda x: None)(X), "returns nothing; grad needs one scalar: 'return' it"),
        (lambda: sdgrad.grad(lambda x, m: np.sum(x), "x")(X, np.longdouble(1)), "convert to float64"),
        (
            lambda: sdgrad.grad(lambda x: max([(x[0], 1), (x[1], 2)], key=lambda p: p[0])[0])(X),
            "use np.argmax or np.argmin",
        ),
        (lambda: sdgrad.grad(lambda x: sorted([(x[0], 1), (x[1], 2)])[0][0])(X), "use np.argsort"),
    ],
)
def test_what_is_said(call, words):
    with pytest.raises(sdgrad.errors.SdgradError, match=words):
        call()
