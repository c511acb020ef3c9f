"""Graphs that ``to_sdfg`` makes run as they are, and can be differentiated: no reduction adds to what was there."""

import numpy as np
import pytest
from references import assert_close

import sdgrad
from sdgrad.errors import ArgumentError

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


@pytest.mark.parametrize(
    "f", [product, sums_in_a_loop, until_it_is_small, matrices, extremes, scattered], ids=lambda f: f.__name__
)
def test_values_and_gradients(f, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where DaCe builds
    graph = sdgrad.to_sdfg(f, X)
    values = []
    for held in (7.0, -3.0):
        result = np.full(1, held)
        graph(x=X.copy(), __return=result)
        values.append(result[0])
    assert_close(values, [f(X)] * 2, 1e-12, "value")
    sdgrad.add_backward_pass(graph, inputs=["x"], outputs=["__return"])
    result, gradient = np.zeros(1), np.zeros(4)
    graph(x=X.copy(), __return=result, gradient_x=gradient, gradient___return=np.ones(1))
    assert_close(result[0], f(X), 1e-12, "value")
    steps = 1e-6 * np.eye(4)
    assert_close(gradient, [(f(X + s) - f(X - s)) / 2e-6 for s in steps], 1e-7, "gradient")


@pytest.mark.parametrize("add", [sdgrad.add_backward_pass, sdgrad.add_forward_tangent])
def test_a_function_is_no_graph(add):
    with pytest.raises(ArgumentError, match=r"not a function: of a function, sdgrad.to_sdfg"):
        add(product, ["x"], ["__return"])
