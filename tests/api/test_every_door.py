"""Programs of NumPy and SciPy that mix many areas, by every door: each gives the gradient that differences give."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.sparse
import torch
from graphs import call
from onnx import TensorProto, helper, numpy_helper
from scipy import interpolate, linalg, signal, special, stats

import sdgrad
import sdgrad.onnx
import sdgrad.torch

RNG = np.random.default_rng(5)
SERIES = np.cumsum(RNG.standard_normal(9))
SERIES[[3, 4]] = np.nan
EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])


def a_model():
    """An ONNX model of one hidden layer: 8 numbers in a row give 3 shares."""
    weights = {"W": RNG.standard_normal((8, 4)), "B": RNG.standard_normal(4), "V": RNG.standard_normal((4, 3))}
    nodes = [("Gemm", "xWB", "h"), ("Tanh", "h", "t"), ("MatMul", "tV", "s"), ("Softmax", "s", "y")]
    graph = helper.make_graph(
        [helper.make_node(kind, [*takes], [gives]) for kind, takes, gives in nodes],
        "layers",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["rows", 8])],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["rows", 3])],
        [numpy_helper.from_array(w, n) for n, w in weights.items()],
    )
    return sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))


MODEL = a_model()


def filtered(noise, phi):
    """A Kalman filter with observations that are missing: branches on data in a loop, and a frozen distribution."""
    q = np.diag(np.exp(noise))
    f, h = np.array([[1.0, 1.0], [0.0, phi]]), np.array([[1.0, 0.0]])
    x, p = np.zeros(2), linalg.solve_discrete_lyapunov(0.5 * f, q) + np.eye(2)
    likelihood = 0.0
    for z in SERIES:
        x, p = f @ x, f @ p @ f.T + q
        if np.isnan(z):
            continue
        s = (h @ p @ h.T + 0.04).item()
        likelihood += stats.norm(0.0, np.sqrt(s)).logpdf(z - x[0])
        k = (p @ h.T / s).squeeze()
        x, p = x + k * (z - x[0]), (np.eye(2) - np.outer(k, h)) @ p
    return -likelihood


def spectral(x, width):
    """A spectrum that is written by halves, order statistics, masks, a spline and a distance between samples."""
    z = np.fft.rfft(signal.lfilter([1.0, -0.5], [1.0, 0.3], x))
    power = (z * z.conj()).real
    power[1:-1] *= 2
    curve = interpolate.CubicSpline(np.arange(len(power)), np.log1p(power))
    line = np.sum(special.wofz(np.linspace(0.0, 1.0, 5) + 1j * width).real)
    far = np.abs(x) > np.quantile(np.abs(x), 0.4)
    return curve(2.3 * width) + line + x[far].mean() + stats.wasserstein_distance(x, x**2) + np.sort(power)[2]


def mesh(stiffness, load):
    """A mesh whose edges are known: sparse and dense matrices of them, scattered sums, and a factorization."""
    n = EDGES.max() + 1
    i, j = EDGES.T
    k = scipy.sparse.coo_array(
        (np.r_[stiffness, stiffness], np.array([np.r_[i, j], np.r_[j, i]])), shape=(n, n)
    ).tocsr()
    a = np.diag(np.bincount(i, minlength=n) + 2.0) - 0.3 * k.toarray()
    degree = np.zeros(n)
    np.add.at(degree, i, stiffness**2)
    u = linalg.cho_solve(linalg.cho_factor(a + np.diag(degree), lower=True), load)
    near = [np.flatnonzero(i == m) for m in range(n)]
    return u @ (k @ u) + sum(np.tanh(u[(g + 1) % n]).sum() for g in near) + np.linalg.norm(np.array([u, [0.1] * n]))


def network(x, scale):
    """An ONNX model of filtered signals in a loop, beside special functions, a spectrum and a norm."""
    rows = np.stack([signal.lfilter([1.0, -0.5], [1.0, 0.3], scale * x), np.fft.irfft(np.fft.rfft(x) ** 2, 8)])
    shares = MODEL(rows)
    for _ in range(2):
        shares = 0.5 * shares + MODEL(x[None, ::-1] + special.erf(shares) @ np.ones((3, 8)))
    return special.logsumexp(shares) + np.linalg.norm(shares[1] - shares[0])


CASES = {
    filtered: (np.array([-1.0, -2.0]), 0.9),
    spectral: (RNG.standard_normal(8), 0.7),
    network: (RNG.standard_normal(8), 1.2),
    mesh: (np.linspace(0.5, 1.5, 5), np.array([1.0, -0.4, 0.3, 0.8])),
}
NAMES = {f: tuple(inspect.signature(f).parameters) for f in CASES}


def given(f):
    return tuple(np.array(x) if isinstance(x, np.ndarray) else x for x in CASES[f])


def directions(f):
    return tuple(np.linspace(0.4, 1.0, x.size) if isinstance(x, np.ndarray) else 0.7 for x in CASES[f])


def along(f, gradient):
    return sum(np.sum(g * d) for g, d in zip(gradient, directions(f), strict=True))


@pytest.fixture(scope="module")
def slopes():
    """The derivative of each program along a direction, by differences of sixth order."""

    def at(f, t):
        return f(*(x + t * d for x, d in zip(given(f), directions(f), strict=True)))

    h, shares = 2e-4, {1: 45.0, 2: -9.0, 3: 1.0}
    return {f: sum(w * (at(f, k * h) - at(f, -k * h)) for k, w in shares.items()) / (60 * h) for f in CASES}


def by_gradient(f):
    return along(f, sdgrad.grad(f, (0, 1))(*given(f)))


def by_pullback(f):
    return along(f, sdgrad.vjp(f, *given(f))[1](1.0))


def by_halves(f, **how):
    forward, backward = sdgrad.grad(f, requires=NAMES[f], **how)
    found = backward(forward(*given(f))[1], out=1.0)
    return along(f, [found[n] for n in NAMES[f]])


def by_tapes_of_everything(f):
    return by_halves(f, tapes="all")


def by_no_tape(f):
    return by_halves(f, tapes="none")


def by_tangent(f):
    return sdgrad.jvp(f, given(f), directions(f))[1]


def by_linear_map(f):
    return sdgrad.linearize(f, *given(f))[1](*directions(f))


def by_jacobian(f):
    return along(f, sdgrad.jacobian(f, (0, 1))(*given(f)))


def by_least_memory(f):
    return along(f, sdgrad.grad(f, (0, 1), memory_limit="min")(*given(f)))


def by_checkpoint(f):
    return along(f, sdgrad.grad(sdgrad.checkpoint(f), (0, 1))(*given(f)))


def by_map(f):
    many = [np.stack([x, 1.1 * np.asarray(x)]) for x in given(f)]
    return along(f, [g[0] for g in sdgrad.vmap(sdgrad.grad(f, (0, 1)))(*many)])


def inside_of_a_program(f):
    gradient = sdgrad.grad(f, (0, 1))
    first, second = directions(f)

    def program(a, b):
        by_a, by_b = gradient(a, b)
        return np.sum(by_a * first) + np.sum(by_b * second)

    return sdgrad.value_and_grad(program)(*given(f))[0]


def by_file(f, folder):
    sdgrad.compile_gradient(f, *given(f), wrt=(0, 1)).save(folder / "program.sdgrad")
    return along(f, sdgrad.load(folder / "program.sdgrad")(*given(f))[1])


def by_torch(f):
    tensors = [torch.tensor(np.asarray(x), requires_grad=True) for x in given(f)]
    sdgrad.torch.function(f)(*tensors).backward()
    return along(f, [t.grad.numpy() for t in tensors])


class Around(torch.nn.Module):
    """A module with a program's first argument as its parameter."""

    def __init__(self, f):
        super().__init__()
        self.f, self.value = sdgrad.torch.function(f), torch.nn.Parameter(torch.tensor(np.asarray(given(f)[0])))

    def forward(self, x):
        return 2.0 * self.f(self.value, torch.sinh(x))


