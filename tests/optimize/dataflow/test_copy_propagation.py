"""Arrays that are other ones are not made; where one of them changes, they are."""

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import walk, writes


def layers(x, a, b, c):
    """The cotangents of three products are one."""
    p, q, r = x @ a, (x * x) @ b, np.sin(x) @ c
    y = p + q + r
    return np.sum(y * y)


def changed(x, a, b, c):
    """Two arrays begin as one, and one of them changes."""
    p = np.empty_like(x)
    q = np.empty_like(x)
    for i in range(x.shape[0]):
        p[i] = np.sin(x[i])
        q[i] = np.sin(x[i])
    q[2] = q[2] * x[0]
    return np.sum(p @ a) + np.sum(q @ b * (p @ c))


def in_turn(x, a, b, c):
    """Both change, trip by trip."""
    p = np.zeros_like(x)
    s = 0.0
    for _ in range(3):
        q = x * p + x
        r = x * p + x
        p = q @ a[:, : x.shape[1]]
        s += np.sum(np.sin(r) * q) + np.sum(r @ b)
        r[0] = 2.0 * q[1]
        s += np.sum(r @ c)
    return s


def arguments():
    rng = np.random.default_rng(0)
    return (rng.random((12, 7)), *(0.2 * rng.random((7, 9)) for _ in range(3)))


def made(f, args):
    function = sdgrad.value_and_grad(f, wrt=("x", "a", "b", "c"))
    signature, _, _, request = function.question(bind_arguments(f, args, {}))
    return optimize(signature.gradient(request).result.program)


@pytest.mark.parametrize("f", [layers, changed, in_turn])
def test_results(f):
    args = arguments()
    value, gradients = sdgrad.value_and_grad(f, wrt=("x", "a", "b", "c"))(*args)
    assert value == pytest.approx(f(*args), rel=1e-13)
    with config.override(without=("copy-propagation",)):
        _, expected = sdgrad.value_and_grad(f, wrt=("x", "a", "b", "c"))(*args)
    rng = np.random.default_rng(1)
    for k, (found, reference) in enumerate(zip(gradients, expected, strict=True)):
        np.testing.assert_allclose(found, reference, rtol=1e-11, atol=1e-13)
        step = 1e-6 * rng.random(found.shape)
        up, down = (f(*(a + s * step if j == k else a for j, a in enumerate(args))) for s in (1, -1))
        assert 2 * np.sum(found * step) == pytest.approx(up - down, rel=1e-6)


def test_one_cotangent_of_several_products():
    args = arguments()

    def cotangents(program):
        return {w for n in walk(program.body) for w in writes(n) if w in ("gradient_p", "gradient_q", "gradient_r")}

    assert len(cotangents(made(layers, args))) == 1
    with config.override(without=("copy-propagation",)):
        assert len(cotangents(made(layers, args))) == 3
