"""Derivatives inside of recorded functions, to any depth, compared with JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

import sdgrad
from sdgrad.errors import ParseError

X = np.array([0.5, 1.5, -0.7])


def of_a_local_function(x, d=sdgrad, np=np):
    def inner(v):
        return np.sum(v**3) * x[0]

    return np.sum(d.grad(inner)(x) * x)


def twice(x, d=sdgrad, np=np):
    return np.sum(d.grad(lambda u: np.sum(d.grad(lambda v: np.sum(v**4) * u[1])(u) * x))(x))


def in_a_loop(x, d=sdgrad, np=np):
    for _ in range(4):
        x = x - 0.1 * d.grad(lambda v: np.sum(np.cos(v) * v))(x)
    return np.sum(x * x)


def of_a_nest(x, d=sdgrad, np=np):
    p = {"a": x, "b": [x[0], 2.0 * x]}
    g = d.grad(lambda q: np.sum(q["a"] * q["b"][1]) * q["b"][0])(p)
    return np.sum(g["a"]) * g["b"][0] + np.sum(g["b"][1])


def mapped(x, d=sdgrad, np=np):
    return np.sum(d.vmap(lambda v: v * np.sin(v) * x[0])(x) ** 2)


def jacobians(x, d=sdgrad, np=np):
    return np.sum(d.jacobian(lambda v: v * v[0] + x)(x) * x)


def pulled(x, d=sdgrad, np=np):
    y, pull = d.vjp(lambda v: v * np.sin(v), x)
    return np.sum(pull(y)[0] * x)


def pushed(x, d=sdgrad, np=np):
    y, t = d.jvp(lambda v: v * np.sin(v), (x,), (x * x,))
    return np.sum(y * t)


def linearized(x, d=sdgrad, np=np):
    y, push = d.linearize(lambda v: v * np.sin(v), x)
    return np.sum(push(x * x) * y)


PROGRAMS = [of_a_local_function, twice, in_a_loop, of_a_nest, mapped, jacobians, pulled, pushed, linearized]


@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_value_and_gradient(f):
    value, gradient = sdgrad.value_and_grad(lambda x: f(x))(X)
    wanted, wanted_gradient = jax.value_and_grad(lambda x: f(x, jax, jnp))(jnp.array(X))
    assert value == pytest.approx(float(wanted), rel=1e-10)
    np.testing.assert_allclose(gradient, wanted_gradient, rtol=1e-10, atol=1e-12)


def with_a_count(x, n, places):
    """The inner function needs integers of the outer one as Python's."""

    def f(y):
        chosen = {int(k): x[k] for k in places}
        return y * sum([v * k for v in chosen.values() for k in range(1, n + 1)]) - 1.0

    return optimize.brentq(f, -50.0, 50.0)


def test_integers_of_the_function_around():
    g = sdgrad.value_and_grad(with_a_count)
    for n, places in ((2, [0, 1]), (3, [0, 1]), (2, [1, 1])):
        value, gradient = g(X, n, np.array(places))
        sums, count = np.bincount(sorted(set(places)), minlength=3), n * (n + 1) / 2
        assert value == pytest.approx(1 / (count * (sums @ X)))
        np.testing.assert_allclose(gradient, -sums / (count * (sums @ X) ** 2), rtol=1e-9)


@pytest.mark.parametrize("way", [lambda f, p: sdgrad.grad(f)(p[1]), lambda f, p: sdgrad.root(f, 1.0)])
def test_array_of_the_caller_is_not_written(way):
    """An array of known content, too: the write would be one of the recording inside, and lost."""

    def caller(p):
        log = np.zeros(3)

        def f(x):
            log[0] = x
            return x * x - p[0]

        return way(f, p) + log[0]

    with pytest.raises(ParseError, match="did not make is written"):
        sdgrad.grad(caller)(np.array([2.0, 3.0]))
