"""Limits for loops of few trips in loops: a state takes more than the tapes of all trips."""

from __future__ import annotations

import numpy as np
import pytest

import sdgrad


def few_inside(u):
    for _ in range(50):
        for i in range(3):
            u[i + 1] = np.sin(u[i + 1]) * u[i]
    return np.sum(u)


def gauss_seidel(u):
    for _ in range(50):
        for i in range(1, 4):
            u[i] = 0.25 * (u[i - 1] + np.sin(u[i]) + u[i + 1])
    return np.sum(u * u)


def with_break(u):
    for _ in range(60):
        for i in range(3):
            u[i + 1] = 0.9 * np.sin(u[i + 1]) + 0.01 * u[i]
        if u[2] < 0.3:
            break
    return np.sum(u * u)


def without_end(u):
    while u[0] > 0.5:
        for _ in range(3):
            u[0] = 0.9 * np.sin(u[0])
    return np.sum(u * u)


def large_states(u):
    for _ in range(40):
        for i in range(3):
            u[i] = np.sin(u[i]) * u[i + 1] + 0.1 * np.mean(u)
    return np.sum(u)


@pytest.mark.parametrize("f", [few_inside, gauss_seidel, with_break, without_end, large_states])
def test_the_least(f):
    """The plan with the least memory is found, and its gradient is that of all tapes."""
    u = np.random.default_rng(0).random(500 if f is large_states else 5) + 0.8
    whole, plan = sdgrad.grad(f)(u), sdgrad.memory_plan(f, u, points=3)
    assert plan.least <= plan.points[0].bytes
    for limit in ("min", plan.points[0].bytes):
        assert np.allclose(sdgrad.grad(f, memory_limit=limit)(u), whole, rtol=1e-12, atol=1e-15)
    _, pullback = sdgrad.vjp(f, u, memory_limit="min")
    assert np.allclose(pullback(1.0)[0], whole, rtol=1e-12, atol=1e-15)


def attend(x, w):
    for t in range(6):
        s = x @ x.T
        p = np.exp(s - np.max(s, axis=1, keepdims=True))
        p = p / np.sum(p, axis=1, keepdims=True)
        x = np.tanh(p @ x * w[t])
    return np.sum(x)


def test_rows_of_a_softmax_are_for_one_trip():
    """Arrays that a map over rows writes, with sums inside, had been live in all trips of the loops around."""
    curve = sdgrad.memory_plan(attend, np.ones((64, 8)), np.ones(6), points=2)
    assert curve.least < 6 * 64 * 64 * 8
