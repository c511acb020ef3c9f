"""Derivatives by the parameters of distributions: by differences, by quantiles in mpmath, by expectations, by JAX."""

import jax
import mpmath as mp
import numpy as np
import pytest

import sdgrad
from sdgrad import random
from sdgrad.testing import check_grads

KEY = random.key(99)
A, B = np.array([0.6, 0.9, 2.5, 7.0]), np.array([1.5, 3.0, 0.7, 2.0])
C = np.array([[2.0, 0.3], [0.3, 1.0]])


# -- transformations of numbers that the parameters do not change
def location_and_scale(a, b):
    first, second, third = random.split(KEY, 3)
    x = a + b * random.normal(first, a.shape)
    y = a * random.logistic(second, (2, 4)) - b * random.gumbel(third, (4,)) * random.laplace(first)
    return np.sum(x**2 * a) + np.sum(y**2)


def bounds(a, b):
    first, second, third = random.split(KEY, 3)
    inside = random.uniform(first, (3, 4), minval=-a, maxval=b) + random.triangular(second, -a, 0.3 * b, 2 * b)
    cut = random.truncated_normal(third, -a, b) + random.truncated_normal(first, 3 * a, np.inf)
    far = random.truncated_normal(second, 20 + a, 20 + a + b) - random.truncated_normal(second, -np.inf, -a - 9)
    return np.sum(inside**3) + np.sum(cut**2) + np.sum(far**2)


def shapes(a, b):
    first, second, third = random.split(KEY, 3)
    x = random.weibull_min(first, a, b) + random.rayleigh(second, a) * random.lognormal(third, 0.2 * b, (2, 4))
    return np.sum(x**2) + np.sum(np.log(random.pareto(third, a))) * np.sum(random.exponential(first, 3) * b[0])


def vectors(a, c):
    x = random.multivariate_normal(KEY, a[:2], c @ c.T + np.eye(2), (3,))
    y = random.gumbel_softmax(KEY, c, 0.7, axis=0) ** 2
    return np.sum(x**3) + np.sum(y * np.array([1.0, 3.0]))


def picked(a, c):
    order = random.permutation(KEY, a)
    some = random.choice(KEY, a, (3,), p=B) * random.choice(random.fold_in(KEY, 1), c, (3,), axis=1)
    kept = np.where(random.bernoulli(KEY, 0.5, c.shape), c, 0.0)
    return np.sum(order[:2] ** 2) + np.sum(some**2) + np.sum(kept**3) + a[random.categorical(KEY, np.log(B))] ** 2


@pytest.mark.parametrize(("f", "x"), [(location_and_scale, (A, B)), (bounds, (A, B)), (shapes, (A, B))])
def test_transformations(f, x):
    check_grads(f, x, order=2)


@pytest.mark.parametrize("f", [vectors, picked])
def test_vectors_and_choices(f):
    check_grads(f, (A, C), order=2)


def test_an_open_bound_has_no_derivative():
    slope = sdgrad.grad(lambda a, b: np.sum(random.truncated_normal(KEY, a, b, (9,))), wrt=("a", "b"))(-np.inf, 0.5)
    assert slope[0] == 0 and 0 < slope[1] < 9


# -- the gamma family: a number moves so that its probability stays the same
WIDE = np.array([0.05, 0.2, 0.7, 1.0, 1.8, 6.0, 9.9, 10.1, 40.0, 400.0, 1e4])


def quantile(a, z, logarithm):
    """The function of a that stays where z is of a, in probability; or its logarithm."""
    p, upper = mp.gammainc(a, 0, z, regularized=True), z > a

    def at(t):
        def miss(x):
            own = mp.exp(x)
            if upper:
                return mp.gammainc(t, own, mp.inf, regularized=True) - (1 - p)
            return mp.gammainc(t, 0, own, regularized=True) - p

        found = mp.findroot(miss, mp.log(z), tol=1e-40)
        return found if logarithm else mp.exp(found)

    return at


def drawn(a):
    return random.gamma(KEY, a)


def drawn_logarithms(a):
    return random.loggamma(KEY, a)


def slopes(f, a):
    """Values, and derivatives of orders one and two, each in a mode of its own."""
    ones = np.ones_like(a)
    value, pullback = sdgrad.vjp(f, a)
    second = sdgrad.jvp(lambda a: sdgrad.jvp(f, (a,), (ones,))[1], (a,), (ones,))[1]
    return value, pullback(ones)[0], sdgrad.jvp(f, (a,), (ones,))[1], second


