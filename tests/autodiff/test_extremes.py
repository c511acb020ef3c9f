"""Gradients of maxima of computed values, compiled as users compile: the compiler may round two loops differently."""

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config


def of_a_sum(q):
    return 1.0 / (np.exp(q[0]) + q[1]).max()


def normalised(q):
    s = (q[1] / q[0] * q[2] + q[1] * q[1]).max()
    return np.sum(q / s)


def in_a_loop(q):
    s = 0.0
    for _ in range(3):
        m = (q[1] / q[0] * q[2] + q[1] * q[1]).max()
        q = q / m
        s = s + m
    return s


def of_rows(q):
    return np.sum(np.max(q * q / (1 + q), axis=1) ** 2)


def between(q):
    return np.ptp(q[1] / q[0] + q[1])


@pytest.mark.parametrize("f", [of_a_sum, normalised, in_a_loop, of_rows, between])
def test_against_differences(f):
    with config.override(optimization_level=3):
        gradient = sdgrad.grad(f)
        for seed in range(60):
            rng = np.random.default_rng(seed)
            q, d = rng.uniform(0.5, 1.5, (3, 13)), rng.standard_normal((3, 13))
            wanted = (f(q + 1e-6 * d) - f(q - 1e-6 * d)) / 2e-6
            assert np.sum(gradient(q) * d) == pytest.approx(wanted, rel=1e-4, abs=1e-4), seed
