"""Arrays that are little more than others are not made: who reads them has the other one, and computes them."""

import dace
import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.program.tree import walk, writes
from sdgrad.testing import check_grads

N = 9


def doubled(x, w):
    """The stencil reads elements and twice the elements."""
    for t in range(3):
        w[1:-1] = 0.1 * (x[2:] - 2.0 * x[1:-1] + x[:-2]) + x[1:-1]
        x[1:-1] = 0.1 * (w[2:] - 2.0 * w[1:-1] + w[:-2]) + w[1:-1]
    return np.sum(x * w)


def shifted(x, w):
    """What is read of it lies elsewhere."""
    y = np.sin(x)
    z = 3.0 * y
    u = np.zeros_like(x)
    u[1:-1] = z[2:] * y[:-2] + z[:-2] * w[1:-1]
    return np.sum(u * u)


def turned(x, w):
    y = np.outer(np.sin(x), w)
    z = y + 1.5
    return np.sum(z.T * y @ z)


def changed_in_between(x, w):
    """The original is another one when the temporary is read."""
    y = np.sin(x)
    z = 2.0 * y
    y[1:] = w[1:]
    u = np.zeros_like(x)
    u[1:] = z[:-1] * y[1:]
    return np.sum(u)


def changed_by_the_reader(x, w):
    y = np.sin(x)
    z = 2.0 * y
    s = np.sum(y[:-1] * w[1:])
    y[1:] = z[:-1] * s
    return np.sum(y * z)


def read_alone(x, w):
    """The reader has nothing of the original."""
    y = np.sin(x)
    z = 2.0 * y
    u = np.zeros_like(x)
    u[1:] = z[:-1] * w[1:]
    return np.sum(u) + np.sum(y * w)


def read_in_a_loop(x, w):
    y = np.sin(x)
    z = 2.0 * y
    s = 0.0
    for i in range(1, N):
        s += z[i - 1] * y[i] * s + w[i]
    return s


def costly(x, w):
    """More than is sooner computed again."""
    y = np.sin(x)
    z = np.exp(np.cos(np.sqrt(2.0 + y)))
    u = np.zeros_like(x)
    u[1:-1] = z[2:] * y[:-2]
    return np.sum(u * w)


GONE = (doubled, shifted)
KEPT = (changed_in_between, changed_by_the_reader, read_alone, read_in_a_loop, costly)


def arguments():
    rng = np.random.default_rng(0)
    return 0.2 + rng.random(N), 0.3 + rng.random(N)


def made(f):
    """The containers that the function itself writes."""
    question = sdgrad.value_and_grad(f, wrt=("x", "w"))
    signature, _, _, request = question.question(bind_arguments(f, arguments(), {}))
    return {c for n in walk(signature.differentiated(request).normalized.body) for c in writes(n)}


@pytest.mark.parametrize("f", (*GONE, *KEPT, turned), ids=lambda f: f.__name__)
def test_gradients(f):
    check_grads(f, arguments(), wrt=("x", "w"))
    value, gradients = sdgrad.value_and_grad(f, wrt=("x", "w"))(*arguments())
    with config.override(without=("rematerialization",)):
        plain, others = sdgrad.value_and_grad(f, wrt=("x", "w"))(*arguments())
    assert value == pytest.approx(plain, rel=1e-14)
    for a, b in zip(gradients, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("f", GONE, ids=lambda f: f.__name__)
def test_gone(f):
    with config.override(without=("rematerialization",)):
        plain = made(f)
    assert len(made(f)) == len(plain) - 1


@pytest.mark.parametrize("f", KEPT, ids=lambda f: f.__name__)
def test_kept(f):
    with config.override(without=("rematerialization",)):
        plain = made(f)
    assert made(f) == plain


def test_half_precision():
    """A number in half precision is not what it was rounded from."""

    @dace.program
    def halves(x: dace.float16[N]):
        y = np.sin(x)
        z = dace.float16(2) * y
        u = np.zeros_like(x)
        u[1:] = z[:-1] * y[1:]
        return np.sum(u)

    x = arguments()[0].astype(np.float16)
    with config.override(without=("rematerialization",)):
        plain = sdgrad.grad(halves)(x)
    np.testing.assert_array_equal(sdgrad.grad(halves)(x), plain)
