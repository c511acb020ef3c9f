"""What is not a number stays so where NumPy and Python keep it: extremes, order, signs, places."""

import numpy as np
import pytest
from scipy import special

import sdgrad
from sdgrad.config import config

POINTS = np.arange(3.0)
MISSING = [1.0, np.nan, 2.0]
GROUPS = {
    "extremes": [
        lambda x: np.maximum(x, 1.5),
        lambda x: np.maximum(1.5, x),
        lambda x: np.minimum(x, 1.5),
        lambda x: np.minimum(1.5, x),
        lambda x: np.maximum(x, x[::-1]),
        lambda x: np.minimum(x[::-1], x * x),
        lambda x: np.clip(x, 0.0, 1.5),
        lambda x: np.clip(1.0, x, 3.0),
        lambda x: np.clip(x * 2, x[::-1], None),
        lambda x: np.fmax(x, 1.5),
        lambda x: np.fmin(x, x[::-1]),
    ],
    "Python": [
        lambda x: max(x[0], x[1]),
        lambda x: max(x[1], x[0]),
        lambda x: min(x[0], x[1]),
        lambda x: min(x[1], x[0]),
        lambda x: max(x[0], x[1], x[2]),
        lambda x: max(1.0, x[1]),
        lambda x: min(x[1], 1.0),
    ],
    "reductions": [
        np.max,
        np.min,
        np.ptp,
        np.nanmax,
        np.nanmin,
        lambda x: np.max(x.reshape(1, 3), axis=0),
        lambda x: np.min(x.reshape(3, 1), axis=0),
        lambda x: np.max(x, initial=5.0),
        lambda x: np.max(x, where=np.array([True, False, True]), initial=0.0),
        lambda x: np.linalg.norm(x, np.inf),
        lambda x: np.linalg.norm(x, -np.inf),
        np.maximum.accumulate,
        special.logsumexp,
    ],
    "order": [
        np.sort,
        lambda x: np.argsort(x) * 1.0,
        np.median,
        lambda x: np.median(x[::2]),
        lambda x: np.quantile(x, 0.25),
        lambda x: np.argmax(x) + 0 * x[0],
        lambda x: np.argmin(x) + 0 * x[0],
        lambda x: np.searchsorted(POINTS, x) * 1.0,
        lambda x: np.searchsorted(POINTS, x, "right") * 1.0,
        lambda x: np.searchsorted(np.array([0.0, 1.0, np.nan]), x) * 1.0,
        lambda x: np.digitize(x, POINTS) * 1.0,
        lambda x: np.interp(x, POINTS, POINTS**2),
    ],
    "signs": [
        np.sign,
        np.abs,
        lambda x: np.heaviside(x, 0.5),
        np.round,
        np.nan_to_num,
        lambda x: np.isclose(x, x) * 1.0,
    ],
}


@pytest.fixture(autouse=True)
def _as_compiled(monkeypatch):
    monkeypatch.setattr(config, "verify", "never")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("group", GROUPS)
def test_values_are_those_of_numpy(group, dtype):
    def together(x):
        return tuple(f(x) for f in GROUPS[group])

    x = np.array(MISSING, dtype)
    found, wanted = sdgrad.compile_forward(together)(x), together(x)
    for k, (own, numpys) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_allclose(own, numpys, rtol=1e-6, err_msg=f"number {k} of {group}")


@pytest.mark.parametrize("n", [3, 1000])
def test_a_maximum_in_lanes_keeps_it_wherever_it_is(n):
    """Loops over many elements are reduced in lanes, and the last elements otherwise."""
    largest = sdgrad.compile_forward(lambda x: np.max(x * 2.0) + np.min(x))
    for place in (0, 1, n // 2, n - 1):
        x = np.linspace(-1, 1, n)
        x[place] = np.nan
        assert np.isnan(largest(x)), place


def test_gradients_pass_to_the_operand_that_is_none():
    gradient = sdgrad.grad(lambda x: np.sum(np.maximum(x, 1.5) + np.minimum(x, 5.0)))
    np.testing.assert_array_equal(gradient(np.array(MISSING)), [1.0, 2.0, 2.0])
    by_both = sdgrad.grad(lambda x, y: np.sum(np.maximum(x, y)), wrt=(0, 1))(np.array(MISSING), np.ones(3))
    np.testing.assert_array_equal(by_both, [[0.5, 0.5, 1.0], [0.5, 0.5, 0.0]])


def test_no_gradient_is_a_plausible_zero():
    root = sdgrad.grad(lambda x: np.sum(np.maximum(np.sqrt(x), x * 0 + 0.5)))
    np.testing.assert_array_equal(root(np.array([4.0, -1.0])), [0.25, np.nan])
    root = sdgrad.grad(lambda x: np.max(np.sqrt(x)))
    assert np.isnan(root(np.array([4.0, -1.0]))[1])


def test_an_extreme_that_is_not_chosen_is_nothing():
    def masked(x):
        return np.where(np.any(np.isnan(x)), np.sum(np.nan_to_num(x) ** 2), np.max(x))

    np.testing.assert_array_equal(sdgrad.grad(masked)(np.array(MISSING)), [2.0, 0.0, 4.0])


def test_the_derivative_of_a_modulus_is_none_where_it_is_none():
    x, wanted = np.array([-2.0, np.nan, 0.0]), [-1.0, np.nan, 0.0]
    np.testing.assert_array_equal(sdgrad.grad(lambda x: np.sum(np.abs(x)))(x), wanted)
    np.testing.assert_array_equal(sdgrad.jvp(np.abs, (x,), (np.ones(3),))[1], wanted)
