"""``assert`` and ``raise`` on what only a run knows: the call raises the exception."""

import numpy as np
import pytest
import scipy.optimize

import sdgrad
from sdgrad.errors import ConvergenceError

GOOD, NEGATIVE, LARGE = np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 3.0]), np.array([1.0, 20.0, 3.0])


def checked(x):
    assert np.all(x > 0), "positive please"
    s = 0.0
    for i in range(len(x)):
        if x[i] > 10.0:
            raise ValueError("too large")
        s += np.log(x[i])
    return s


def gradient_inside(x):
    return sdgrad.grad(checked)(x)[0] + x[1]


WAYS = {
    "grad": sdgrad.grad(checked),
    "value_and_grad": sdgrad.value_and_grad(checked),
    "forward": sdgrad.compile_forward(checked),
    "vjp": lambda x: sdgrad.vjp(checked, x),
    "jvp": lambda x: sdgrad.jvp(checked, (x,), (x,)),
    "jacobian": sdgrad.jacobian(sdgrad.grad(checked)),
    "inside": sdgrad.grad(gradient_inside),
}


@pytest.mark.parametrize("way", WAYS)
def test_raised_from_the_call(way):
    WAYS[way](GOOD)
    with pytest.raises(AssertionError, match="positive please"):
        WAYS[way](NEGATIVE)
    with pytest.raises(ValueError, match="too large"):
        WAYS[way](LARGE)
    WAYS[way](GOOD)


def test_the_first_one_counts():
    with pytest.raises(AssertionError):
        WAYS["grad"](np.array([-1.0, 20.0, 1.0]))


def root(a):
    x, n = a, 0
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
        n += 1
        if n > 20:
            raise RuntimeError("no convergence")
    return x


def test_a_loop_without_end_ends():
    assert sdgrad.grad(root)(2.0) == pytest.approx(0.5 / np.sqrt(2.0))
    with pytest.raises(RuntimeError, match="no convergence"):
        sdgrad.grad(root)(-1.0)


def test_static_ones_are_pythons():
    def f(x, kind):
        if kind not in ("a", "b"):
            raise KeyError(kind)
        assert x.ndim == 1
        return np.sum(x)

    with pytest.raises(KeyError, match="c"):
        sdgrad.grad(f)(GOOD, "c")
    np.testing.assert_allclose(sdgrad.grad(f)(GOOD, "a"), np.ones(3))


def between(x, p):
    q = x[0] + 0.1 * p
    k = np.clip(np.searchsorted(x, q, side="right") - 1, 0, 1)
    s = (x[1:] - x[:-1])[k] * (q - x[k])
    assert not np.any(q > x[-1]), "beyond the last"
    assert not np.any(q < x[0])
    return s


def test_several_checks_of_a_derivative_inside():
    """They share one number, which a nest reads after it has written it."""

    def pulled(x, p, g):
        return sdgrad.vjp(between, x, p)[1](g)[0]

    x, p = np.array([0.0, 1.0, 3.0]), np.linspace(0.1, 20.0, 12)
    compiled = sdgrad.compile_forward(pulled)
    np.testing.assert_allclose(compiled(x, p, p), sdgrad.vjp(between, x, p)[1](p)[0])
    with pytest.raises(AssertionError, match="beyond the last"):
        compiled(x, 10 * p, p)


def demanding(A, b):
    scaled = A * 2.0
    return np.sum(np.linalg.solve(scaled, b)) + np.sum(np.linalg.cholesky(A @ A.T))


def searching(x):
    return scipy.optimize.brentq(lambda t: t * t - x, 0.0, 1.0)


SHOWN = [
    (demanding, (np.zeros((2, 2)), np.ones(2)), np.linalg.LinAlgError, "np.linalg.solve(scaled, b)", "Singular matrix"),
    (searching, (4.0,), ConvergenceError, "brentq(lambda t", "signs at the ends"),
]  # fmt: skip


@pytest.mark.parametrize("case", SHOWN, ids=lambda case: case[0].__name__)
def test_what_a_function_demands_shows_the_line(case):
    f, args, kind, line, told = case
    with pytest.raises(kind) as raised:
        sdgrad.grad(f)(*args)
    where, shown, message = str(raised.value).split("\n", 2)
    assert where.startswith("test_checks.py:") and line in shown and told in message
