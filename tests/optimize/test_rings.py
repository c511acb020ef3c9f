"""Periodic grids: subscripts on a ring in forward and backward nests."""

from __future__ import annotations

import numpy as np
import pytest

import sdgrad
from sdgrad.autodiff.request import Request
from sdgrad.config import config
from sdgrad.optimize.passes import optimize
from sdgrad.program.tree import Leaf, Loop, Program, walk
from sdgrad.program.turned import turned
from sdgrad.specialize.signature import Signature

RNG = np.random.default_rng(5)


def rolled(u, v):
    for _ in range(3):
        left, right = np.roll(u, 1, 0), np.roll(u, -1, 0)
        below, above = np.roll(u, 1, 1), np.roll(u, -2, 1)
        u = u + 0.1 * (np.sin(left) - right * v) + 0.2 * (below * above - u)
        v = v + 0.1 * np.roll(u * v, (1, -1), (0, 1))
    return np.sum(u * v)


def written_out(u, v):
    n, m = u.shape
    w = np.empty_like(u)
    for i in range(n):
        for j in range(m):
            w[i, j] = u[i, j] * u[(i + 1) % n, j] - v[i, (j + 2) % m] * u[(i - 1) % n, (j - 1) % m]
    return np.sum(w**2)


def costly(u, v):
    return np.sum(np.roll(np.exp(u) / (1.0 + v), 1, 0) * np.roll(np.exp(u), -3, 1))


def line(u, v):
    x, y = u[0], v[:, 1]
    return np.sum(np.roll(x, 2) * np.roll(x, -1) ** 2) + np.sum(np.roll(y, 1) * y) * x[0]


def by_index(u, v):
    """The position on the ring is a factor as well."""
    n = u.shape[1]
    total = 0.0
    for j in range(n):
        total += (j + 1.0) * u[0, (j + 1) % n] * v[1, j]
    return total


def flat(u, v):
    return np.sum(np.roll(u, 5) * v + np.roll(np.roll(v, 3, 0), -3, 0) * u)


def by_index_arrays(u, v):
    n, m = u.shape
    after, before = (np.arange(n) + 1) % n, np.arange(m) - 1
    before[0] = m - 1
    return np.sum(u * (u[after] - 2 * v[:, before]) + u[np.ix_(after, before)] ** 2 * v[np.arange(n)])


def channel(u, v):
    """Walls at both ends of one axis, a ring along the other."""
    for _ in range(2):
        w = u.copy()
        w[1:-1] = u[1:-1] + 0.1 * (u[2:] + u[:-2] + np.roll(u, 1, 1)[1:-1] * v[1:-1] + np.roll(u, -1, 1)[1:-1])
        u = w
    return np.sum(u * u)


FUNCTIONS = [rolled, written_out, costly, line, by_index, flat, by_index_arrays, channel]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(f):
    """Values, gradients and second derivatives, beside differences of the function itself."""
    u, v = RNG.random((6, 7)) + 0.5, RNG.random((6, 7)) + 0.5
    du, dv = RNG.standard_normal((2, 6, 7))
    value, (gu, gv) = sdgrad.value_and_grad(f, (0, 1))(u, v)
    assert np.isclose(value, f(u, v), rtol=1e-13)
    h = 1e-6
    slope = (f(u + h * du, v + h * dv) - f(u - h * du, v - h * dv)) / (2 * h)
    assert np.isclose(np.sum(gu * du) + np.sum(gv * dv), slope, rtol=1e-7, atol=1e-8)
    assert np.isclose(sdgrad.jvp(f, (u, v), (du, dv))[1], slope, rtol=1e-7, atol=1e-8)
    gradient = sdgrad.grad(f)
    change = (gradient(u + h * du, v) - gradient(u - h * du, v)) / (2 * h)
    assert np.allclose(sdgrad.hvp(f, (u, v), (du, None))[0], change, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("without", [(), ("turned-layouts",), ("scatter-to-gather",), ("ring-splitting",), ("fusion",)])
@pytest.mark.parametrize("f", [rolled, written_out, channel], ids=lambda f: f.__name__)
def test_without_a_pass(f, without):
    """Each of the passes leaves the gradient as it is."""
    u, v = RNG.random((6, 7)), RNG.random((6, 7))
    expected = sdgrad.grad(f, (0, 1))(u, v)
    with config.override(without=without):
        found = sdgrad.grad(f, (0, 1))(u, v)
    for a, b in zip(found, expected, strict=True):
        assert np.allclose(a, b, rtol=1e-12, atol=1e-14)


def gradient_program(f, shape: tuple[int, ...]) -> Program:
    """Return the optimised gradient of a function of two arrays."""
    u, v = RNG.random((2, *shape))
    signature = Signature.of(f, {"u": u, "v": v})
    return optimize(signature.differentiated(Request(("u", "v"), ("__return",), True)).program)


@pytest.mark.parametrize("f", [rolled, written_out, costly, by_index_arrays], ids=lambda f: f.__name__)
def test_nests(f):
    """Nothing is stored turned, and long innermost loops walk memory: outer loops alone turn."""
    leaves = [n for n in walk(gradient_program(f, (40, 50)).body) if isinstance(n, Leaf)]
    assert not any(turned(e) for leaf in leaves for s in leaf.stores for e in s.index)
    inner = [leaf for leaf in leaves if leaf.params and leaf.params[-1].count > 5]
    assert not any(
        str(t.inner) == x.params[-1].name for x in inner for i in x.accesses for e in i.index if (t := turned(e))
    )
    assert any(turned(e) for leaf in leaves for i in leaf.loads for e in i.index)


def test_a_periodic_step_is_one_nest():
    """Forward and backward, a step of a simulation is a nest each, and one that copies."""

    def f(u, v):
        for _ in range(5):
            u, v = u + 0.1 * (np.roll(u, 1, 0) + np.roll(u, -1, 1) - 2 * u) * v, v - 0.2 * np.roll(v, -1, 0)
        return np.sum(u * v)

    loops = [n for n in gradient_program(f, (40, 50)).body if isinstance(n, Loop)]
    assert len(loops) == 2
    assert all(len(loop.body) <= 2 for loop in loops)


def test_a_layout_is_turned():
    """A costly value is stored once, as it is computed, and its readers turn it."""
    from sdgrad.optimize.dataflow.turned_layout import turn_layouts

    u, v = RNG.random((2, 40, 50))
    program = Signature.of(costly, {"u": u, "v": v}).differentiated(Request(("u",), ("__return",), True)).program

    def stores(program: Program) -> int:
        leaves = [n for n in walk(program.body) if isinstance(n, Leaf)]
        return sum(turned(e) is not None for leaf in leaves for s in leaf.stores for e in s.index)

    assert stores(program) > 0 and stores(turn_layouts(program)) == 0
