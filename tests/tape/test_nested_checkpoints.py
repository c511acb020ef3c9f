"""Loops inside of loops with checkpoints have checkpoints of their own: the same gradients in less memory."""

from dataclasses import replace

import numpy as np
import pytest
from checkpointed import every_loop, fresh, in_room_for, plan_of, stored, vectors

import sdgrad
from sdgrad.config import config
from sdgrad.tape import checkpoints
from sdgrad.testing import check_grads

N, T, K = 12, 7, 11


def relaxed(x, w):
    """Steps in time, each with sweeps: values from before and after these are needed, too."""
    y = np.copy(x)
    for t in range(T):
        source = y * w
        for _ in range(K):
            y[1:-1] = np.sin(y[1:-1] * w[1:-1]) + 0.1 * y[:-2] * y[2:] + 0.01 * source[1:-1]
        y = y * np.cos(source) + 0.01 * t * x
    return np.sum(y * y)


def solved(x, w):
    """Sweeps until nothing moves."""
    y = np.copy(x)
    for _ in range(T):
        z = np.copy(y)
        change = 1.0
        while change > 1e-3:
            new = 0.5 * np.sin(z * w) + 0.3 * y
            change = np.max(np.abs(new - z))
            z = new
        y = z + 0.1 * y * x
    return np.sum(y * y)


def until(x, w):
    """Nobody knows how often the outer loop runs."""
    y = np.copy(x)
    while np.sum(y * y) > 0.2:
        for k in range(K):
            y = 0.9 * np.sin(y * w) + 0.001 * k
    return np.sum(y)


def both_until(x, w):
    y = np.copy(x)
    s = 0.0
    while np.sum(y * y) > 0.5:
        z = np.copy(y)
        while np.max(z) > 0.3:
            z = 0.8 * np.sin(z * w)
            s += z[0] * z[-1]
        y = 0.7 * y + 0.2 * z
    return s + np.sum(y)


def three_levels(x, w):
    y = np.copy(x)
    for _ in range(4):
        for j in range(5):
            y = y * w + 0.1 * j
            for _ in range(6):
                y = np.sin(y + 0.1 * x)
        y = y * np.cos(y)
    return np.sum(y * y)


def in_a_branch(x, w):
    y = np.copy(x)
    for t in range(T):
        if y[t] > 0.3:
            for _ in range(K):
                y = np.sin(y * w)
        else:
            y = y * y + 0.4
    return np.sum(y * w)


def one_after_the_other(x, w):
    y, z = np.copy(x), np.copy(w)
    for _ in range(T):
        for _ in range(K):
            y = np.sin(y * z)
        for _ in range(K):
            z = np.cos(z * y) * w
    return np.sum(y * z)


def moving(x, w):
    """The variable of the inner loop begins where that of the outer one stands."""
    y = np.copy(x)
    for t in range(T):
        for k in range(t, t + 5):
            y[k] = np.sin(y[k] * w[t]) * y[k - 1]
            y *= 0.9 * np.cos(y)
    return np.sum(y * y)


def triangular(x, w):
    """The trips of the inner loop depend on the outer one."""
    y = np.copy(x)
    for t in range(T):
        for k in range(t + 1):
            y[k] = np.sin(y[k] * w[t]) + 0.5 * y[k - 1]
    return np.sum(y * y)


def left_early(x, w):
    y = np.copy(x)
    for _ in range(T):
        for k in range(K):
            y = np.sin(y * w)
            if y[0] < 0.05 * k:
                break
        y = y + 0.3 * x
    return np.sum(y * y)


def integers(x, w):
    """An integer that the sweeps hand on."""
    y = np.copy(x)
    at = 1
    for _ in range(T):
        for k in range(K):
            y[at] = np.sin(y[at] * y[(at + 5) % N] + w[k])
            at = (2 * at + 1) % N
    return np.sum(y * y)


def products(x, w):
    A = np.outer(x, w) * 0.1
    y = np.copy(x)
    for t in range(T):
        for _ in range(K):
            y = np.tanh(A @ y + x)
        A[t, :] = y * w
    return np.sum(y)


def arguments_changed(x, w):
    for t in range(T):
        for k in range(K):
            x[:] = np.sin(x * w) + 0.3
            w[k] = w[k] * x[t]
    return np.sum(x * w)


NESTED = (
    *(relaxed, solved, until, both_until, three_levels, in_a_branch, one_after_the_other, moving),
    *(triangular, left_early, integers, products, arguments_changed),
)


@pytest.fixture
def always(monkeypatch):
    """Loops have checkpoints wherever that is possible, in room for three states."""
    monkeypatch.setattr(config, "machine", replace(config.machine, checkpointed_trips=4))
    every_loop(monkeypatch)
    in_room_for(3, monkeypatch)
    monkeypatch.setattr(checkpoints, "fit", lambda *args: False)


