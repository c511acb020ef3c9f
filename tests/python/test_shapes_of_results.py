"""Results have the shapes that NumPy gives them, in every composition: a number is no array of one element."""

import functools

import numpy as np
import pytest

import sdgrad

X = np.arange(12.0).reshape(4, 3) + 1
ONE = np.array([2.0])


def number(x):
    return np.sum(x**2)


def one_element(x):
    return np.sum(x**2, keepdims=True)


def shapes(found):
    return tuple(map(shapes, found)) if isinstance(found, tuple) else np.shape(found)


@pytest.mark.parametrize(("f", "own"), [(number, ()), (one_element, (1,))])
def test_of_a_mapped_function(f, own):
    mapped, many = sdgrad.vmap(f), (4, *own)
    assert shapes(mapped(X)) == shapes(sdgrad.compile_forward(lambda x: mapped(x))(X)) == many
    assert shapes(sdgrad.jvp(mapped, (X,), (X,))) == (many, many)
    value, pullback = sdgrad.vjp(mapped, X)
    assert shapes((value, *pullback(np.ones(many)))) == (many, X.shape)
    value, push = sdgrad.linearize(mapped, X)
    assert shapes((value, push(X))) == (many, many)
    assert shapes(sdgrad.jacobian(mapped)(X)) == (*many, *X.shape)
    assert shapes(sdgrad.vmap(mapped)(np.stack([X, X]))) == (2, *many)
    assert shapes(sdgrad.vmap(sdgrad.jacobian(f))(X)) == (4, *own, 3)


@pytest.mark.parametrize(("f", "own"), [(number, ()), (one_element, (1,))])
def test_inside_of_a_program(f, own):
    mapped, many = sdgrad.vmap(f), (4, *own)
    inside = sdgrad.compile_forward(lambda x: sdgrad.jvp(f, (x[0],), (x[1],)))
    assert shapes(inside(X)) == (own, own)
    assert shapes(sdgrad.compile_forward(lambda x: sdgrad.jvp(mapped, (x,), (x,)))(X)) == (many, many)
    assert shapes(sdgrad.compile_forward(lambda x: sdgrad.jacobian(f)(x[0]))(X)) == (*own, 3)


def test_a_loss_of_a_mapped_function():
    """``(N, 1) - (N,)`` would be ``(N, N)``, and a loss of another size."""
    mapped, wanted = sdgrad.vmap(number), np.arange(4.0)

    def loss(x, t):
        return np.sum((mapped(x) - t) ** 2)

    value, found = sdgrad.value_and_grad(loss)(X, wanted)
    rest = np.sum(X**2, axis=1) - wanted
    assert value == np.sum(rest**2)
    np.testing.assert_allclose(found, 4 * rest[:, None] * X)
    second = 4 * rest[:, None] + 8 * X * np.sum(X, axis=1, keepdims=True)
    moved, _ = sdgrad.hvp(loss, (X, wanted), (np.ones_like(X), None))
    np.testing.assert_allclose(moved, second)


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: x * 2, (1, 1)),
        (lambda x: np.sum(x), (1,)),
        (lambda x: x[0], (1,)),
        (lambda x: x.reshape(1, 1), (1, 1, 1)),
    ],
)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobians_of_one_element(f, shape, mode):
    assert shapes(sdgrad.jacobian(f, mode=mode)(ONE)) == shape


@pytest.mark.parametrize("f", [lambda x: x.reshape(1, 1) ** 2, lambda x: x**2, lambda x: x[0] ** 2, number])
def test_value_and_gradient_of_one_element(f):
    both = sdgrad.value_and_grad(f)
    for _ in range(2):  # the second call is a prepared one
        assert shapes(both(ONE)) == (np.shape(f(ONE)), (1,))


class Scaled:
    def __call__(self, x):
        return 2.0 * np.sum(x * x)


@pytest.mark.parametrize(
    "f", [Scaled(), functools.partial(lambda a, x: a * np.sum(x * x), 2.0)], ids=["object", "part"]
)
def test_vmap_of_what_has_no_name(f):
    x = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(sdgrad.vmap(f)(x), 2.0 * np.sum(x * x, axis=1))
