"""Medians and quantiles of many elements, which are found without ordering all: NumPy's numbers, JAX's gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.record.functions.sorting import SELECTED

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((SELECTED + 88, 3)), RNG.standard_normal(2 * SELECTED + 1)
EQUAL = np.where(np.arange(len(A))[:, None] % 3 > 0, 0.5, A)


@pytest.fixture(autouse=True)
def compiled_soon():
    with sdgrad.config.override(optimization_level=0):
        yield


def statistics(a, b):
    return (
        np.median(a, 0),
        np.median(b),
        np.median(a, axis=(0, 1), keepdims=True),
        np.median(a.astype(np.float32), axis=0),
        np.quantile(a, [0.1, 0.5, 0.99], axis=0),
        np.quantile(b, 0.3),
        np.quantile(b, np.array([0.0, 1.0])),
        np.quantile(a, 0.25, axis=0, method="lower"),
        np.quantile(a.T, 0.5, axis=1, keepdims=True),
        np.percentile(b, [5, 95], method="hazen"),
    )


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (A, B),
        (EQUAL, np.round(B)),
        (np.ones_like(A), 1.0 + 1e-9 * B),
        (np.where(A > 0.0, np.inf, A), np.where(B > 1.0, -np.inf, B)),
        (np.where(A[7, 1] == A, np.nan, A), np.where(B[3] == B, -np.nan, B)),
        (1e-310 * A, np.where(B > 0.0, 0.0, -0.0)),
    ],
    ids=["usual", "equal", "near", "infinite", "nan", "small"],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_numbers_are_those_of_numpy(a, b):
    for found, wanted in zip(sdgrad.compile_forward(statistics)(a, b), statistics(a, b), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=1e-320)
        assert found.dtype == wanted.dtype


def total(xp, a, b):
    return (
        xp.sum(xp.median(a, 0) ** 2)
        + xp.quantile(b, 0.3) ** 2
        + xp.sum(xp.quantile(a, np.array([0.1, 0.9]), axis=0) ** 3)
    )


def test_gradients_are_those_of_jax():
    found = sdgrad.grad(lambda a, b: total(np, a, b), wrt=("a", "b"))(A, B)
    wanted = jax.grad(lambda a, b: total(jnp, a, b), (0, 1))(A, B)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-12, atol=1e-14)


def test_of_equal_elements_the_gradient_is_that_of_the_one_in_order():
    """As where all are ordered: equal ones keep their order."""
    few = np.zeros(SELECTED + 10)
    rank = (len(few) - 1) // 4
    found = sdgrad.grad(lambda x: np.quantile(x, 0.25, method="lower"))(few)
    assert found[rank] == 1.0 and found.sum() == 1.0


def test_forward_mode_and_second_order():
    middle, direction = int(np.argsort(B)[len(B) // 2]), RNG.standard_normal(len(B))
    value, slope = sdgrad.jvp(lambda b: np.median(b**3), (B,), (direction,))
    np.testing.assert_allclose([value, slope], [B[middle] ** 3, 3.0 * B[middle] ** 2 * direction[middle]], rtol=1e-14)
    wanted = np.zeros((len(B), len(B)))
    wanted[middle, middle] = 6.0 * B[middle]
    np.testing.assert_allclose(sdgrad.hessian(lambda b: np.median(b**3))(B), wanted, rtol=1e-14)
