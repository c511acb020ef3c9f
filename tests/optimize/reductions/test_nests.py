"""Sums of one nest over different parameters: what they share is computed once, and they are what they were."""

import ast
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import Leaf, Load, Param, Scope, Store, walk
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.symbolic.expr import sym

N = 24
LARGE = 300  # work that is shared out in chunks


def pairs(x, y, w):
    apart = np.add.outer(x, -y)
    return np.sum(np.exp(-apart * apart) @ w)


def in_the_plane(p, w):
    """Two columns of one array are added to: they do not meet."""
    dx = np.add.outer(p[:, 0], -p[:, 0])
    dy = np.add.outer(p[:, 1], -p[:, 1])
    return np.sum(np.exp(-dx * dx - dy * dy) @ w)


def stacked(x, y, w):
    """A first dimension along which nothing meets."""
    t = np.exp(-x[:, :, np.newaxis] * y[:, np.newaxis, :])
    return np.sum(t * t * w)


def below(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            total += np.exp(-x[i] * y[j]) * x[j]
    return total


def both_ways(x, y):
    rows = np.zeros(x.shape[0])
    columns = np.ones(y.shape[0])
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            e = np.sin(x[i] * y[j])
            rows[i] += e * y[j]
            columns[j] += e * x[i]
    return np.sum(rows * rows) + np.sum(np.exp(0.1 * columns))


def shifted(x, y):
    """Along either parameter some sums walk and others stay; those of x meet from row to row."""
    total = 0.0
    for i in range(y.shape[0]):
        for j in range(x.shape[0] - y.shape[0]):
            total += np.exp(-x[i + j] * y[i])
    return total


def arguments(function, n):
    rng = np.random.default_rng(0)
    shapes = {
        pairs: ((n,), (n + 3,), (n + 3,)),
        in_the_plane: ((n, 2), (n,)),
        stacked: ((4, n), (4, n), (n,)),
        below: ((n,), (n,)),
        both_ways: ((n,), (n + 3,)),
        shifted: ((2 * n,), (n,)),
    }[function]
    return [0.5 + rng.random(s) for s in shapes]


def of_jax(function, args):
    if function is both_ways:  # JAX has no loops that write elements

        def function(x, y):
            e = jnp.sin(jnp.outer(x, y))
            return jnp.sum((e @ y) ** 2) + jnp.sum(jnp.exp(0.1 * (1 + x @ e)))

        return jax.grad(function, argnums=(0, 1))(*args)
    if function in (below, shifted):

        def vectorized(x, y):
            i, j = np.tril_indices(len(x), -1)
            return jnp.sum(jnp.exp(-x[i] * y[j]) * x[j])

        def windows(x, y):
            i, j = np.indices((len(y), len(x) - len(y)))
            return jnp.sum(jnp.exp(-x[i + j] * y[i]))

        return jax.grad(vectorized if function is below else windows, argnums=(0, 1))(*args)
    with_jax = types.FunctionType(function.__code__, {**function.__globals__, "np": jnp})
    return jax.grad(with_jax, argnums=tuple(range(len(args))))(*args)


@pytest.mark.parametrize("n", [3, N, LARGE])
@pytest.mark.parametrize("function", [pairs, in_the_plane, stacked, below, both_ways, shifted])
def test_gradient(function, n):
    args = arguments(function, n)
    found = sdgrad.grad(function, wrt=tuple(range(len(args))))(*args)
    for ours, theirs in zip(found, of_jax(function, args), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def program_of(function, n):
    args = arguments(function, n)
    differentiated = sdgrad.grad(function, wrt=tuple(range(len(args))))
    signature, _, _, request = differentiated.question(bind_arguments(function, tuple(args), {}))
    return optimize(signature.differentiated(request).program)


def exponentials(program):
    leaves = [n for n in walk(program.body) if isinstance(n, Leaf)]
    return sum(any("exp(" in ast.unparse(i.expr) for i in leaf.lets) for leaf in leaves)


@pytest.mark.parametrize("function", [pairs, in_the_plane])
def test_what_sums_share_is_computed_once(function):
    assert exponentials(program_of(function, N)) == 2  # of the value, and of the gradient


def test_large_nests_are_shared_out():
    def maps(n):
        return [s for s in walk(program_of(pairs, n).body) if isinstance(s, Scope) and s.params and not s.sequential]

    assert any(p.name.startswith("chunk") for s in maps(LARGE) for p in s.params)
    assert not any(p.name.startswith("chunk") for s in maps(N) for p in s.params)


def test_the_same_without_lanes(monkeypatch):
    args = arguments(in_the_plane, N)
    monkeypatch.setattr(config, "without", ("simd-reductions",))
    for ours, theirs in zip(sdgrad.grad(in_the_plane, wrt=(0, 1))(*args), of_jax(in_the_plane, args), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def rows_and_columns(x, w):
    """A row, a column and each element get something from every pair of places, in one array."""
    y = np.zeros_like(x)
    for k in range(3):
        y += np.sin(np.add.outer(x[:, k], x[k + 1, :]) * x) * w
    return np.sum(y * y)


def test_sums_into_one_array_over_different_parameters_share_a_nest():
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((2, 6, 9))
    value, gradients = sdgrad.value_and_grad(rows_and_columns, wrt=("x", "w"))(x, w)
    assert value == pytest.approx(rows_and_columns(x, w), rel=1e-13)
    wanted = jax.grad(rows_and_columns_of_jax, argnums=(0, 1))(x, w)
    for found, right in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-11)
    function = sdgrad.grad(rows_and_columns, wrt=("x", "w"))
    signature, _, _, request = function.question(bind_arguments(function.f, (x, w), {}))
    program = optimize(signature.gradient(request).result.program)
    cosines = [n for n in walk(program.body) if isinstance(n, Leaf) and any("cos" in str(i) for i in n.lets)]
    assert [len(n.stores) for n in cosines] == [4], "one cosine for a row, a column and an element of x, and one of w"


def rows_and_columns_of_jax(x, w):
    y = jnp.zeros_like(x)
    for k in range(3):
        y += jnp.sin(jnp.add(x[:, k][:, None], x[k + 1, :][None, :]) * x) * w
    return jnp.sum(y * y)


def of_all(x, w):
    """Sums to single numbers of what is costly for each element, as the vertices of a picture's triangles have."""
    return np.sum(np.exp(-w[0] * x) * np.sin(w[1] * x + w[2]))


@pytest.mark.parametrize("shape", [(50, 1100), (1103, 53), (40_001,), (7, 8)])
def test_total_sums_are_shared_out(shape):
    """Chunk by chunk where there is much to do, along an axis that is long enough; the gradient is JAX's."""
    x, w = np.linspace(0.0, 2.0, int(np.prod(shape))).reshape(shape), np.array([0.5, 3.0, 0.1])
    f = sdgrad.value_and_grad(of_all, wrt="w")
    signature, _, _, request = f.question(bind_arguments(of_all, (x, w), {}))
    nests = list(walk(optimize(signature.differentiated(request).program).body))
    chunks = [n for n in nests if isinstance(n, Scope) and [p.name for p in n.params] == ["chunk"] and not n.sequential]
    assert bool(chunks) == (shape != (7, 8))
    value, gradient = f(x, w)
    with_jax = types.FunctionType(of_all.__code__, {**of_all.__globals__, "np": jnp})
    wanted, right = jax.value_and_grad(with_jax, argnums=1)(x, w)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(gradient, right, rtol=1e-11)


def param(name, low, high):
    return Param(name, *map(sympy.sympify, (low, high, 1)))


I, J = sym("i"), sym("j")


@pytest.mark.parametrize(
    ("params", "index", "ranges"),
    [
        ((param("i", 0, 9), param("j", 0, I)), (J,), [(0, 9)]),
        ((param("i", 0, 7), param("j", 2, 4)), (I + J, sympy.Integer(1)), [(2, 11), (1, 1)]),
        ((param("i", 0, 9), param("j", 0, I)), (I, J), None),  # each element has one instance
        ((param("i", 0, 4), param("j", 0, 4)), (2 * I,), None),  # no box
        ((param("i", 0, sym("N")), param("j", 0, I)), (J,), None),  # of a size that only a run knows
    ],
)
def test_elements_begin_once(params, index, ranges):
    """The start of a sum that each element gets from one instance, where there is a box of elements."""
    store = Store("y", index, "v", "sum", fresh=True)
    started = begin(store, Leaf(params, (Load("v", "x", index), store)), ast.Constant(0), "zero")
    if ranges is None:
        assert started.stores[0].index == index
    else:
        assert [(p.start, p.stop) for p in started.params] == ranges
        assert [e.name for e in started.stores[0].index] == [p.name for p in started.params]
