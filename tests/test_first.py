"""Sums into zeros as assignments where an element has only one, and zeros of what is left."""

import numpy as np
import pytest

import sdgrad
from sdgrad.frontend.parse import bind_arguments
from sdgrad.normalize.fresh import number
from sdgrad.optimize import optimize
from sdgrad.program.tree import Leaf, walk
from sdgrad.symbolic.expr import sym

N = 80


def substituted(x, w):
    """Forward substitution: below the diagonal and on it."""
    y = np.zeros_like(x[0])
    for i in range(x.shape[0]):
        y[i] = (w[0, i] - x[i, :i] @ y[:i]) / (2.0 + x[i, i])
    return np.sum(y * w[1])


def above(x, w):
    y = 1.0 * w[0]
    for i in range(x.shape[0] - 2, 0, -1):
        y[i] = np.sin(x[i, i + 1 :] @ y[i + 1 :]) + y[i]
    return np.sum(y)


def every_second_row(x, w):
    y = 1.0 * w[0]
    for i in range(0, x.shape[0], 2):
        y[i] = x[i, :] @ w[1] * y[i]
    return np.sum(y)


def twice(x, w):
    """What the second loop adds is not the first."""
    y = 1.0 * w[0]
    for i in range(1, x.shape[0]):
        y[i] = np.sin(x[i, :i] @ y[:i])
    for i in range(1, x.shape[0]):
        y[i] = np.sin(x[i, : i + 1] @ y[: i + 1])
    return np.sum(y)


def again_and_again(x, w):
    """One element has several sums, of the trips of a loop."""
    y = 1.0 * w[0]
    for i in range(x.shape[0] - 1):
        y[i + 1] = np.sin(x[i // 2, :i] @ y[:i])
    return np.sum(y)


def chosen(x, w):
    """Rows that run when data say so: what they leave is zero."""
    y = 1.0 * w[0]
    for i in range(x.shape[0]):
        if w[1, i].real > 0.5:
            y[i] = np.sin(x[i, :i] @ y[:i])
    return np.sum(y)


def overwritten(x, w):
    """Cotangents of what is overwritten are read, and cleared."""
    y = 1.0 * w[0]
    for i in range(1, x.shape[0]):
        y[i] = x[i, :i] @ y[:i]
        x[i, :i] = 0.5 * x[i - 1, :i]
    return np.sum(y) + np.sum(x)


FUNCTIONS = [substituted, above, every_second_row, twice, again_and_again, chosen, overwritten]


def arguments(n=N):
    rng = np.random.default_rng(5)
    return rng.random((n, n)) / n, rng.random((2, n))


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(f):
    """Of a large array some elements; of a small one, to which the same program applies, all."""
    x, w = arguments()
    value, (dx, dw) = sdgrad.value_and_grad(f, wrt=("x", "w"))(x.copy(), w.copy())
    assert value == pytest.approx(f(x.copy(), w.copy()), rel=1e-12)
    rng = np.random.default_rng(0)
    places = [(0, 0), (N - 1, N - 1), (0, N - 1), (N - 1, 0), *(tuple(rng.integers(0, N, 2)) for _ in range(60))]
    for place in places:
        moved = x.astype(complex)
        moved[place] += 1e-30j
        assert dx[place] == pytest.approx(f(moved, w.astype(complex)).imag / 1e-30, rel=1e-11, abs=1e-14)
    for place in ((0, 0), (0, N // 2), (1, N - 1)):
        moved = w.astype(complex)
        moved[place] += 1e-30j
        assert dw[place] == pytest.approx(f(x.astype(complex), moved).imag / 1e-30, rel=1e-11, abs=1e-14)


def stores_of(f, name="gradient_x"):
    function = sdgrad.grad(f, wrt=("x", "w"))
    signature, _, _, request = function.question(bind_arguments(f, arguments(), {}))
    program = optimize(signature.gradient(request).result.program)
    leaves = [n for n in walk(program.body) if isinstance(n, Leaf)]
    return [(n, s) for n in leaves for s in n.stores if s.container == name]


def instances(params, known=()):
    """How many there are of a leaf."""
    if not params:
        return 1
    first, *others = params
    bounds = [int(e.subs(dict(known))) for e in (first.start, first.stop)]
    return sum(instances(others, (*known, (sym(first.name), v))) for v in range(bounds[0], bounds[1] + 1))


@pytest.mark.parametrize(
    ("f", "sums", "zeros"),
    [
        (substituted, 0, N * (N - 1) // 2),
        (above, 0, N * N - (N - 2) * (N - 1) // 2),
        (twice, 1, N * N - N * (N + 1) // 2 + 1),
        (again_and_again, 1, N * N),
        (chosen, 1, N * N),
    ],
    ids=["substituted", "above", "twice", "again_and_again", "chosen"],
)
def test_what_is_set(f, sums, zeros):
    """Zeros are where nothing is set, and nothing is added where something was set."""
    found = stores_of(f)
    assert sum(s.mode == "sum" for _, s in found) == sums
    starts = [n for n, s in found if s.mode == "set" and number(s, n) == 0]
    assert sum(instances(n.params) for n in starts) == zeros
