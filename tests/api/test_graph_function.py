"""Graphs as functions: ``from_sdfg``."""

from __future__ import annotations

import inspect

import dace
import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ArgumentError, NameNotFound, ParseError

N, T = dace.symbol("N"), dace.symbol("T")


@dace.program
def diffuse(u: dace.float64[N]):
    for _ in range(T):
        u[1:-1] = u[1:-1] + 0.1 * np.sin(u[:-2] - 2 * u[1:-1] + u[2:])
    return np.sum(u * u)


@dace.program
def scaled_product(A: dace.float64[N, N], B: dace.float64[N, N], C: dace.float64[N, N], alpha: dace.float64):
    C[:] = alpha * (A @ B)


@dace.program
def added(A: dace.float64[N], B: dace.float64[N]):
    B[:] += A


def diffuse_in_numpy(u: np.ndarray, steps: int) -> float:
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * np.sin(u[:-2] - 2 * u[1:-1] + u[2:])
    return float(np.sum(u * u))


def test_it_runs_as_the_graph_does():
    """What the graph writes is written in place, and its result is returned."""
    run = sdgrad.from_sdfg(diffuse.to_sdfg())
    assert list(inspect.signature(run).parameters) == ["u", "T", "N"]
    u = np.random.default_rng(0).random(40)
    theirs, own = u.copy(), u.copy()
    expected = diffuse.to_sdfg()(u=theirs, N=40, T=7)
    assert np.allclose(run(own, 7), expected, rtol=1e-14)
    assert np.allclose(own, theirs, rtol=1e-14) and not np.allclose(own, u)


@pytest.mark.parametrize("size", [400, 900])
def test_each_size_has_its_plan(size):
    """A limit of memory is kept at any size, by a graph whose sizes are symbols; gradients are those of all tapes."""
    run, u = sdgrad.from_sdfg(diffuse.to_sdfg()), np.random.default_rng(1).random(size)
    plan = sdgrad.memory_plan(run, u, 200, points=3)
    assert plan.points[-1].bytes < plan.points[0].bytes / 4
    whole = sdgrad.grad(run)(u, 200)
    assert np.array_equal(sdgrad.grad(run, memory_limit=plan.points[1].bytes)(u, 200), whole)
    step = 1e-6 * np.cos(np.arange(size))
    slope = (diffuse_in_numpy(u + step, 200) - diffuse_in_numpy(u - step, 200)) / 2
    assert np.isclose(whole @ step, slope, rtol=1e-6)


def test_in_other_functions():
    """Derivatives of functions that call it, by arrays and scalars, with an output that is left out."""
    product = sdgrad.from_sdfg(scaled_product.to_sdfg(), "C")
    A, B = np.random.default_rng(2).random((2, 5, 5))

    def loss(A, B, alpha):
        return np.sum(product(A, B, alpha=alpha) ** 2)

    value, (dA, dalpha) = sdgrad.value_and_grad(loss, ("A", "alpha"))(A, B, 1.5)
    assert np.isclose(value, np.sum((1.5 * A @ B) ** 2))
    assert np.allclose(dA, 2 * 1.5**2 * (A @ B) @ B.T) and np.isclose(dalpha, 2 * 1.5 * np.sum((A @ B) ** 2))
    assert np.isclose(sdgrad.hessian(loss, "alpha")(A, B, 1.5), 2 * np.sum((A @ B) ** 2))
    assert np.allclose(sdgrad.jvp(lambda A, B: product(A, B, alpha=1.5), (A, B), (A, B))[1], 2 * 1.5 * A @ B)
    rows = sdgrad.vmap(lambda s: np.sum(product(s * A, B, alpha=1.0)))(np.arange(3.0))
    assert np.allclose(rows, np.arange(3.0) * np.sum(A @ B))


def test_an_output_that_is_given():
    """It is written in place, and returned."""
    product, A = sdgrad.from_sdfg(scaled_product.to_sdfg(), ["C"]), np.eye(3)
    C = np.full((3, 3), 7.0)
    assert np.array_equal(product(A, 2 * A, C, 3.0), 6 * A) and np.array_equal(C, 6 * A)


def test_the_order_of_parameters():
    """It is that of the program; outputs that the graph reads have to be given, sizes need not be."""
    assert list(inspect.signature(sdgrad.from_sdfg(scaled_product.to_sdfg(), "C")).parameters) == [*"ABC", "alpha", "N"]
    A, B = np.ones((2, 3))
    assert np.array_equal(sdgrad.from_sdfg(added.to_sdfg(), "B")(A, B, N=3), 2 * A) and np.array_equal(B, 2 * A)


def test_later_changes_of_the_graph_change_nothing():
    """The graph is copied."""
    sdfg = scaled_product.to_sdfg()
    product = sdgrad.from_sdfg(sdfg, "C")
    for state in list(sdfg.nodes()):
        sdfg.remove_node(state)
    assert np.array_equal(product(np.eye(3), np.eye(3), alpha=2.0), 2 * np.eye(3))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda f, A: f(A, A[:3], alpha=1.0),
            ArgumentError,
            r"takes 'B' of shape \(N, N\), found one of shape \(3, 4\)",
        ),
        (lambda f, A: f(A[0], A, alpha=1.0), ArgumentError, r"takes 'A' of shape \(N, N\), found one of shape \(4,\)"),
        (lambda f, A: f(A, A), ArgumentError, "missing a required argument: 'alpha'"),
        (lambda f, A: f(A, A.astype(int), alpha=1.0), ArgumentError, "takes 'B' of type float64, found int64"),
        (lambda f, A: f(A, A, alpha=1j), ArgumentError, "takes 'alpha' of type float64, found complex128"),
        (lambda f, A: f(A, A, alpha=1.0, N=5), ArgumentError, "is given N = 5, and arrays of 4"),
        (lambda f, A: sdgrad.from_sdfg(f.sdfg, "alpha"), ArgumentError, "'alpha' is a number"),
        (lambda f, A: sdgrad.from_sdfg(added.to_sdfg(), "B")(A[0]), ArgumentError, "missing a required argument: 'B'"),
        (lambda f, A: sdgrad.from_sdfg(scaled_product), ArgumentError, "a dace.SDFG is wanted, not a DaceProgram"),
        (lambda f, A: sdgrad.from_sdfg(f.sdfg, "Q"), NameNotFound, "no argument named 'Q'"),
        (lambda f, A: sdgrad.grad(f.sdfg)(A, A, A, 1.0), ParseError, r"use sdgrad.from_sdfg\(sdfg\)"),
    ],
)
def test_errors(call, error, text):
    """Shapes, missing arguments, and what is no graph, or not a function."""
    product = sdgrad.from_sdfg(scaled_product.to_sdfg(), "C")
    with pytest.raises(error, match=text):
        call(product, np.eye(4))
