"""logsumexp with weights and signs: beside SciPy, differences, and closed forms where weights are zero."""

import numpy as np
import pytest
from references import assert_close
from scipy.special import logsumexp

import sdgrad
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)
A, B, ROW = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4)), RNG.standard_normal(4)
Z, SINGLE, WHOLE = A + 1j * B, A.astype(np.float32), np.arange(4)
HUGE, MASK, INFINITE = np.array([np.inf, 1.0, 1000.0]), np.array([0.0, 1.0, 0.0]), np.array([-np.inf, -np.inf])
NOTHING = np.zeros((2, 0))


@pytest.fixture(autouse=True)
def compiled_soon():
    with sdgrad.config.override(optimization_level=0):
        yield


def sums(a, b, row, z, single, huge, mask, infinite, nothing):
    """All of its forms."""
    found = []
    for how in ({}, {"keepdims": True}, {"return_sign": True}, {"return_sign": True, "keepdims": True}):
        for given in (
            logsumexp(a, b=b, **how), logsumexp(a, axis=1, b=b, **how), logsumexp(row, b=b, axis=0, **how),
            logsumexp(a, b=row, axis=(0, 1), **how), logsumexp(z, **how), logsumexp(z, b=b, axis=0, **how),
            logsumexp(a, b=z, axis=-1, **how), logsumexp(single, b=2.0, **how), logsumexp(single, b=WHOLE, **how),
            logsumexp(single, **how), logsumexp(huge, b=mask, **how), logsumexp(nothing, axis=1, **how),
            logsumexp(infinite, **how), logsumexp(huge, **how), logsumexp(a[:, :1], b=row, axis=1, **how),
            logsumexp(a[0], b=[1, -1, 1, 0], **how), logsumexp(a[0, 0], **how),
        ):  # fmt: skip
            found += given if isinstance(given, tuple) else [given]
    return found


def test_values():
    given = (A, B, ROW, Z, SINGLE, HUGE, MASK, INFINITE, NOTHING)
    with np.errstate(all="ignore"):
        wanted = sums(*given)
    for k, (one, other) in enumerate(zip(sdgrad.compile_forward(sums)(*given), wanted, strict=True)):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype, k
        assert_close(one, other, 1e-5 if other.dtype.itemsize == 4 else 1e-12, f"sum {k}")


def with_signs(a, b, z):
    along, signs = logsumexp(a, axis=1, b=b, return_sign=True)
    whole, phase = logsumexp(z, b=b, return_sign=True)
    return np.sum(along**2 * signs) + whole + np.real(phase) ** 3 + np.imag(logsumexp(z, axis=0)).sum()


def test_gradients():
    value = sdgrad.value_and_grad(with_signs)(A, B, Z)[0]
    assert value == pytest.approx(with_signs(A, B, Z), rel=1e-12)
    check_grads(with_signs, (A, B, Z), wrt=("a", "b", "z"), modes=("rev", "fwd"))
    check_grads(lambda a, b: logsumexp(a, b=b, return_sign=True)[0] ** 2, (A, B), wrt=("a", "b"), order=2)


def test_where_weights_are_zero():
    """What has no weight adds nothing; a weight that is zero has its derivative all the same."""
    x, weights = np.array([2.0, 1.0, 3.0]), MASK
    by_x, by_weights = sdgrad.grad(lambda x, b: logsumexp(x, b=b), wrt=("x", "b"))(x, weights)
    assert_close(by_x, [0.0, 1.0, 0.0], 1e-14, "by numbers")
    assert_close(by_weights, np.exp(x - 1.0), 1e-14, "by weights")
    by_x, by_weights = sdgrad.grad(lambda x, b: logsumexp(x, b=b), wrt=("x", "b"))(HUGE, weights)
    assert_close(by_x, [0.0, 1.0, 0.0], 1e-14, "by huge numbers")
    assert by_weights[1] == pytest.approx(1.0) and (by_weights[[0, 2]] > 1e300).all()