@pytest.mark.parametrize("f", NESTED, ids=lambda f: f.__name__)
def test_gradients(f, always):
    """As by differences, and those of the whole tape; arguments are left alone."""
    args = vectors()
    own = fresh(f)
    value, gradients = sdgrad.value_and_grad(own, wrt=("x", "w"))(*args)
    depth = max(map(len, plan_of(own, *args).checkpoints))
    assert depth == {three_levels: 5, in_a_branch: 5}.get(f, 3)
    wanted, right = stored(f, *args)
    assert value == wanted
    for a, b in zip(gradients, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)  # sums over sweeps may have another order
    for after, before in zip(args, vectors(), strict=True):
        np.testing.assert_array_equal(after, before)
    check_grads(own, args, wrt=("x", "w"))


def short_inside(x, w):
    """Loops inside of a long one are short."""
    y = np.copy(x)
    for _ in range(20):
        for j in range(3):
            y = y * w + 0.1 * j
            for _ in range(3):
                y = np.sin(y + 0.1 * x)
    return np.sum(y * y)


def test_short_loops_inside_of_a_long_one(monkeypatch):
    every_loop(monkeypatch)
    monkeypatch.setattr(checkpoints, "fit", lambda *args: False)
    args = vectors()
    assert max(map(len, plan_of(fresh(short_inside), *args).checkpoints)) == 5
    check_grads(fresh(short_inside), args, wrt=("x", "w"))


@pytest.mark.parametrize("f", [solved, both_until, three_levels, in_a_branch], ids=lambda f: f.__name__)
def test_limits(f):
    """The least memory, and a little more, where nobody knows how often inner loops run, too."""
    args = vectors()
    wanted, right = stored(f, *args)
    least = sdgrad.memory_plan(fresh(f), *args, wrt=("x", "w"), points=2).least
    for limit in (least, least + 1000):
        value, gradients = sdgrad.value_and_grad(fresh(f), wrt=("x", "w"), memory_limit=limit)(*args)
        assert value == wanted
        for a, b in zip(gradients, right, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


def rows(x, w, counts):
    """Data decide how often the inner loops run; one of them begins where another one stands."""
    y = np.copy(x)
    for t in range(len(counts)):
        for k in range(counts[t]):
            y = np.sin(y * w) + 0.1 * k
            for j in range(k, counts[t]):
                y[j] = np.cos(y[j] * y[j + 1])
    return np.sum(y * y)


def growing(x, w):
    """The inner loop runs once more in each trip of the outer one, whose trips nobody knows."""
    y = np.copy(x)
    s, n = 1.0, 0
    while s > 0.05:
        for _ in range(n + 1):
            y = np.sin(y * w) + 0.2 * w
        s = 0.5 * s * np.cos(y[n])
        n += 1
    return np.sum(y * y) + s


def halved(x, w):
    """The tape of the inner loop is a few bits, and nobody knows how many."""
    s = 0.0
    for t in range(T):
        low, high = 0.01 * x[t], 2.0 + w[t]
        while high - low > 0.1:
            middle = 0.5 * (low + high)
            if middle * middle > x[t]:
                high = middle
            else:
                low = middle
        s += np.sin(low) * x[t]
    return s


@pytest.mark.parametrize(
    ("f", "more"),
    [(rows, (np.array([3, 0, 5, 1, 2]),)), (growing, ()), (halved, ())],
    ids=["rows", "growing", "halved"],
)
def test_limits_of_loops_that_nobody_can_count(f, more):
    args = (*vectors(), *more)
    wanted, right = stored(f, *args)
    value, gradients = sdgrad.value_and_grad(fresh(f), wrt=("x", "w"), memory_limit="min")(*args)
    assert value == wanted
    for a, b in zip(gradients, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


def by_twos(x, w):
    """Some inner loops have no trip: they would end a step of one before they begin."""
    y = np.copy(x)
    for t in range(T):
        for k in range(0, t, 2):
            y = np.sin(y * w) + 0.01 * k
        for k in range(t, 0, -3):
            y = np.cos(y * w) + 0.01 * k
    return np.sum(y * y)


def test_loops_without_a_trip_have_none_backwards():
    check_grads(by_twos, vectors(), wrt=("x", "w"))


@sdgrad.checkpoint
def block(y, w):
    for _ in range(T):
        y = np.sin(y * w) + 0.1 * y
    return y


def of_blocks(x, w):
    y = np.copy(x)
    for _ in range(K):
        y = block(y, w)
    return np.sum(y * y)


def test_loops_in_functions_with_checkpoint(always, monkeypatch):
    """What such a function's pullback keeps has the places that it was recorded with, and no others."""
    in_room_for(1, monkeypatch)
    args = np.resize(vectors()[0], 180), np.resize(vectors()[1], 180)
    value, gradients = sdgrad.value_and_grad(fresh(of_blocks), wrt=("x", "w"))(*args)
    wanted, right = stored(of_blocks, *args)
    assert value == wanted
    for a, b in zip(gradients, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("f", [relaxed, three_levels, one_after_the_other, in_a_branch], ids=lambda f: f.__name__)
def test_again(f, always):
    """Derivatives of derivatives in both modes, and halves with a tape between them."""
    args = vectors()
    own = fresh(f)
    check_grads(own, args, wrt=("x", "w"), order=2, modes=("fwd", "rev"))
    _, pullback = sdgrad.vjp(own, *args)
    for a, b in zip(pullback(2.0), stored(f, *args)[1], strict=True):
        np.testing.assert_allclose(a, 2.0 * b, rtol=1e-12, atol=1e-13)
