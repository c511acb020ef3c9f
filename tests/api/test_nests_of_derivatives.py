"""Derivatives return nests, and other derivatives of them keep these: beside JAX, which does."""

import jax
import numpy as np
import pytest

import sdgrad

jax.config.update("jax_enable_x64", True)
U, W = np.linspace(0.2, 1.4, 12).reshape(4, 3), np.linspace(-1, 1, 4)


def scalar(np):
    return lambda u, v: np.sum(np.sin(u) ** 2) * v + np.sum(u**3) * v**2


def vector(np):
    return lambda u, v: np.sin(u) * v + u**2


def spelled(nest):
    """A nest with arrays as such."""
    return tuple(map(spelled, nest)) if isinstance(nest, (tuple, list)) else np.asarray(nest)


def compare(found, wanted):
    assert isinstance(found, tuple) == isinstance(wanted, tuple)
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            compare(a, b)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


OURS = {
    "value_and_grad": lambda: sdgrad.value_and_grad(scalar(np), wrt=(0, 1)),
    "grad of one": lambda: sdgrad.grad(scalar(np), wrt=(0,)),
    "jacobian": lambda: sdgrad.jacobian(vector(np), wrt=(0, 1)),
    "jacobian of one": lambda: sdgrad.jacobian(vector(np), wrt=(0,)),
    "hessian": lambda: sdgrad.hessian(scalar(np), wrt=(0, 1)),
    "hessian of one": lambda: sdgrad.hessian(scalar(np), wrt=(0,)),
}
THEIRS = {
    "value_and_grad": lambda: jax.value_and_grad(scalar(jax.numpy), argnums=(0, 1)),
    "grad of one": lambda: jax.grad(scalar(jax.numpy), argnums=(0,)),
    "jacobian": lambda: jax.jacobian(vector(jax.numpy), argnums=(0, 1)),
    "jacobian of one": lambda: jax.jacobian(vector(jax.numpy), argnums=(0,)),
    "hessian": lambda: jax.hessian(scalar(jax.numpy), argnums=(0, 1)),
    "hessian of one": lambda: jax.hessian(scalar(jax.numpy), argnums=(0,)),
}


@pytest.fixture(params=list(OURS))
def both(request):
    return OURS[request.param](), THEIRS[request.param]()


def test_batches(both):
    compare(spelled(sdgrad.vmap(both[0])(U, W)), spelled(jax.vmap(both[1])(U, W)))


def test_tangents(both):
    ours, theirs = both
    for found, wanted in zip(
        sdgrad.jvp(ours, (U[0], W[0]), (U[1], W[1])), jax.jvp(theirs, (U[0], W[0]), (U[1], W[1])), strict=True
    ):
        compare(spelled(found), spelled(wanted))


def test_pullbacks(both):
    outputs, pullback = sdgrad.vjp(both[0], U[0], W[0])
    wanted, theirs = jax.vjp(both[1], U[0], W[0])
    compare(spelled(outputs), spelled(wanted))
    compare(spelled(pullback(outputs)), spelled(theirs(wanted)))


def test_inside(both):
    ours, theirs = both

    def total(own, np):
        def of(nest):
            return sum([of(x) for x in nest]) if isinstance(nest, tuple) else np.sum(np.cos(nest))

        return lambda u, v: of(own(u, v))

    found = sdgrad.grad(total(ours, np), wrt=(0, 1))(U[0], W[0])
    compare(spelled(found), spelled(jax.grad(total(theirs, jax.numpy), argnums=(0, 1))(U[0], W[0])))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (("last", "tracks"), r"extra key\(s\): \['tracks'\]"),
        (("last",), r"missing key\(s\): \['track'\]"),
    ],
)
def test_cotangents_in_a_dict_have_the_keys_of_the_results(keys, message):
    _, pullback = sdgrad.vjp(lambda x: {"track": 2.0 * x, "last": x[0]}, np.ones(3))
    seeds = {"last": 3.0, "track": np.arange(3.0), "tracks": np.arange(3.0)}
    assert np.array_equal(pullback({n: seeds[n] for n in ("track", "last")})[0], [3.0, 2.0, 4.0])
    with pytest.raises(sdgrad.errors.ArgumentError, match=message):
        pullback({n: seeds[n] for n in keys})


def test_a_dict_of_cotangents_for_one_result():
    _, pullback = sdgrad.vjp(lambda x: np.sum(x * x), np.ones(3))
    with pytest.raises(sdgrad.errors.ArgumentError, match="there is one result, which is none"):
        pullback({"a": 1.0})


@pytest.mark.parametrize("count", [2, 20])
def test_products_of_a_vector_with_many_rows(count):
    """Twenty of them are worth a product with a matrix, which no other dimension is left for: that was an error."""
    rng = np.random.default_rng(0)
    w, rows, y = rng.random(3), rng.random((count, 3)), rng.random(count)
    found = sdgrad.vmap(lambda w, x: w @ x, in_axes=(None, 0))(w, rows)
    np.testing.assert_allclose(found, rows @ w, rtol=1e-13)
    slopes = sdgrad.vmap(sdgrad.grad(lambda w, x, y: (w @ x - y) ** 2), in_axes=(None, 0, 0))(w, rows, y)
    np.testing.assert_allclose(slopes, 2 * (rows @ w - y)[:, None] * rows, rtol=1e-12)
