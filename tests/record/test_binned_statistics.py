"""Statistics of the values in bins: SciPy's, and derivatives by differences."""

import numpy as np
import pytest
from scipy import stats

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

RNG = np.random.default_rng(6)
X, V = RNG.random(12) * 4.0, RNG.standard_normal(12)
EDGES = np.array([0.2, 1.0, 2.5, 3.0, 4.0])


@pytest.mark.parametrize("statistic", ["mean", "sum", "count", "std"])
@pytest.mark.parametrize(
    "how", [{"bins": EDGES}, {"bins": 3, "range": (0.0, 4.0)}, {"bins": 4}, {"bins": 2, "range": [(1, 3)]}]
)
def test_values_and_derivatives(statistic, how):
    def f(x, v):
        return stats.binned_statistic(x, v, statistic, **how)

    for found, wanted in zip(sdgrad.compile_forward(f)(X, V), f(X, V), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    if statistic != "count":
        check_grads(lambda v: f(X, v).statistic, (V,), modes=("rev", "fwd"))


def test_places_on_edges_and_bins_without_any():
    x = np.array([0.0, 1.0, 1.0, 2.5, 4.0, 4.0 + 1e-9, 4.1, -0.1])
    f = lambda v: stats.binned_statistic(x, v, bins=EDGES)  # noqa: E731
    v = np.arange(1.0, 9.0)
    for found, wanted in zip(sdgrad.compile_forward(f)(v), f(v), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    given = lambda x, v: stats.binned_statistic(x, v, bins=EDGES)  # noqa: E731
    for found, wanted in zip(sdgrad.compile_forward(given)(x, v), given(x, v), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    slope = sdgrad.grad(lambda v: np.nansum(f(v).statistic))(v)
    assert np.allclose(slope, [0, 0.5, 0.5, 1, 0.5, 0.5, 0, 0])


def test_several_rows_of_values():
    f = lambda v: stats.binned_statistic(X, [v, v**2], "mean", EDGES)[0]  # noqa: E731
    assert sdgrad.compile_forward(f)(V).shape == (2, 4)
    check_grads(f, (V,))


def test_others_are_refused():
    for statistic in ("median", np.ptp):
        with pytest.raises(ParseError, match="by a mask"):
            sdgrad.grad(lambda v, s=statistic: np.sum(stats.binned_statistic(X, v, s)[0]))(V)
    with pytest.raises(AttributeError, match="must match"):
        sdgrad.grad(lambda v: np.sum(stats.binned_statistic(X[:3], v)[0]))(V)
