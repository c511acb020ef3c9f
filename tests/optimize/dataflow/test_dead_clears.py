"""Cotangents that are cleared although nobody reads them again are not; the others are."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize.dataflow.dead_clears import drop_clears
from sdgrad.program.custom_call import expanded
from sdgrad.program.tree import Leaf, walk
from sdgrad.rewrite.fusion import fuse

T, N = 6, 9


def each_row_once(x, w):
    y = np.zeros((T, N))
    h = np.copy(w)
    for t in range(T):
        h = np.tanh(h * x)
        y[t] = h * w
    return np.sum(y * y)


def written_twice(x, w):
    """What the second loop overwrites passes no cotangent on to the first."""
    y = np.zeros((T, N))
    h = np.copy(w)
    for t in range(T):
        h = np.tanh(h * x)
        y[t] = h * w
    total = np.sum(y[T - 1] * x)
    for t in range(T - 1):
        h = np.sin(h * x)
        y[t] = h
    return total + np.sum(y * y)


def neighbours_that_are_read(x, w):
    y = np.zeros((T, N))
    y[0] = x
    for t in range(1, T):
        y[t] = np.sin(y[t - 1]) * w
    return np.sum(y * y)


def in_turn(x, w):
    """Two rows, each overwritten in every other trip."""
    y = np.zeros((2, N))
    y[0] = x
    for t in range(T):
        y[(t + 1) % 2] = np.sin(y[t % 2] * w)
    return np.sum(y[0] * y[1])


def nested(x, w):
    y = np.zeros((T, N))
    h = np.copy(w)
    for s in range(3):
        for t in range(T):
            h = np.tanh(h * x + y[t])
            y[t] = h * w
    return np.sum(y * y)


def backwards(x, w):
    y = np.zeros((T, N))
    h = np.copy(w)
    for t in range(T - 1, -1, -2):
        h = np.tanh(h * x)
        y[t] = h * w
        y[t - 1] = h * x
    return np.sum(y * y)


FUNCTIONS = (each_row_once, written_twice, neighbours_that_are_read, in_turn, nested, backwards)


def arguments():
    rng = np.random.default_rng(2)
    return 0.5 + rng.random(N), 0.5 + rng.random(N)


class Rows:
    """A JAX array that is assigned as NumPy's are."""

    def __init__(self, value):
        self.value = value

    def __getitem__(self, at):
        return self.value[at]

    def __setitem__(self, at, row):
        self.value = self.value.at[at].set(row)

    def __mul__(self, other):
        return self.value * (other.value if isinstance(other, Rows) else other)


def of_jax(function):
    names = {"np": types.SimpleNamespace(**{**vars(jnp), "zeros": lambda s: Rows(jnp.zeros(s)), "copy": jnp.asarray})}
    return types.FunctionType(function.__code__, {**function.__globals__, **names})


@pytest.mark.parametrize("without", [(), ("dead-clears",)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradient(function, without, monkeypatch):
    monkeypatch.setattr(config, "without", without)
    wanted = jax.grad(of_jax(function), argnums=(0, 1))(*arguments())
    for ours, theirs in zip(sdgrad.grad(function, wrt=(0, 1))(*arguments()), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11)


def clears(program):
    constant = ("0", "0.0")
    found = [
        s
        for n in walk(program.body)
        if isinstance(n, Leaf)
        for s in n.stores
        if s.mode == "set" and s.container.startswith("gradient_y")
        if s.value in constant or any(x.name == s.value and str(x).endswith("= 0") for x in n.lets)
    ]
    return len(found)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_clears_that_nobody_reads_are_left_out(function):
    differentiated = sdgrad.grad(function, wrt=(0, 1))
    signature, _, _, request = differentiated.question(bind_arguments(function, arguments(), {}))
    before = fuse(expanded(signature.differentiated(request).program))
    left = clears(drop_clears(before))
    if function in (each_row_once, neighbours_that_are_read, backwards):
        assert left == 0 < clears(before)
