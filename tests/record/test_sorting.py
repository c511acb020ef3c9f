"""Orders, searches and interpolation of many elements: beside NumPy's, gradients by permutations and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)
SPECIAL = np.array([np.nan, 1.0, -0.0, 0.0, np.inf, -np.inf, -np.nan, 1.0] * 5)
TYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool")
WEIGHTS = RNG.standard_normal(2000)


def orders(x):
    return np.argsort(x, kind="stable"), np.argsort(x, axis=0, kind="stable"), np.argsort(x, axis=None, kind="stable")


def places(s, x):
    return np.searchsorted(s, x), np.searchsorted(s, x, "right"), np.searchsorted(s, x[3]), s[np.searchsorted(s, s[:5])]


@pytest.mark.parametrize("dtype", TYPES)
def test_orders_and_places_of_all_types(dtype):
    x = (RNG.standard_normal((40, 33)) * 50).astype(dtype)
    for found, wanted in zip(sdgrad.compile_forward(orders)(x), orders(x), strict=True):
        np.testing.assert_array_equal(found, wanted)
    s, v = np.sort(x[0]), x[:, 1]
    for found, wanted in zip(sdgrad.compile_forward(places)(s, v), places(s, v), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_what_is_no_number_comes_last():
    np.testing.assert_array_equal(sdgrad.compile_forward(orders)(SPECIAL[None])[0], orders(SPECIAL[None])[0])
    s = np.sort(SPECIAL)
    for found, wanted in zip(sdgrad.compile_forward(places)(s, SPECIAL), places(s, SPECIAL), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("n", [17, 512, 513, 2000])
def test_gradient_of_sorting_permutes(n):
    x = RNG.standard_normal(n).round(2)  # some are equal
    wanted = np.empty(n)
    wanted[np.argsort(x, kind="stable")] = WEIGHTS[:n]
    np.testing.assert_array_equal(sdgrad.grad(lambda x: np.sum(np.sort(x) * WEIGHTS[:n]))(x), wanted)


def test_second_order_and_forward_mode():
    x = RNG.standard_normal((20, 3))
    check_grads(lambda x: np.sum(np.sort(x, axis=0) ** 3 * WEIGHTS[:3]), (x,), order=2, modes=("rev", "fwd"))
    check_grads(lambda x: np.quantile(x, 0.3) * np.median(x), (x,), order=2)


def test_places_of_the_program_are_inside():
    """No second look at places that a function computed; those that the program changes are looked at."""

    def moved(x, k):
        order = np.argsort(x)
        order[0] = k
        return np.sum(x[order])

    x = RNG.standard_normal(30)
    gradient = sdgrad.value_and_grad(moved, wrt="x")
    np.testing.assert_allclose(gradient(x, 3)[0], moved(x, 3), rtol=1e-14)
    with pytest.raises(IndexError, match="out of bounds"):
        gradient(x, 30)


def test_order_of_a_row_in_a_loop():
    def summed(A, np=np):
        total = 1.0
        for k in range(A.shape[0]):
            total += np.sort(A[k] * total)[20] ** 2
        return total

    A = RNG.standard_normal((3, 40))
    wanted = jax.grad(lambda A: summed(A, jnp))(A)
    np.testing.assert_allclose(sdgrad.grad(lambda A: summed(A))(A), wanted, rtol=1e-12)


def test_orders_of_many_elements_that_differ_in_their_last_bits():
    """More than 512 elements are ordered by the first bits of their keys, and then by the others."""
    count = 3000
    noise = RNG.standard_normal(count)
    near = np.where(noise > 1.5, 1e-300 * noise, 1.0 + 1e-14 * noise)  # long runs of equal first bits
    pairs = np.where(
        noise > 0.0, 2.0 ** np.floor(300.0 * noise), 1.0 + 2.0**-40 * np.floor(900.0 * noise)
    )  # short ones
    rows = np.stack([near, pairs, noise, np.ones(count), np.where(noise > 0.0, np.nan, -0.0), np.sort(noise)])
    order = sdgrad.compile_forward(lambda x: np.argsort(x, axis=1, kind="stable"))
    for x in (rows, -rows):
        np.testing.assert_array_equal(order(x), np.argsort(x, axis=1, kind="stable"))
    whole = np.where(noise > 1.5, np.iinfo(np.int64).min + 5, 10**15 + (100.0 * noise).astype(np.int64))
    order = sdgrad.compile_forward(lambda x: np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(order(whole), np.argsort(whole, kind="stable"))


def test_searches_in_arrays_of_all_lengths():
    """They halve together, 64 at a time; of long arrays that few search, what is not read is not copied."""
    search = sdgrad.compile_forward(lambda s, x: (np.searchsorted(s, x), np.searchsorted(s, x, "right")))
    with sdgrad.config.override(optimization_level=0):
        for n, m in ((1, 130), (2, 64), (7, 65), (200, 1), (200, 200), (500, 63)):
            s = np.sort(np.round(RNG.standard_normal(n), 1))
            x = np.concatenate([s[: m // 2], np.round(RNG.standard_normal(m - min(n, m // 2)), 1)])[:m]
            for found, side in zip(search(s, x), ("left", "right"), strict=True):
                np.testing.assert_array_equal(found, np.searchsorted(s, x, side))


def between(x, xp, fp):
    return np.sum(np.interp(x, xp, fp) ** 2 + np.interp(x, xp, fp, left=fp[1], right=0.0))


def test_interpolation():
    xp, fp, x = np.sort(RNG.standard_normal(10)), RNG.standard_normal(10), RNG.standard_normal(20) * 2
    check_grads(between, (x, xp, fp), order=2, modes=("rev", "fwd"))
    at = np.concatenate([x, xp, [np.nan, np.inf, -np.inf]])
    for values in (fp, fp + 1j * xp):
        found = sdgrad.compile_forward(np.interp)(at, xp, values)
        np.testing.assert_allclose(found, np.interp(at, xp, values), rtol=1e-13)


def test_slope_at_a_point_is_that_after_it():
    xp, fp = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0])
    at = np.array([-0.5, 0.0, 1.0, 2.0, 2.5])
    found = sdgrad.grad(lambda x: np.sum(np.interp(x, xp, fp)))(at)
    np.testing.assert_array_equal(found, [0, 1, 2, 2, 0])
