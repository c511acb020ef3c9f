"""Derivatives of derivatives against JAX: Hessians and their products, third derivatives, Jacobians in both modes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from references import assert_close

import sdgrad

X = np.array([0.7, 0.5, 0.8, 0.3, 0.6])
V = np.array([0.3, -0.2, 0.5, 0.1, -0.4])


# Programs with loops, and the same for JAX ------------------------------------------------------------


def recurrence(x):
    for i in range(1, 5):
        x[i] = x[i] * np.sin(x[i - 1])
    return np.sum(x * x)


def recurrence_jax(x):
    for i in range(1, 5):
        x = x.at[i].set(x[i] * jnp.sin(x[i - 1]))
    return jnp.sum(x * x)


def branches(x):
    s = 0.0
    for i in range(5):
        if x[i] > 0.55:
            s += x[i] ** 3
        else:
            s += np.exp(x[i]) * s
    return s


def branches_jax(x):
    s = 0.0
    for i in range(5):
        s = jnp.where(x[i] > 0.55, s + x[i] ** 3, s + jnp.exp(x[i]) * s)
    return s


def unknown_trips(x):
    s = x[0]
    while s < 10.0:
        s = s * s + x[1] + 1.0
    return s * x[2]


def unknown_trips_jax(x):
    s = x[0]
    while s < 10.0:
        s = s * s + x[1] + 1.0
    return s * x[2]


def steps(x):
    y = np.zeros(5)
    for _ in range(3):
        for i in range(1, 4):
            y[i] = np.sin(x[i - 1] * y[i]) + x[i] * x[i + 1]
        x[1:-1] = x[1:-1] * y[1:-1]
    return np.sum(y * x)


def steps_jax(x):
    y = jnp.zeros(5)
    for _ in range(3):
        for i in range(1, 4):
            y = y.at[i].set(jnp.sin(x[i - 1] * y[i]) + x[i] * x[i + 1])
        x = x.at[1:-1].set(x[1:-1] * y[1:-1])
    return jnp.sum(y * x)


def triangle(x):
    s = 0.0
    for i in range(5):
        for j in range(i):
            s += x[i] * x[j] * np.cos(x[i] - x[j])
    return s


def triangle_jax(x):
    s = 0.0
    for i in range(5):
        for j in range(i):
            s = s + x[i] * x[j] * jnp.cos(x[i] - x[j])
    return s


def backwards(x):
    for i in range(3, -1, -1):
        x[i] += np.tanh(x[i + 1] * x[i])
    return x[0]


def backwards_jax(x):
    for i in range(3, -1, -1):
        x = x.at[i].add(jnp.tanh(x[i + 1] * x[i]))
    return x[0]


def stopped(x):
    s = 1.0
    for i in range(5):
        if s > 1.5:
            break
        s = s * (1.0 + x[i])
    return s * np.sum(x)


def stopped_jax(x):
    s = 1.0
    for i in range(5):
        if s > 1.5:
            break
        s = s * (1.0 + x[i])
    return s * jnp.sum(x)


def extremes(x):
    t = 0.0
    for i in range(1, 4):
        t += np.max(x[: i + 2] * x[i]) * np.prod(x[i:])
    return t


def extremes_jax(x):
    t = 0.0
    for i in range(1, 4):
        t = t + jnp.max(x[: i + 2] * x[i]) * jnp.prod(x[i:])
    return t


def products(x):
    y = x * 1.0
    for _ in range(3):
        y = np.tanh(np.outer(x, y) @ x)
    return y @ x


def products_jax(x):
    y = x * 1.0
    for _ in range(3):
        y = jnp.tanh(jnp.outer(x, y) @ x)
    return y @ x


def gathers(x):
    index = np.array([2, 0, 2, 4, 1])
    y = np.zeros(5)
    for i in range(5):
        y[index[i]] += x[i] * x[index[i]]
    return np.sum(np.sin(y))


def gathers_jax(x):
    index = np.array([2, 0, 2, 4, 1])
    y = jnp.zeros(5)
    for i in range(5):
        y = y.at[index[i]].add(x[i] * x[index[i]])
    return jnp.sum(jnp.sin(y))


PAIRS = [
    (recurrence, recurrence_jax),
    (branches, branches_jax),
    (unknown_trips, unknown_trips_jax),
    (steps, steps_jax),
    (triangle, triangle_jax),
    (backwards, backwards_jax),
    (stopped, stopped_jax),
    (extremes, extremes_jax),
    (products, products_jax),
    (gathers, gathers_jax),
]
with_jax = pytest.mark.parametrize("function, reference", PAIRS, ids=[f.__name__ for f, _ in PAIRS])


@with_jax
def test_products_with_the_hessian(function, reference):
    """Forward over reverse."""
    wanted = jax.jvp(jax.grad(reference), (X,), (V,))[1]
    assert_close(sdgrad.hvp(function, (X,), (V,)), wanted, 1e-10, "hvp")


@with_jax
def test_hessian(function, reference):
    assert_close(sdgrad.hessian(function)(X), jax.hessian(reference)(X), 1e-10, "hessian")


@pytest.mark.parametrize("function, reference", PAIRS[:3], ids=[f.__name__ for f, _ in PAIRS[:3]])
def test_third_derivatives(function, reference):
    """The Jacobian of the Hessian's product with a vector, forward over forward over reverse."""
    third = sdgrad.jacobian(sdgrad.jacobian(sdgrad.grad(function), mode="forward"), mode="forward")(X)
    wanted = jax.jacfwd(jax.jacfwd(jax.grad(reference)))(X)
    assert_close(third, wanted, 1e-9, "third derivatives")


