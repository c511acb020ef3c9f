"""Nests of arguments and results: derivatives in the nests of the arguments, compared with JAX."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ArgumentError

RNG = np.random.default_rng(0)
LAYERS = [(RNG.normal(size=(3, 4)), RNG.normal(size=4)), (RNG.normal(size=(4, 2)), np.zeros(2))]
INPUTS = RNG.normal(size=(5, 3))


def network(layers, x, np=np):
    for weights, bias in layers[:-1]:
        x = np.tanh(x @ weights + bias)
    weights, bias = layers[-1]
    return np.sum((x @ weights + bias) ** 2)


def jax_network(layers, x):
    return network(layers, x, jnp)


def equal(found, wanted):
    a, b = jax.tree.leaves(found), jax.tree.leaves(wanted)
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_a_list_of_layers():
    value, found = sdgrad.value_and_grad(lambda p, x: network(p, x))(LAYERS, INPUTS)
    assert value == pytest.approx(network(LAYERS, INPUTS))
    assert type(found) is list and type(found[0]) is tuple
    equal(found, jax.grad(jax_network)(LAYERS, INPUTS))


def test_several_arguments():
    own, inputs = sdgrad.grad(lambda p, x: network(p, x), wrt=(0, "x"))(LAYERS, INPUTS)
    equal((own, inputs), jax.grad(jax_network, (0, 1))(LAYERS, INPUTS))


class Point(NamedTuple):
    x: np.ndarray
    y: float


@dataclasses.dataclass
class Model:
    weights: np.ndarray
    scale: float
    kind: str
    power: int


def of_a_model(m, p):
    if m.kind == "product":
        return np.sum(m.weights * p.x) * m.scale + p.y
    return np.sum(m.weights**m.power) * p.y


@pytest.mark.parametrize("kind", ["product", "power"])
def test_dataclasses_and_named_tuples(kind):
    m, p = Model(np.array([1.0, 2.0, 3.0]), 2.0, kind, 2), Point(np.array([0.5, -1.0, 1.5]), 3.0)
    found, point = sdgrad.grad(of_a_model, wrt=("m", "p"))(m, p)
    assert type(found) is Model and type(point) is Point and found.kind is None and found.power is None
    if kind == "product":
        equal((found.weights, found.scale, point.x, point.y), (2 * p.x, m.weights @ p.x, 2 * m.weights, 1.0))
    else:
        equal((found.weights, found.scale, point.x, point.y), (6 * m.weights, 0.0, 0 * p.x, 14.0))


def test_none_among_them():
    def f(p):
        return np.sum(p["a"] ** 2) if p["mask"] is None else np.sum(p["a"] * p["mask"])

    g, a = sdgrad.grad(f), np.array([1.0, 2.0])
    assert g({"a": a, "mask": None})["mask"] is None
    equal(g({"a": a, "mask": None})["a"], 2 * a)
    equal(g({"a": a, "mask": np.array([0.0, 1.0])})["a"], np.array([0.0, 1.0]))


def test_any_number_of_arguments():
    def f(*arrays, **named):
        return sum(np.sum(a * a) for a in arrays) * named["scale"]

    a, b = np.array([1.0, 2.0]), np.array([[3.0]])
    equal(sdgrad.grad(f)(a, b, scale=2.0), 4 * a)
    equal(sdgrad.grad(f, wrt="arrays")(a, b, scale=2.0), (4 * a, 4 * b))
    equal(sdgrad.grad(f, wrt="named")(a, b, scale=2.0), {"scale": 14.0})


def results(p):
    return {"sum": np.sum(p["a"]) * p["b"], "all": [p["a"] ** 2, p["b"] * 3.0]}


NEST = {"a": np.array([1.0, 2.0]), "b": 3.0}
JAX_NEST = {"a": jnp.array([1.0, 2.0]), "b": 3.0}


def jax_results(p):
    return {"sum": jnp.sum(p["a"]) * p["b"], "all": [p["a"] ** 2, p["b"] * 3.0]}


def test_pulled_back():
    outputs, pullback = sdgrad.vjp(results, NEST)
    wanted, jax_pullback = jax.vjp(jax_results, JAX_NEST)
    equal(outputs, wanted)
    cotangent = {"sum": 2.0, "all": [np.array([1.0, -1.0]), 0.5]}
    equal(pullback(cotangent), jax_pullback(jax.tree.map(jnp.asarray, cotangent)))


def test_pushed_forward():
    tangent = {"a": np.array([0.5, -1.0]), "b": 2.0}
    outputs, dots = sdgrad.jvp(results, (NEST,), (tangent,))
    equal((outputs, dots), jax.jvp(jax_results, (JAX_NEST,), (jax.tree.map(jnp.asarray, tangent),)))
    outputs, push = sdgrad.linearize(results, NEST)
    equal(push(tangent), dots)
    with pytest.raises(ArgumentError, match="no nest like it"):
        sdgrad.jvp(results, (NEST,), ({"a": np.zeros(2)},))


def test_jacobians():
    equal(sdgrad.jacobian(results)(NEST), jax.jacobian(jax_results)(JAX_NEST))


def test_hessian_products():
    def f(p):
        return np.sum(np.sin(p["a"])) * p["b"] ** 2

    tangent = {"a": np.array([0.5, -1.0]), "b": 2.0}
    found = sdgrad.hvp(f, (NEST,), (tangent,))
    wanted = jax.jvp(
        jax.grad(lambda p: jnp.sum(jnp.sin(p["a"])) * p["b"] ** 2), (JAX_NEST,), (jax.tree.map(jnp.asarray, tangent),)
    )[1]
    equal(found, wanted)


def test_mapped():
    def f(p, x):
        return {"y": np.sum(p["w"] * x)}

    w, x = np.array([1.0, 2.0]), np.arange(6.0).reshape(3, 2)
    equal(sdgrad.vmap(f, in_axes=(None, 0))({"w": w}, x), {"y": x @ w})
    equal(sdgrad.vmap(f)({"w": x}, x), {"y": np.sum(x * x, axis=1)})


def test_halves():
    forward, backward = sdgrad.grad(lambda p, x: network(p, x), requires=["p"])
    value, tape = forward(LAYERS, INPUTS)
    assert value == pytest.approx(network(LAYERS, INPUTS))
    equal(backward(tape)["p"], jax.grad(jax_network)(LAYERS, INPUTS))


def test_one_program_for_equal_nests():
    g = sdgrad.grad(lambda p: np.sum(p[0] * p[1]))
    equal(g([np.ones(2), np.full(2, 3.0)]), [np.full(2, 3.0), np.ones(2)])
    equal(g([np.full(2, 5.0), np.ones(2)]), [np.ones(2), np.full(2, 5.0)])
    assert len(g.flat) == 1


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_results_have_their_shapes(shape):
    def f(x):
        return x * 2.0

    x = np.full(shape, 3.0)
    assert np.shape(sdgrad.compile_forward(f)(x)) == shape
    assert np.shape(sdgrad.vjp(f, x)[0]) == shape
    assert np.shape(sdgrad.jvp(f, (x,), (x,))[1]) == shape


@dataclasses.dataclass
class Motion:
    t: float
    v: float = 1.0


def slowed(s):
    for _ in range(3):
        s.v = s.v * s.t
    return s.v


def slowed_if_late(s):
    if s.t > 0:
        s.v = s.v * s.t
    return s.v


def later(s):
    while s.t < 1.0:
        s.t += 0.25
    return s.t * s.v


@pytest.mark.parametrize(
    ("f", "value", "by_t", "by_v"),
    [(slowed, 0.054, 0.54, 0.027), (slowed_if_late, 0.6, 2.0, 0.3), (later, 2.1, 2.0, 1.05)],
    ids=["loop", "arm", "while"],
)
def test_attributes_of_arguments_that_control_flow_binds(f, value, by_t, by_v):
    """The recording did not come to an end."""
    found, gradient = sdgrad.value_and_grad(f)(Motion(0.3, 2.0))
    assert np.allclose([found, gradient.t, gradient.v], [value, by_t, by_v])
