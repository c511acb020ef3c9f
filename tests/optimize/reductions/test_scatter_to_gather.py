"""Gradients of stencils: gathered where most elements are in the middle, and right everywhere.

The functions run in NumPy on complex numbers, whose imaginary parts are the derivatives (Squire and Trapp 1998).
"""

from dataclasses import replace

import dace
import numpy as np
import pytest
from fuzz import stencils

import sdgrad
from sdgrad.analysis.paths import nodes_with_paths
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import Leaf

STEP = 1e-20


def three_points(x, w):
    y = np.zeros_like(x)
    for t in range(3):
        y[1:-1] = 0.3 * x[:-2] + w[1:-1] * x[1:-1] - x[2:]
        x[1:-1] = y[:-2] * w[2:] + y[2:]
    return np.sum(y * w) + np.sum(x * x)


def lopsided(x, w):
    y = np.zeros_like(x)
    y[3:-1] = x[:-4] + 2.0 * x[1:-3] * w[3:-1] - x[4:]
    return np.sum(y * y)


def costly_values(x, w):
    y = np.zeros_like(x)
    y[1:-1] = np.exp(x[:-2] * w[1:-1]) / (1.0 + x[2:] * x[2:]) + np.sin(x[1:-1])
    return np.sum(y * w)


def divided(x, w):
    """Neighbours get multiples of one quotient, and what is overwritten in place gets one too."""
    y = np.ones_like(x)
    for t in range(2):
        y[1:-1] = (2.0 * x[:-2] + 3.0 * x[1:-1] - x[2:] - y[1:-1]) / (2.0 + w[1:-1] * y[1:-1])
    return np.sum(y * w)


def read_and_overwritten(x, w):
    """What the terms for neighbours are made of is overwritten by the same statement's adjoint."""
    y = np.ones_like(x)
    for t in range(2):
        y[1:-1] = np.exp(x[:-2]) * y[1:-1] + 0.5 * x[1:-1] * y[1:-1] - x[2:] * y[1:-1]
    return np.sum(y * w)


def five_points(x, w):
    for t in range(2):
        w[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])
        x[1:-1, 1:-1] = 0.2 * (w[1:-1, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:] + w[2:, 1:-1] + w[:-2, 1:-1])
    return np.sum(x * x) + np.sum(w)


def corners(x, w):
    y = np.ones_like(x)
    y[2:, 1:-1] = x[:-2, 2:] * x[2:, :-2] + w[1:-1, 1:-1] * x[1:-1, 1:-1]
    x[1:, :] = x[1:, :] * y[:-1, :] - y[1:, :]
    return np.sum(x * y)


def staggered(x, w):
    for t in range(3):
        w[1:, :] = w[1:, :] - 0.5 * (x[1:, :] - x[:-1, :])
        x[:, 1:] = x[:, 1:] - 0.5 * (x[:, 1:] - x[:, :-1]) * w[:, 1:]
    return np.sum(x * w)


def chosen(x, w):
    d = x[1:, :] - x[:-1, :]
    f = np.where(d * (w[1:, :] - w[:-1, :]) > 0, 0.0, d)
    x[1:-1, :] = x[1:-1, :] - w[1:-1, :] * (f[1:, :] - f[:-1, :])
    return np.sum(x * x)


def one_row(x, w):
    for i in range(1, x.shape[0] - 1):
        w[i, 1:-1] = x[i, :-2] * w[i - 1, 1:-1] + x[i, 2:] * x[i + 1, 1:-1]
    return np.sum(w * w)


def seven_points(x, w):
    for t in range(2):
        w[1:-1, 1:-1, 1:-1] = (
            0.1 * (x[2:, 1:-1, 1:-1] - 2.0 * x[1:-1, 1:-1, 1:-1] + x[:-2, 1:-1, 1:-1])
            + 0.2 * (x[1:-1, 2:, 1:-1] - 2.0 * x[1:-1, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1])
            + 0.3 * (x[1:-1, 1:-1, 2:] - 2.0 * x[1:-1, 1:-1, 1:-1] + x[1:-1, 1:-1, :-2])
        )
        x[1:-1, 1:-1, 1:-1] = w[1:-1, 1:-1, 1:-1] * w[2:, 1:-1, 1:-1] + w[:-2, 1:-1, 1:-1]
    return np.sum(x * x) + np.sum(w)


LINES, PLANES, BOXES = ((3,), (4,), (5,), (9,), (23,)), ((3, 9), (9, 4), (7, 8), (15, 17)), ((3, 4, 5), (8, 9, 11))
CASES = [(f, s) for f in (three_points, costly_values, divided, read_and_overwritten) for s in LINES]
CASES += [(lopsided, s) for s in ((5,), (9,), (30,))]
CASES += [(f, s) for f in (five_points, corners, staggered, chosen, one_row) for s in PLANES]
CASES += [(seven_points, s) for s in BOXES]


def by_complex_step(f, x, w):
    gradients = np.zeros((2, *x.shape))
    for g, k in ((g, k) for g in (0, 1) for k in np.ndindex(x.shape)):
        args = [x.astype(complex), w.astype(complex)]
        args[g][k] += 1j * STEP
        gradients[g][k] = f(*args).imag / STEP
    return gradients