def scalar(t):
    return np.sin(t) * t**3 + np.exp(-t)


def test_scalars_to_the_fourth_order():
    found, wanted = scalar, lambda t: jnp.sin(t) * t**3 + jnp.exp(-t)
    for order in range(4):
        found, wanted = sdgrad.grad(found), jax.grad(wanted)
        assert_close(found(0.7), wanted(0.7), 1e-12, f"order {order + 1}")


@with_jax
def test_reverse_over_reverse(function, reference):
    """The gradient of a gradient's product with a vector: of the gradient itself, and of a function that calls it."""
    wanted = jax.jvp(jax.grad(reference), (X,), (V,))[1]
    first = sdgrad.grad(function)
    assert_close(sdgrad.vjp(first, X)[1](V)[0], wanted, 1e-10, "the gradient itself")
    assert_close(sdgrad.grad(lambda x: np.sum(first(x) * V))(X), wanted, 1e-10, "in a function")


def loops_of_unknown_trips(x):
    s = 0.0
    for i in range(3):
        t = x[i]
        while t < 5.0:
            t = t + 0.8 + 0.3 * np.sin(t * x[3])
            if t > 3.0:
                t = t * (1.1 + 0.1 * x[4] ** 2)
        s = s + t * t
    return s


def test_reverse_over_reverse_of_reverse():
    """Counts of iterations, which size the tapes, run backwards and forwards again."""

    def curvature(x):
        return np.sum(sdgrad.grad(lambda y: np.sum(sdgrad.grad(loops_of_unknown_trips)(y) * V))(x) * x)

    def difference(direction, h=1e-5):
        hessian = sdgrad.hessian(loops_of_unknown_trips)
        return (
            np.sum(hessian(X + h * direction) @ V * (X + h * direction))
            - np.sum(hessian(X - h * direction) @ V * (X - h * direction))
        ) / (2 * h)

    wanted = [difference(e) for e in np.eye(len(X))]
    assert_close(sdgrad.grad(curvature)(X), wanted, 1e-6, "third derivatives")


# Jacobians ---------------------------------------------------------------------------------------------


def layer(x, A):
    return np.sin(A @ x)


def layer_jax(x, A):
    return jnp.sin(A @ x)


def in_place(x):
    for i in range(1, 5):
        x[i] = x[i] * x[i - 1]
    return x * 2.0


def in_place_jax(x):
    for i in range(1, 5):
        x = x.at[i].set(x[i] * x[i - 1])
    return x * 2.0


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobian(mode):
    A = np.arange(15.0).reshape(3, 5) / 10
    first, second = sdgrad.jacobian(layer, wrt=(0, "A"), mode=mode)(X, A)
    assert_close(first, jax.jacobian(layer_jax)(X, A), 1e-12, "by x")
    assert_close(second, jax.jacobian(layer_jax, argnums=1)(X, A), 1e-12, "by A")
    assert_close(sdgrad.jacobian(in_place, mode=mode)(X), jax.jacobian(in_place_jax)(X), 1e-12, "in place")


def form(a, B):
    return np.sum(a * (B @ a))


def test_blocks_of_a_hessian():
    B = np.arange(25.0).reshape(5, 5) / 10
    found = sdgrad.hessian(form, wrt=(0, 1))(X, B)
    wanted = jax.hessian(lambda a, B: jnp.sum(a * (B @ a)), argnums=(0, 1))(X, B)
    for i in range(2):
        for j in range(2):
            assert_close(found[i][j], wanted[i][j], 1e-12, f"block {i}, {j}")


def several(x):
    return x * 2.0, x * x


def test_shapes_of_scalars_and_of_arrays_of_one_element():
    """As the arguments have them, however the graph does."""
    assert np.shape(sdgrad.hessian(scalar)(0.7)) == ()
    twice = sdgrad.jacobian(sdgrad.jacobian(scalar))
    assert np.shape(twice(0.7)) == () and np.isclose(twice(0.7), sdgrad.hessian(scalar)(0.7))
    one, v = np.array([0.4]), np.array([2.0])
    assert sdgrad.hvp(form, (one, np.ones((1, 1))), (v, np.ones((1, 1))))[0].shape == (1,)
    assert sdgrad.hessian(form)(one, np.ones((1, 1))).shape == (1, 1)


def test_jacobians_of_several_results():
    for k, found in enumerate(sdgrad.jacobian(several)(X)):
        assert np.allclose(found, jax.jacobian(lambda x, k=k: (x * 2.0, x * x)[k])(X))


def test_wrong_calls():
    with pytest.raises(sdgrad.errors.ArgumentError, match="argument 'x' is int64"):
        sdgrad.jacobian(layer)(np.array([1, 2]), np.ones((2, 2)))
    with pytest.raises(ValueError, match="sideways"):
        sdgrad.jacobian(layer, mode="sideways")
    with pytest.raises(sdgrad.errors.NotScalarError, match="needs a scalar"):
        sdgrad.hessian(in_place)(X)


def roots_of_one(x):
    return np.sum((np.sqrt(x) - 1.0) ** 2)


def test_a_cotangent_of_zero_is_no_constant():
    """At 1 the cotangent of the root is zero, and moves: the guard of infinite derivatives hid that."""
    x = np.array([1.0, 4.0])
    assert_close(sdgrad.hessian(roots_of_one)(x), np.diag(0.5 * x**-1.5), 1e-12, "hessian")
    assert_close(sdgrad.hvp(roots_of_one, (x,), (np.ones(2),)), 0.5 * x**-1.5, 1e-12, "hvp")
