"""Symbols that no argument gives a size, in programs as DaCe's users write them: small ones that call each other."""

import dace
import numpy as np
import pytest
from references import assert_close

import sdgrad
from sdgrad.errors import ArgumentError
from sdgrad.lift.symbol_values import symbols_of, with_symbols

NAMES = ("M", "N", "bins", "steps", "R", "K")
M, N, bins, steps, R, K = (dace.symbol(s, dtype=dace.int64, positive=True) for s in NAMES)
X = np.linspace(0.05, 0.95, 9)


@dace.program
def edges(last: dace.float64, out: dace.float64[M + 1]):
    for i in dace.map[0 : M + 1]:
        out[i] = last * i / M


@dace.program
def sums(x: dace.float64[N]):
    limits = np.ndarray((bins + 1,), dtype=np.float64)
    edges(1.0, limits)
    found = np.zeros((bins,), dtype=np.float64)
    for i in dace.map[0:N]:
        found[min(dace.int64(x[i] * bins), bins - 1)] += x[i] * limits[bins]
    return found


@dace.program
def squares(x: dace.float64[N]):
    return np.sum(sums(x) ** 2)


def sums_of_squares(x, count):
    place = np.minimum((x * count).astype(int), count - 1)
    total = np.bincount(place, x, count)
    return np.sum(total**2), 2 * total[place]


@pytest.mark.parametrize("count", [3, 5])
def test_a_call_gives_a_symbol_a_value(count):
    value, slope = sdgrad.value_and_grad(squares)(X, bins=count)
    expected = sums_of_squares(X, count)
    assert_close(value, expected[0], 1e-12, "result")
    assert_close(slope, expected[1], 1e-12, "result")


def test_other_transforms_take_values_as_well():
    expected = sums_of_squares(X, 3)
    value, pullback = sdgrad.vjp(squares, X, bins=3)
    assert_close(pullback(1.0)[0], expected[1], 1e-12, "result")
    assert_close(value, expected[0], 1e-12, "result")
    assert_close(sdgrad.jacobian(squares)(X, bins=3), expected[1], 1e-12, "result")


@dace.program
def halved(x: dace.float64[N]):
    for _ in range(steps):
        for i in dace.map[0:N]:
            x[i] = 0.5 * np.sin(x[i])


@dace.program
def with_count(x: dace.float64[N], n: dace.int64):
    y = x * 1.0
    halved(y, steps=n)
    return np.sum(y)


def test_a_program_gives_one_that_it_calls_a_value():
    slope = sdgrad.grad(with_count)(X, 2)
    inner = 0.5 * np.sin(X)
    assert_close(slope, 0.25 * np.cos(inner) * np.cos(X), 1e-12, "result")


@dace.program
def powers(x: dace.float64[R**K]):
    y = np.zeros((R, R**K))
    for k in range(K):
        z = np.reshape(x, (R**k, R ** (K - k)))
        y[0, : R**k] += z[:, 0] ** 2
    return np.sum(y)


def test_a_size_with_two_symbols():
    x = np.arange(8.0)
    expected = np.zeros(8)
    for k in range(3):
        expected.reshape(2**k, -1)[:, 0] += 2 * x.reshape(2**k, -1)[:, 0]
    assert_close(sdgrad.grad(powers)(x, R=2, K=3), expected, 1e-12, "result")


@dace.program
def mirrored(x: dace.float64[M]):
    y = np.ndarray((M,), dtype=np.float64)
    for i in dace.map[0:M]:
        y[i] = x[M - 1 - i]
    return y


@dace.program
def recursion(x: dace.float64[N]):
    y = np.zeros_like(x)
    y[0] = x[0]
    for k in range(1, N):
        y[:k] += 0.5 * x[k] * mirrored(y[:k])
        y[k] = np.dot(mirrored(x[:k]), y[:k])
    return y


@dace.program
def of_recursion(x: dace.float64[N]):
    return np.sum(recursion(x))


def plain_recursion(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for k in range(1, len(x)):
        y[:k] += 0.5 * x[k] * y[:k][::-1]
        y[k] = np.dot(x[:k][::-1], y[:k])
    return np.sum(y)


def differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def test_a_program_is_called_with_parts_whose_size_a_loop_changes():
    value, slope = sdgrad.value_and_grad(of_recursion)(X[:6])
    assert_close(value, plain_recursion(X[:6]), 1e-12, "result")
    assert_close(slope, differences(plain_recursion, X[:6]), 1e-7, "result")


def test_the_graph_of_such_a_program():
    sdfg = recursion.to_sdfg(simplify=False)  # results of what it calls are temporaries called like results
    sdgrad.add_backward_pass(sdfg, inputs="x", outputs="__return")
    found = np.zeros(6)
    sdfg(x=X[:6].copy(), gradient_x=found, gradient___return=np.ones(6), N=6)
    assert_close(found, differences(plain_recursion, X[:6]), 1e-7, "result")


@pytest.mark.parametrize(
    "values, message",
    [
        ({"bins": 2.5}, "'bins' is a symbol, and 2.5 no integer"),
        ({"bins": 3, "N": 4}, "N is 4, but 9 in the shapes of arguments"),
        ({"bin": 3}, "unexpected keyword argument 'bin'"),
    ],
)
def test_wrong_values(values, message):
    with pytest.raises(ArgumentError, match=message):
        sdgrad.grad(squares)(X, **values)


def test_what_a_program_mentions():
    assert symbols_of(squares) == {"M", "N", "bins"}
    assert with_symbols(squares, {"bins": 3}) is with_symbols(squares, {"bins": 3})
    assert with_symbols(squares, {"bins": 3}) is not with_symbols(squares, {"bins": 4})