@pytest.mark.parametrize(("f", "shape"), CASES, ids=lambda v: v.__name__ if callable(v) else "x".join(map(str, v)))
def test_gradients(f, shape):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(shape), rng.standard_normal(shape)
    right = by_complex_step(f, x, w)
    found = sdgrad.grad(f, wrt=("x", "w"))(x.copy(), w.copy())
    np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11 * np.max(np.abs(right)))


def stores(f, shape, into):
    """The leaves that store into a container in the optimised gradient."""
    function = sdgrad.value_and_grad(f, wrt=("x", "w"))
    signature, _, _, request = function.question(bind_arguments(function.f, (np.ones(shape), np.ones(shape)), {}))
    program = optimize(signature.gradient(request).result.program)
    leaves = [n for _, n in nodes_with_paths(program.body) if isinstance(n, Leaf)]
    return [n for n in leaves if any(s.container == into for s in n.stores)]


@pytest.mark.parametrize("seed", range(100, 118))
def test_slabs_with_a_core(seed, monkeypatch):
    """What lies around the middle, in parts of which most ask for no condition."""
    monkeypatch.setattr(config, "machine", replace(config.machine, stencil_core=1))
    assert stencils.failure(stencils.sample(seed), seed) is None


def asked(shape):
    """How many elements of the gradient are in nests with conditions."""
    guarded = [n for n in stores(seven_points, shape, "gradient_x") if any(x.guard is not None for x in n.loads)]
    return sum(int(np.prod([int(p.count) for p in n.params])) for n in guarded)


def test_conditions_are_at_edges_only(monkeypatch):
    found = asked((44, 44, 44))
    monkeypatch.setattr(config, "machine", replace(config.machine, stencil_core=1 << 60))
    assert 0 < 1.4 * found < asked((44, 44, 43))


def test_the_middle_is_one_pass():
    leaves = stores(five_points, (40, 50), "gradient_x")
    middle = [n for n in leaves if [p.count for p in n.params] == [36, 46]]
    assert [len(n.loads) for n in middle] == [5] and middle[0].stores[0].mode == "set", "zero before, and gathered"
    thin = [n for n in leaves if n not in middle and any(p.count <= 4 for p in n.params)]
    assert len(thin) == 8, "two rows and two columns at each end"


def test_costly_values_are_computed_once():
    with config.override(without=("scatter-to-gather",)):
        plain = stores(costly_values, (40,), "gradient_x")
    found = stores(costly_values, (40,), "gradient_x")
    assert len(plain) > 2
    assert all(not any("exp" in str(i) for i in n.body) for n in found)


def test_what_costly_values_have_in_common_is_kept():
    leaves = stores(divided, (40,), "gradient_y")
    kept = [n for n in leaves if any(s.container.startswith("part_") for s in n.stores)]
    assert len(kept) == 1, "one nest computes the quotient, for neighbours and for the element itself"
    assert [s.container for s in kept[0].stores if s.container.startswith("part_")] == ["part_gradient_x"]


def test_few_elements_stay_scattered():
    with config.override(without=("scatter-to-gather",)):
        plain = [(n.params, n.stores) for n in stores(three_points, (4,), "gradient_x")]
    assert [(n.params, n.stores) for n in stores(three_points, (4,), "gradient_x")] == plain


N = dace.symbol("N")


@dace.program
def of_any_size(x: dace.float64[N], w: dace.float64[N], y: dace.float64[1]):
    t = np.zeros_like(x)
    t[1:-1] = x[:-2] * w[1:-1] - x[2:]
    x[1:-1] = t[2:] + 2.0 * t[:-2]
    y[0] = np.sum(x * t)


def test_sizes_that_are_not_known():
    sdfg = of_any_size.to_sdfg()
    sdgrad.add_backward_pass(sdfg, inputs=["x", "w"], outputs=["y"])
    compiled = sdfg.compile()

    def plain(x, w):
        t = np.zeros_like(x)
        t[1:-1] = x[:-2] * w[1:-1] - x[2:]
        x[1:-1] = t[2:] + 2.0 * t[:-2]
        return np.sum(x * t)

    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 4, 5, 6, 7, 12, 40):
        x, w = rng.standard_normal(n), rng.standard_normal(n)
        right = by_complex_step(plain, x, w)
        around = np.zeros((2, n + 8))  # what is behind the gradients stays zero
        gx, gw = around[:, 4:-4]
        with dace.config.set_temporary("compiler", "allow_view_arguments", value=True):
            compiled(x=x.copy(), w=w.copy(), y=np.zeros(1), gradient_x=gx, gradient_w=gw, gradient_y=np.ones(1), N=n)
        np.testing.assert_allclose((gx, gw), right, rtol=1e-11, atol=1e-11)
        assert not around[:, :4].any() and not around[:, -4:].any()


@pytest.mark.parametrize("seed", range(12))
def test_random_stencils(seed):
    """``python tests/fuzz/stencils.py`` checks any number of them."""
    assert stencils.failure(stencils.sample(seed), seed) is None
