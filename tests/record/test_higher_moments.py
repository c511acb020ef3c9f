"""Skewness, kurtosis and moments of distributions: SciPy's values, and derivatives by differences of these."""

import numpy as np
import pytest
from scipy import stats

import sdgrad
from sdgrad.record.functions.higher_moments import SHAPES

NUMBERS = {
    "gamma": (1.7,), "erlang": (3.0,), "chi2": (3.3,), "beta": (1.3, 2.2), "t": (5.5,), "f": (3.2, 9.5),
    "lognorm": (0.6,), "weibull_min": (1.6,), "weibull_max": (1.6,), "pareto": (5.2,), "lomax": (5.2,),
    "invgamma": (5.3,), "invgauss": (0.8,), "skewnorm": (1.7,), "loggamma": (1.4,), "powerlaw": (1.7,),
    "triang": (0.3,), "exponnorm": (1.4,), "pearson3": (0.7,), "ncx2": (3.2, 1.1), "poisson": (2.3,),
    "bernoulli": (0.3,), "binom": (7.0, 0.3), "nbinom": (3.5, 0.4), "geom": (0.3,),
}  # fmt: skip
WHOLE = {"erlang": (0,), "binom": (0,)}  # parameters that SciPy takes as whole numbers alone


def given(name):
    return NUMBERS.get(name, ())


def both(name):
    """Skewness and kurtosis, as a function of the shapes."""
    dist = getattr(stats, name)
    return lambda *p: np.array(dist(*p).stats(moments="sk"))


@pytest.mark.parametrize("name", SHAPES)
def test_skewness_and_kurtosis(name):
    dist, shapes = getattr(stats, name), given(name)

    def f(*p):
        scale = {} if isinstance(dist, stats.rv_discrete) else {"scale": 1.0 + p[-1] ** 2}
        return np.array(dist(*p[:-1], loc=p[-1], **scale).stats(moments="mvsk"))

    np.testing.assert_allclose(sdgrad.compile_forward(f)(*shapes, 0.5), f(*shapes, 0.5), rtol=1e-11, atol=1e-13)
    assert np.all(np.isnan(f(*shapes, 0.5)[2:])) or np.all(sdgrad.jacobian(f, len(shapes))(*shapes, 0.5)[2:] == 0)


@pytest.mark.parametrize("name", NUMBERS)
def test_derivatives(name):
    shapes, f = np.array(given(name)), both(name)
    for k in sorted({*range(len(shapes))} - {*WHOLE.get(name, ())}):
        step = 1e-3 * np.eye(len(shapes))[k]
        near, far = (f(*(shapes + n * step)) - f(*(shapes - n * step)) for n in (1, 2))
        wanted = (8 * near - far) / 12e-3
        np.testing.assert_allclose(sdgrad.jacobian(f, k)(*map(float, shapes)), wanted, rtol=1e-7, atol=1e-8)


def test_where_there_is_none():
    """Parameters for which SciPy has NaN or infinity."""
    names = ("t", "pareto", "lomax", "invgamma")
    f = lambda a: [v for n in names for v in getattr(stats, n)(a).stats(moments="sk")]  # noqa: E731
    for a in (0.5, 1.5, 2.5, 3.0, 3.5, 4.0, 4.5):
        np.testing.assert_allclose(sdgrad.compile_forward(f)(a), f(a), rtol=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_moments_about_zero(order):
    def f(a, m, s):
        return np.array(
            [stats.gamma(a, m, s).moment(order), stats.norm.moment(order, m, s), stats.poisson(a).moment(order)]
        )

    args = (1.7, 0.4, 1.3)
    np.testing.assert_allclose(sdgrad.compile_forward(f)(*args), f(*args), rtol=1e-12)
    for k in range(3):
        moved = [f(*(x + h * (k == j) for j, x in enumerate(args))) for h in (-2e-3, -1e-3, 1e-3, 2e-3)]
        wanted = np.dot([1, -8, 8, -1], moved) / 12e-3
        np.testing.assert_allclose(sdgrad.jacobian(f, k)(*args), wanted, rtol=1e-8, atol=1e-9)
