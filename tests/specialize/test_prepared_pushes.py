"""Calls of ``jvp`` that are like earlier ones go the short way, and find the same."""

import numpy as np
import optree
import pytest

import sdgrad
from sdgrad.api.jvp import _prepared
from sdgrad.errors import ArgumentError

RNG = np.random.default_rng(2)
X, V = RNG.random(5), RNG.random(5)
FACTORS = RNG.random(5)


def number(x):
    return np.sum(np.sin(x) * x)


def several(x, y):
    return np.sin(x) * y, np.sum(x)


def powers(x, n, y=2.0):
    return x**n * y


def writes(x):
    x[0] = x[1] * x[2]
    return np.sum(x * x)


def nest(x):
    return {"a": x * FACTORS, "b": [np.sum(x), x[0]]}


def taken(x, i):
    return x[i] ** 2


def copied(values):
    return tuple(np.copy(v) if isinstance(v, np.ndarray) else v for v in values)


@pytest.mark.parametrize(
    ("f", "primals", "tangents", "known"),
    [
        (number, (X,), (V,), 1),
        (number, (X.astype(np.float32),), (V.astype(np.float32),), 1),
        (several, (X, V), (V, X), 1),
        (several, (1.5, 2.5), (0.5, 1.0), 0),  # tangents of numbers are arrays in a program
        (several, (X, V), (V, None), 0),  # what is left out goes the general way
        (powers, (X, 3), (V, None), 0),
        (writes, (X,), (V,), 1),
        (nest, (X,), (V,), 1),
        (several, ([X, 2 * X], V), ([V, V], X), 0),
    ],
)
def test_the_same_results(f, primals, tangents, known):
    _prepared.pop(f, None)
    if isinstance(primals[0], list):
        f = lambda x, y: several(x[0] * x[1], y)  # noqa: E731
    first = sdgrad.jvp(f, copied(primals), copied(tangents))
    assert sum(map(len, _prepared[f].known.values())) == known
    for k in range(3):
        given = copied(primals)
        again = sdgrad.jvp(f, list(given) if k else given, copied(tangents))
        assert optree.tree_structure(again) == optree.tree_structure(first)
        for a, b in zip(optree.tree_leaves(again), optree.tree_leaves(first), strict=True):
            assert type(a) is type(b) and np.array_equal(a, b)
        for a, b in zip(given, primals, strict=True):
            assert not isinstance(b, np.ndarray) or np.array_equal(a, b)


def test_values_of_another_call():
    for x in (X, 2 * X, -X):
        value, dot = sdgrad.jvp(number, (x,), (V,))
        assert np.isclose(value, number(x), rtol=1e-15)
        assert np.isclose(dot, np.sum((np.sin(x) + x * np.cos(x)) * V), rtol=1e-14)


@pytest.mark.parametrize("tangent", [np.ones(4), np.ones((5, 1)), 1.0, np.ones(5, complex)])
def test_tangents_that_do_not_fit(tangent):
    sdgrad.jvp(number, (X,), (V,))
    with pytest.raises(ArgumentError, match="tangent of 'x'"):
        sdgrad.jvp(number, (X,), (tangent,))


def test_what_is_read_outside_is_that_of_the_call(monkeypatch):
    for factor in (1.0, 2.0):
        monkeypatch.setitem(globals(), "FACTORS", factor * np.arange(5.0))
        values, dots = sdgrad.jvp(nest, (X,), (V,))
        assert np.array_equal(values["a"], factor * np.arange(5.0) * X)
        assert np.array_equal(dots["a"], factor * np.arange(5.0) * V)


def test_indices_outside():
    for i in ([0, 2], [-5, 4]):
        assert np.array_equal(sdgrad.jvp(taken, (X, np.array(i)), (V, None))[0], X[i] ** 2)
    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds"):
            sdgrad.jvp(taken, (X, np.array([0, 5])), (V, None))


def test_derivatives_inside_of_a_recorded_function():
    def slope(x, v):
        return np.sum(sdgrad.jvp(number, (x,), (v,))[1] ** 2)

    sdgrad.jvp(number, (X,), (V,))
    gradient = sdgrad.grad(slope)(X, V)
    dot = np.sum((np.sin(X) + X * np.cos(X)) * V)
    np.testing.assert_allclose(gradient, 2 * dot * (2 * np.cos(X) - X * np.sin(X)) * V, rtol=1e-13)


# Derivatives of derivatives.


def cubes(x):
    return np.sum(FACTORS * x**3)


def test_products_with_hessians(monkeypatch):
    for factor in (1.0, 2.0, 3.0):
        monkeypatch.setitem(globals(), "FACTORS", factor * np.arange(5.0))
        for x in (X, V):
            for _ in range(2):
                found = sdgrad.hvp(cubes, (x,), (V,))
                np.testing.assert_allclose(found, 6 * factor * np.arange(5.0) * x * V, rtol=1e-14)


def test_products_with_hessians_of_several_arguments():
    for x, y in ((X, V), (V, X)):
        for _ in range(2):
            by_x, by_y, by_n = sdgrad.hvp(lambda x, y, n: np.sum(x**2 * y) * n, (x, y, 3), (V, X, None))
            np.testing.assert_allclose(by_x, 6 * (y * V + x * X), rtol=1e-14)
            np.testing.assert_allclose(by_y, 6 * x * V, rtol=1e-14)
            assert by_n is None


def repeated(t, n):
    s = t
    for _ in range(n):
        s = s * t
    return s


def test_second_derivatives_by_what_decides():
    twice = sdgrad.grad(sdgrad.grad(repeated))
    for _ in range(3):
        for n in (1, 3, 5):
            np.testing.assert_allclose(twice(1.25, n), n * (n + 1) * 1.25 ** (n - 1), rtol=1e-14)


def test_second_derivatives_where_a_branch_decides():
    def bent(x, up=True):
        return np.sum(x**3) if up else np.sum(x**2)

    twice = sdgrad.grad(lambda x, up: np.sum(sdgrad.grad(bent)(x, up)))
    push = sdgrad.grad(bent)
    for _ in range(3):
        assert np.allclose(twice(X, True), 6 * X) and np.allclose(twice(X, False), 2.0)
        assert np.allclose(push(X), 3 * X**2) and np.allclose(push(X, False), 2 * X)
