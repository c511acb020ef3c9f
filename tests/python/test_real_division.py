"""``//``, ``%`` and ``divmod`` of real numbers, which divide exactly in Python and NumPy; means in half precision."""

import numpy as np
import pytest

import sdgrad

PAIRS = [
    (1.0, 0.1), (-1.0, 0.1), (5.0, 0.0), (np.inf, 2.0), (2.0, np.inf), (-2.0, np.inf), (0.3, 0.1), (-0.3, 0.1),
    (6.0, -2.5), (0.0, -1.0), (1e300, 1e-10), (np.nan, 1.0), (7.5, 2.5),
]  # fmt: skip


def all_of(a, b):
    quotient, rest = divmod(a, b)
    return a // b, a % b, np.floor_divide(a, b), np.remainder(a, b), np.mod(a, b), quotient, rest


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quotients_and_rests(dtype):
    with np.errstate(over="ignore"):
        a, b = (np.array(x, dtype) for x in zip(*PAIRS, strict=True))
    for found, wanted in zip(sdgrad.compile_forward(all_of)(a, b), all_of(a, b), strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == dtype


def test_slopes():
    def f(a, b):
        return np.sum(a % b) + np.sum(a // b)

    a, b = np.array([1.0, 7.3, -2.0]), np.array([0.1, 2.0, -0.7])
    by_a, by_b = sdgrad.grad(f, wrt=("a", "b"))(a, b)
    np.testing.assert_array_equal(by_a, np.ones(3))
    np.testing.assert_array_equal(by_b, -(a // b))


def test_means_in_half_precision():
    """Their sum is beyond the largest half, and so is the number of elements here."""
    a = np.full(70_000, 100, np.float16)
    value, found = sdgrad.value_and_grad(np.mean)(a)
    assert value == 100
    assert value.dtype == found.dtype == np.float16
    np.testing.assert_array_equal(found, np.full(70_000, 1 / 70_000, np.float16))