def by_module(f):
    """PyTorch's operations around the program, of which one changes its argument."""
    module = sdgrad.module(Around, backward=True, fallback=True)(f)
    x = torch.asinh(torch.tensor(np.asarray(given(f)[1]))).requires_grad_()
    module(x).backward()
    (of_value,) = (p.grad for p in module.parameters())
    return along(f, [0.5 * of_value.numpy(), (0.5 * x.grad / torch.cosh(x.detach())).numpy()])


def graph_of(f):
    """The program as a graph, and arguments of it."""
    graph = sdgrad.to_sdfg(f, *given(f))
    values = dict(zip(NAMES[f], given(f), strict=True))
    outside = {**f.__globals__, **MODEL.weights}
    return graph, values | {n: np.array(outside[n]) for n in graph.arglist() if n in outside}


def backwards(f, graph, values):
    sdgrad.add_backward_pass(graph, inputs=NAMES[f], outputs=["__return"])
    found = call(graph, {**values, "gradient___return": np.ones(1)}, fill=True)
    return along(f, [found[f"gradient_{n}"] for n in NAMES[f]])


def by_graph(f):
    return backwards(f, *graph_of(f))


def by_two_graphs(f):
    forward, values = graph_of(f)
    backward = sdgrad.add_backward_pass(forward, inputs=NAMES[f], outputs=["__return"], separate_sdfgs=True)
    kept = call(forward, values, fill=True)
    found = call(backward, {**kept, "gradient___return": np.ones(1)}, fill=True)
    return along(f, [found[f"gradient_{n}"] for n in NAMES[f]])


