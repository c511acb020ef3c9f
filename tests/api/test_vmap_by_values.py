"""``vmap`` over values that decide what is computed: truth values, texts, keys, sizes, positions."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ArgumentError

X = np.array([[1.0, 2.0], [3.0, 4.0], [-1.0, 0.5], [2.0, 7.0]])
FLAGS = np.array([True, False, True, False])
COUNTS = np.array([1, 2, 2, 0])


def of_flag(x, flag):
    return np.sum(x**2) * (2.0 if flag else 1.0)


def where(x, flag):
    return np.sum(x**2) * np.where(flag, 2.0, 1.0)


def of_text(x, text):
    return np.sum(x**2) * (2.0 if text == "a" else 1.0)


CASES = {
    "a flag": (of_flag, FLAGS),
    "where": (where, FLAGS),
    "a text": (of_text, np.array(["a", "b", "a", "c"])),
    "a key": (lambda x, n: {0: 1.0, 1: 2.0, 2: 3.0}[n] * x[0], COUNTS),
    "a range": (lambda x, n: x[1] + sum(x[0] * (k + 1) for k in range(n)), COUNTS),
    "a list": (lambda x, n: [0.5, 2.0, 3.0][n] * x[0], COUNTS),
    "linspace": (lambda x, n: np.sum(np.linspace(0.0, x[0], n + 1)), COUNTS),
    "a text of a number": (lambda x, n: (2.0 if f"{n}" == "1" else 3.0) * x[0], COUNTS),
    "roll": (lambda x, n: np.roll(x, n)[0] ** 2, COUNTS),
    "an index": (lambda x, n: x[n] ** 2, np.array([1, 0, -1, -2])),
    "a slice": (lambda x, n: np.sum(x[:n]), COUNTS),
}


def one_by_one(f, x, values):
    return np.array([f(row, value.item()) for row, value in zip(x, values, strict=True)])


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    f, values = CASES[name]
    mapped = sdgrad.vmap(f)
    for order in (slice(None), slice(None, None, -1)):
        np.testing.assert_allclose(mapped(X, values[order]), one_by_one(f, X, values[order]), rtol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    f, values = CASES[name]
    expected = np.array([sdgrad.grad(f)(row, v.item()) for row, v in zip(X, values, strict=True)])
    np.testing.assert_allclose(sdgrad.vmap(sdgrad.grad(f))(X, values), expected, rtol=1e-14)
    results, pullback = sdgrad.vjp(sdgrad.vmap(f), X, values)
    np.testing.assert_allclose(results, one_by_one(f, X, values), rtol=1e-14)
    np.testing.assert_allclose(pullback(np.ones(len(X)))[0], expected, rtol=1e-14)
    for order in (slice(None), slice(None, None, -1)):
        found = sdgrad.grad(lambda x, v: np.sum(sdgrad.vmap(f)(x, v)))(X[order], values[order])
        np.testing.assert_allclose(found, expected[order], rtol=1e-14)


def test_tangents_follow_the_values():
    mapped = sdgrad.vmap(of_flag)
    for flags in (FLAGS, ~FLAGS):
        results, tangents = sdgrad.jvp(mapped, (X, flags), (X, None))
        np.testing.assert_allclose(tangents, 2.0 * results)


def test_nests_and_defaults():
    mapped = sdgrad.vmap(lambda x, options: of_flag(x, options["on"]))
    np.testing.assert_allclose(mapped(X, {"on": FLAGS}), one_by_one(of_flag, X, FLAGS))

    def scaled(p, x, power=2, flag=True):
        return np.sum(p * x**power) if flag else 0.0

    np.testing.assert_allclose(sdgrad.vmap(scaled, (None, 0))(2.0, X), 2.0 * np.sum(X**2, 1))


def test_nothing_else_is_mapped():
    np.testing.assert_array_equal(sdgrad.vmap(lambda flag: 2.0 if flag else 1.0)(FLAGS), [2.0, 1.0, 2.0, 1.0])
    with pytest.raises(ArgumentError, match="write a loop over them"):
        sdgrad.grad(lambda x: np.sum(x * sdgrad.vmap(lambda flag: 2.0 if flag else 1.0)(FLAGS)))(np.ones(4))


def test_errors():
    with pytest.raises(ArgumentError, match=r"shapes \(1,\) and \(2,\) for different elements"):
        sdgrad.vmap(lambda x, n: np.arange(n) * x)(np.ones(2), np.array([1, 2]))
    wrong = np.array([0, 1, 7, 0])
    index = CASES["an index"][0]
    for mapped in (sdgrad.vmap(index), lambda x, n: sdgrad.vjp(sdgrad.vmap(index), x, n)):
        with pytest.raises(IndexError):
            mapped(X, wrong)
    gradient = sdgrad.grad(lambda x, n: np.sum(sdgrad.vmap(index)(x, n)))
    assert gradient(X, np.array([0, 1, 1, 0])).shape == X.shape
    with pytest.raises(IndexError, match="vmap maps over"):
        gradient(X, wrong)


def test_other_sizes_of_before():
    """What was taken to hold for arrays of three elements says nothing about larger ones."""

    def element(x, n):
        return x[n] ** 2

    gradient = sdgrad.grad(lambda x, n: np.sum(sdgrad.vmap(element)(x, n)))
    for size in (3, 9, 3):
        x, places = np.arange(2.0 * size).reshape(2, size), np.array([size - 1, 0])
        assert sdgrad.grad(element)(x[0], size - 1)[-1] == 2.0 * x[0, -1]
        expected = np.zeros_like(x)
        expected[[0, 1], places] = 2.0 * x[[0, 1], places]
        np.testing.assert_array_equal(gradient(x, places), expected)
        np.testing.assert_array_equal(sdgrad.vmap(sdgrad.grad(element))(x, places), expected)