@pytest.mark.parametrize("f", [drawn, drawn_logarithms])
def test_gamma_moves_along_quantiles(f):
    value, reverse, forward, second = slopes(f, WIDE)
    assert np.array_equal(value, f(WIDE)) and np.allclose(reverse, forward, rtol=1e-14)
    is_log = f is drawn_logarithms
    with mp.workdps(50):
        for a, z, d, dd in zip(WIDE, value, reverse, second, strict=True):
            path = quantile(mp.mpf(a), mp.exp(mp.mpf(z)) if is_log else mp.mpf(z), is_log)
            h = mp.mpf(a) * mp.mpf(10) ** -8
            before, here, after = (path(a + k * h) for k in (-1, 0, 1))
            assert abs(d / float((after - before) / (2 * h)) - 1) < 1e-11
            assert abs(dd / float((after - 2 * here + before) / h**2) - 1) < (1e-9 if a < 100 else 1e-6)


def test_gamma_as_in_jax():
    a = np.array([0.1, 0.5, 2.0, 30.0])
    z = drawn(a)
    assert np.allclose(sdgrad.vjp(drawn, a)[1](np.ones(4))[0], jax.lax.random_gamma_grad(a, z), rtol=1e-6)


def test_hessian_of_gamma():
    """Forward over reverse, by the derivatives of each draw."""

    def f(a):
        return np.sum(np.sin(random.gamma(KEY, a)) * a)

    a = np.array([0.3, 1.7, 5.0])
    z, d, _, dd = slopes(drawn, a)
    expected = -np.sin(z) * d**2 * a + np.cos(z) * (dd * a + 2 * d)
    assert np.allclose(sdgrad.hessian(f)(a), np.diag(expected), rtol=1e-12)


def test_single_precision():
    a = A.astype(np.float32)
    found = sdgrad.grad(lambda a: np.sum(random.gamma(KEY, a, dtype=np.float32) ** 2))(a)
    exact = sdgrad.grad(lambda a: np.sum(random.gamma(KEY, a) ** 2))(a.astype(float))
    assert found.dtype == np.float32 and np.allclose(found, exact, rtol=1e-5)


def test_small_shapes_have_finite_derivatives():
    """Where numbers underflow, and shares would be 0/0."""
    tiny = np.array([1e-4, 3e-4, 1e-3])
    assert random.gamma(KEY, tiny).min() == 0
    assert np.isfinite(sdgrad.grad(lambda a: np.sum(random.gamma(KEY, a)))(tiny)).all()
    for f in (
        lambda a: np.sum(random.dirichlet(KEY, a, (50,)) * np.arange(3.0)),
        lambda a: np.sum(random.beta(KEY, a, a[::-1], (50, 3)) ** 2),
    ):
        assert np.isfinite(f(tiny)) and np.isfinite(sdgrad.grad(f)(tiny)).all()


MANY = 100_000


def moments_of_beta(a, b):
    return np.mean(random.beta(KEY, a, b, (MANY,)) ** 2)


def moments_of_shares(a, b):
    x = random.dirichlet(KEY, np.stack([a, b, 1.5]), (MANY,))
    return np.mean(x[:, 0] * x[:, 1])


def moments_of_t(a, b):
    return np.mean(np.abs(random.t(KEY, a, (MANY,)))) + np.mean(
        random.chisquare(random.fold_in(KEY, 1), b, (MANY,)) ** 2
    )


def moments_of_f(a, b):
    return np.mean(random.f(KEY, 4 * a, 8 * b, (MANY,)))


def mean_of_t(a):
    return 2 * mp.sqrt(a) * mp.gamma((a + 1) / 2) / (mp.gamma(a / 2) * mp.sqrt(mp.pi) * (a - 1))


EXPECTED = {
    moments_of_beta: lambda a, b: a * (a + 1) / ((a + b) * (a + b + 1)),
    moments_of_shares: lambda a, b: a * b / ((a + b + 1.5) * (a + b + 2.5)),
    moments_of_t: lambda a, b: mean_of_t(a) + b * b + 2 * b,
    moments_of_f: lambda a, b: 8 * b / (8 * b - 2),
}


@pytest.mark.parametrize("f", EXPECTED)
def test_derivatives_of_expectations(f):
    """Means of derivatives are derivatives of means."""
    a, b = 3.0, 1.7
    found = sdgrad.value_and_grad(f, wrt=("a", "b"))(a, b)
    exact = EXPECTED[f]
    expected = [float(mp.diff(exact, (a, b), n)) for n in ((1, 0), (0, 1))]
    assert np.allclose(found[0], float(exact(a, b)), rtol=0.02)
    assert np.allclose(found[1], expected, rtol=0.04, atol=0.004)


def test_what_is_counted_has_no_derivative():
    """Integers and truth values are constants, in both modes."""

    def f(p):
        counts = random.poisson(KEY, 5 * p) + random.binomial(KEY, 9, p) + random.randint(KEY, (), 0, 9)
        return np.sum(counts * 1.0) + np.sum(random.bernoulli(KEY, p, (5,))) * p

    value, slope = sdgrad.value_and_grad(f)(0.4)
    assert value == f(0.4) and slope == np.sum(random.bernoulli(KEY, 0.4, (5,)))
    assert sdgrad.jvp(f, (0.4,), (1.0,))[1] == slope