def by_tangent_of_a_graph(f):
    graph, values = graph_of(f)
    sdgrad.add_forward_tangent(graph, inputs=NAMES[f], outputs=["__return"])
    moved = {f"tangent_{n}": np.atleast_1d(d) for n, d in zip(NAMES[f], directions(f), strict=True)}
    return call(graph, {**values, **moved}, fill=True)["tangent___return"][0]


def by_changed_graph(f):
    """DaCe's own passes change the graph, so it is read again, without what was known when it was recorded."""
    graph, values = graph_of(f)
    graph.simplify()
    if f not in (mesh, network):
        return backwards(f, graph, values)
    with pytest.raises(sdgrad.DifferentiationError, match="differentiate the graph .* as it is"):
        backwards(f, graph, values)
    pytest.skip("refused: the rules of a factorization, and of a model, are not in the graph")


DOORS = [
    by_gradient,
    by_pullback,
    by_halves,
    by_tapes_of_everything,
    by_no_tape,
    by_tangent,
    by_linear_map,
    by_jacobian,
]
DOORS += [by_least_memory, by_checkpoint, by_map, inside_of_a_program, by_file, by_torch, by_module, by_graph]
DOORS += [by_two_graphs, by_tangent_of_a_graph, by_changed_graph]


@pytest.mark.parametrize("door", DOORS, ids=lambda d: d.__name__)
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_gradient(f, door, slopes, tmp_path):
    with sdgrad.config.override(optimization_level=0):
        found = door(f, tmp_path) if door is by_file else door(f)
    assert found == pytest.approx(slopes[f], rel=1e-8)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_second_derivatives(f):
    with sdgrad.config.override(optimization_level=0):
        found = along(f, sdgrad.hvp(f, given(f), directions(f)))
        gradient = sdgrad.grad(f, (0, 1))

        def slope(t):
            return along(f, gradient(*(x + t * d for x, d in zip(given(f), directions(f), strict=True))))

        wanted = (8 * (slope(1e-3) - slope(-1e-3)) - slope(2e-3) + slope(-2e-3)) / 12e-3
    assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_explained(f):
    with sdgrad.config.override(optimization_level=0):
        assert f.__name__ in str(sdgrad.explain(f, *given(f)))
