"""Factorizations of which a program reads some results: the rule leaves out what only the others need."""

from itertools import chain, combinations

import numpy as np
import pytest
import scipy.linalg
from references import assert_close

import sdgrad

RNG = np.random.default_rng(0)
TALL = (5, 3)
SHAPES = ((4, 4), TALL, (3, 5))


def qr(x):
    return np.linalg.qr(x)


def complete_qr(x):
    return scipy.linalg.qr(x)


def svd(x):
    return np.linalg.svd(x, full_matrices=False)


def some(results):
    """Return each choice of some of the results."""
    return list(chain.from_iterable(combinations(range(results), k) for k in range(1, results + 1)))


CASES = [(f, read) for f, results in ((qr, 2), (complete_qr, 2), (svd, 3)) for read in some(results)]


def weights(shape):
    return np.random.default_rng(int(np.prod(shape))).standard_normal(shape)


def loss_of(f, read):
    """Return a function that sees neither signs nor phases of vectors (nor what basis is beside those of QR)."""

    def loss(x):
        parts = f(x)
        total = 0.0
        for k in read:
            part = parts[k][..., : min(x.shape)] if f is complete_qr and k == 0 else parts[k]
            total = total + np.sum(np.abs(part) ** 2 * weights(part.shape))
        return total

    return loss


def along(f, x, direction, h=1e-6):
    return (f(x + h * direction) - f(x - h * direction)) / (2 * h)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("f", "read"), CASES, ids=lambda c: getattr(c, "__name__", str(c)))
def test_gradients_of_some_results(f, read, shape, dtype):
    rng = np.random.default_rng(2)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype == np.complex128 else 0.0)
    loss = loss_of(f, read)
    value, gradient = sdgrad.value_and_grad(loss)(x)
    assert_close(value, loss(x), 1e-12, "value")
    directions = [rng.standard_normal(shape)] + [1j * rng.standard_normal(shape)] * (dtype == np.complex128)
    for direction in directions:
        wanted = along(loss, x, direction)
        assert_close(np.real(np.sum(np.conj(gradient) * direction)), wanted, 1e-6, "gradient")
        if shape != TALL:
            continue
        direction = direction.astype(dtype)
        assert_close(np.real(sdgrad.jvp(loss, (x,), (direction,))[1]), wanted, 1e-6, "forward mode")


@pytest.mark.parametrize(("m", "n"), [(6, 4), (4, 6), (5, 5)])
def test_pseudo_inverses_of_less_than_full_rank(m, n):
    left, right = RNG.standard_normal((m, 3)), RNG.standard_normal((3, n))

    def loss(left, right):
        return np.sum(np.linalg.pinv(left @ right, rcond=1e-10) * weights((n, m)))

    found = sdgrad.grad(loss, wrt=(0, 1))(left, right)
    turns = RNG.standard_normal((m, 3)), RNG.standard_normal((3, n))
    h = 1e-6
    wanted = (loss(left + h * turns[0], right + h * turns[1]) - loss(left - h * turns[0], right - h * turns[1])) / 2e-6
    assert_close(sum(np.sum(g * t) for g, t in zip(found, turns, strict=True)), wanted, 1e-6, "gradient")


SEEN = []


@sdgrad.custom_vjp
def both(x):
    return np.sin(x), np.cos(x)


@both.defvjp
def both_vjp(x, grad_out_0=None, grad_out_1=None):
    SEEN.append((grad_out_0 is not None, grad_out_1 is not None))
    found = np.zeros_like(x)
    if grad_out_0 is not None:
        found = found + 3.0 * grad_out_0
    if grad_out_1 is not None:
        found = found + 5.0 * x * grad_out_1
    return found


@pytest.mark.parametrize("read", [(0,), (1,), (0, 1)])
def test_rules_of_users_may_leave_out_what_nobody_reads(read):
    x = RNG.standard_normal(4)

    def loss(x):
        parts = both(x)
        return sum(np.sum(parts[k]) for k in read)

    SEEN.clear()
    found = sdgrad.grad(loss)(x)
    assert_close(found, 3.0 * (0 in read) + 5.0 * x * (1 in read), 1e-14, "gradient")
    assert set(SEEN) == {(0 in read, 1 in read)}
    assert_close(sdgrad.jvp(loss, (x,), (np.ones(4),))[1], np.sum(found), 1e-13, "forward mode")
