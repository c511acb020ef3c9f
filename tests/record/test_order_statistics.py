"""Statistics of SciPy that order samples or fit a line, and a quadrature: values of SciPy's, and differences."""

import numpy as np
import pytest
import scipy.integrate as integrate
import scipy.special as special
import scipy.stats as stats

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

rng = np.random.default_rng(0)
X, A = rng.standard_normal(9), rng.standard_normal((4, 5))


def ordered(x, a):
    return np.array([
        stats.trim_mean(x, 0.2), stats.iqr(x), stats.median_abs_deviation(x), stats.moment(x, 3),
        np.sum(stats.trim_mean(a, 0.3, axis=1) ** 2),
        np.sum(stats.iqr(a, axis=1, rng=(10, 80), scale="normal", interpolation="midpoint", keepdims=True) ** 2),
        stats.median_abs_deviation(a, axis=None, center=np.mean, scale="normal"),
        np.sum(stats.moment(a, order=2, axis=1, center=0.3) ** 2), stats.moment(x, 1),
    ])  # fmt: skip


def fitted(x, y):
    slope, intercept, r, p, error = stats.linregress(x, y)
    return slope * intercept + r + p + error**2


def squares(x, a):
    return np.sum(ordered(x, a) ** 2)


def quadrature(a, b):
    return integrate.fixed_quad(lambda s, p: np.exp(-p * s * s), 0, b, args=(a,), n=4)[0]


def test_values_and_gradients():
    found = sdgrad.compile_forward(ordered)
    np.testing.assert_allclose(found(X, A), ordered(X, A), rtol=1e-12, atol=1e-15)
    assert sdgrad.value_and_grad(fitted)(X, X**2)[0] == pytest.approx(fitted(X, X**2))
    assert sdgrad.value_and_grad(quadrature)(1.3, 0.7)[0] == pytest.approx(quadrature(1.3, 0.7))
    check_grads(squares, (X, A), wrt=("x", "a"))
    check_grads(fitted, (X, X**2), wrt=("x", "y"), order=2)
    check_grads(quadrature, (1.3, 0.7), wrt=("a", "b"), order=2)


def test_single_precision_is_kept():
    def f(x):
        return stats.iqr(x), stats.trim_mean(x, 0.2), stats.moment(x, 2), stats.median_abs_deviation(x)

    x = X.astype(np.float32)
    for found, wanted in zip(sdgrad.compile_forward(f)(x), f(x), strict=True):
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


REFUSED = {
    "several orders": lambda x: stats.moment(x, [1, 2])[0],
    "two points": lambda x: stats.linregress(x[:2], x[1:3])[0],
    "scipy.stats.weightedtau has no derivative": lambda x: stats.weightedtau(x, x)[0] * x[0],
    "scipy.special.kolmogorov has no derivative": lambda x: np.sum(special.kolmogorov(x)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(REFUSED[message])(X)


def test_points_that_are_one_have_no_line():
    with pytest.raises(ValueError, match="all x values are identical"):
        sdgrad.grad(fitted)(np.ones(4), X[:4])
