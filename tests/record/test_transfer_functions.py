"""Transfer functions by factors, and by zeros and poles: SciPy's, and derivatives by differences."""

import numpy as np
import pytest
from scipy import signal

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

ZEROS, POLES = np.array([2.0, 6.0, -0.3]), np.array([0.5, 0.8])
PAIR = np.array([0.3 + 0.4j, 0.3 - 0.4j])


def same(f, *args):
    for found, wanted in zip(sdgrad.compile_forward(f)(*args), f(*args), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_factors():
    same(signal.zpk2tf, ZEROS, POLES, 5.0)
    same(lambda z, k: signal.zpk2tf(np.stack([z, z**2]), POLES, np.array([k, k**2])), ZEROS, 5.0)
    same(lambda p, k: signal.zpk2tf([], p, k), POLES, 3.0)
    same(lambda k: signal.zpk2tf([1, 2], PAIR, k), 3.0)
    check_grads(signal.zpk2tf, (ZEROS, POLES, 5.0), modes=("rev", "fwd"))
    check_grads(lambda z, k: np.sum(signal.zpk2tf(np.stack([z, z**2]), PAIR, k)[0] ** 2), (ZEROS, 5.0), 2)


def test_zeros_and_poles():
    b, a = np.array([3.0, 0.4, 1.1]), np.array([2.0, 5.0, 13.0, 1.0])
    same(signal.tf2zpk, b, a)
    same(lambda a: signal.tf2zpk([2, 0, 0], a), a)

    def real(b, a):
        z, p, k = signal.tf2zpk(b, a)
        return np.sum(z.imag**2) + np.sum(np.abs(p) ** 3) + k**2

    check_grads(real, (b, a), 2)


def test_a_filter_there_and_back():
    def f(b, a):
        z, p, k = signal.tf2zpk(b, a)
        return np.abs(k) * np.prod(np.abs(np.exp(0.3j) - z)) / np.prod(np.abs(np.exp(0.3j) - p))

    b, a = np.array([0.3, 0.5, 0.2]), np.array([1.0, -0.4, 0.3])
    check_grads(f, (b, a), reference=lambda b, a: np.abs(np.polyval(b, np.exp(0.3j)) / np.polyval(a, np.exp(0.3j))))


def test_refusals():
    with pytest.raises(ParseError, match=r"np\.convolve"):
        sdgrad.grad(lambda x: np.sum(signal.zpk2tf(x * PAIR, POLES, 1.0)[0].real))(1.0)
    with pytest.raises(ValueError, match="first factors must not be zero"):
        sdgrad.compile_forward(signal.tf2zpk)(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    with pytest.raises(ParseError, match="write a loop"):
        sdgrad.compile_forward(signal.tf2zpk)(np.ones((2, 2)), np.array([1.0, 2.0]))
