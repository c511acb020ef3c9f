"""Graphs that ``to_sdfg`` makes run as they are, and can be differentiated: no reduction adds to what was there."""

import copy

import numpy as np
import pytest
from references import assert_close
from scipy import interpolate, linalg, special, stats

import sdgrad
from sdgrad.errors import ArgumentError, DifferentiationError

X = np.array([0.5, 1.5, -0.7, 2.0])


def product(x):
    return np.prod(x + 2)


def sums_in_a_loop(x):
    s = 0.0
    for t in range(3):
        s += np.sum(x) * t
    return s


def until_it_is_small(x):
    s = np.sum(x**2)
    while s > 0.3:
        x = x * 0.7
        s = np.sum(x**2)
    return s


def matrices(x):
    return np.sum(np.outer(x, x) @ np.outer(x, x))


def extremes(x):
    return np.max(x) * np.min(x) + np.mean(x)


def scattered(x):
    y = np.zeros(3)
    for i in range(4):
        y[i % 3] += x[i] ** 2
    return np.sum(y * y)


def of_scipy(x):
    """Functions that a program calls by their addresses, which nobody sets if DaCe loads it."""
    return np.sum(special.betainc(1.3, 2.2, np.cos(x) ** 2) + stats.t.cdf(x, 3.0) + np.real(special.wofz(x)))


def order(x):
    """Positions of known content, which is no argument."""
    return np.median(x) + np.sum(np.linspace(0, 1, 77) * x[0])


def factors(x):
    """Library calls with rules of their own."""
    A = np.outer(x, x) + np.diag(x) + np.arange(16.0).reshape(4, 4)
    return np.sum(np.linalg.svd(A)[1] ** 3) + np.sum(np.linalg.eigvalsh(A) ** 2) + linalg.expm(A / 20).sum()


def mirrored(x):
    """A 4x4 matrix that is mirrored on its way back: GCC 12 permutes eight doubles wrongly."""
    return np.sum(np.linalg.qr(np.outer(x, x) + np.diag(x + 3.0))[1] ** 3)


def columns(x):
    """Writes to computed places of arrays that have extents of one."""
    y = np.zeros((4, 1))
    z = np.zeros((1, 4, 1))
    for i in range(4):
        k = int(x[i] + 1.25)
        y[k, 0] += x[i] ** 2
        z[0, k, 0] = x[i] * y[k, 0]
    return np.sum(y * z[0])


def zeros_of_a_spline(x):
    """Found by SciPy at run time, which needs declarations of Python's interface."""
    return np.sum(interpolate.CubicSpline(np.arange(4.0), x - 0.1).roots(extrapolate=False) ** 2)


FUNCTIONS = [product, sums_in_a_loop, until_it_is_small, matrices, extremes, scattered, of_scipy, order, factors]
FUNCTIONS += [mirrored, columns, zeros_of_a_spline]


def status_of(graph):
    """The number of a failed check, if the graph has checks."""
    return {n: np.zeros(1, np.int64) for n in graph.arglist() if n == "sdgrad_status"}


def of_one(x):
    return np.sum(special.erfcinv(0.3 * x * x))


def of_another(x):
    return np.sum(special.ndtri_exp(-x * x))


def test_graphs_with_different_special_functions(tmp_path, monkeypatch):
    """Each asks for the addresses of its own library. A second one asked for those of the first, and again for ever."""
    monkeypatch.chdir(tmp_path)
    for f in (of_one, of_another):
        result = np.zeros(1)
        sdgrad.to_sdfg(f, X)(x=X.copy(), __return=result)
        assert_close(result[0], f(X), 1e-12, "value")


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_gradients(f, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where DaCe builds
    graph = sdgrad.to_sdfg(f, X)
    values = []
    for held in (7.0, -3.0):
        result = np.full(1, held)
        graph(x=X.copy(), __return=result, **status_of(graph))
        values.append(result[0])
    assert_close(values, [f(X)] * 2, 1e-12, "value")
    sdgrad.add_backward_pass(graph, inputs=["x"], outputs=["__return"])
    result, gradient = np.zeros(1), np.zeros(4)
    graph(x=X.copy(), __return=result, gradient_x=gradient, gradient___return=np.ones(1), **status_of(graph))
    assert_close(result[0], f(X), 1e-12, "value")
    steps = 1e-6 * np.eye(4)
    assert_close(gradient, [(f(X + s) - f(X - s)) / 2e-6 for s in steps], 1e-7, "gradient")


def times(operator, x):
    return np.sum(operator * x)


def test_arguments_have_names_that_are_names_in_c():
    with pytest.raises(ArgumentError, match="'operator', which means something else in C"):
        sdgrad.to_sdfg(times, 2.0, X)


@pytest.mark.parametrize("add", [sdgrad.add_backward_pass, sdgrad.add_forward_tangent])
def test_a_function_is_no_graph(add):
    with pytest.raises(ArgumentError, match=r"not a function: of a function, sdgrad.to_sdfg"):
        add(product, ["x"], ["__return"])


@sdgrad.custom_vjp
def own(x):
    out = np.sin(x)
    return out


@own.defvjp
def own_vjp(grad_out):
    return 10 * grad_out


def total(x):
    return np.sum(own(x))


def test_rules_stay_with_the_graph(tmp_path, monkeypatch):
    """A graph holds what ``own`` computes, and not its rule; a changed one is refused."""
    monkeypatch.chdir(tmp_path)
    graph = sdgrad.to_sdfg(total, X)
    for changed in (copy.deepcopy(graph), sdgrad.to_sdfg(total, X)):
        changed.add_state_after(changed.sink_nodes()[0])
        with pytest.raises(DifferentiationError, match="derivatives of their own.*\n.*differentiate the graph that"):
            sdgrad.add_backward_pass(changed, inputs=["x"], outputs=["__return"])
    sdgrad.add_backward_pass(graph, inputs=["x"], outputs=["__return"])
    gradient = np.zeros(4)
    graph(x=X.copy(), __return=np.zeros(1), gradient_x=gradient, gradient___return=np.ones(1))
    np.testing.assert_array_equal(gradient, 10.0)
    tangent = np.zeros(1)
    forward = sdgrad.to_sdfg(total, X)
    sdgrad.add_forward_tangent(forward, inputs=["x"], outputs=["__return"])
    forward(x=X.copy(), __return=np.zeros(1), tangent_x=np.ones(4), tangent___return=tangent)
    assert tangent[0] == pytest.approx(40.0)
