"""States and tapes of loops with checkpoints in one array: the same results to the bit, in half of the memory."""

import numpy as np
import pytest
from checkpointed import every_loop, in_room_for

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize.passes import optimize

T, N = 40, 50


def one_state(x, w):
    y = np.copy(x)
    for _ in range(T):
        y[:] = np.sin(y * w)
    return np.sum(y * y)


def several_types(x, w):
    """A state of two arrays and three types of tapes: numbers of two precisions, and a bit."""
    y = np.copy(x)
    z = x.astype(np.float32)
    for t in range(T):
        if y[t % N] > 0.2:
            y[:] = np.sin(y * w) + z
        z[:] = np.cos(z * z) * np.float32(0.9)
    return np.sum(y * y) + np.sum(z)


def long_tapes(x, w):
    """Five numbers on the tape for each of the state."""
    y = np.copy(x)
    for _ in range(T):
        for _ in range(5):
            y[1:-1] = np.tanh(y[:-2] * w[1:-1]) + 0.1 * np.sin(y[2:]) * y[1:-1]
    return np.sum(y * y)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Loops have checkpoints in room for six states and tapes."""
    every_loop(monkeypatch)
    in_room_for(6, monkeypatch)


def arguments():
    rng = np.random.default_rng(0)
    return rng.uniform(0.1, 0.9, N), rng.uniform(0.5, 0.9, N)


def gradients(f, *without):
    """Value, gradients and the optimised program."""
    with config.override(without=without):
        own = sdgrad.value_and_grad(type(f)(f.__code__, f.__globals__, f.__name__), wrt=("x", "w"))
        found = own(*arguments())
        signature, _, _, request = own.question(bind_arguments(own.f, arguments(), {}))
        return found, optimize(signature.gradient(request).result.program)


def kept(program):
    """Bytes of what checkpoints keep."""
    names = ("room", "checkpoint_", "tape_")
    found = [c for n, c in program.containers.items() if n.startswith(names) and c.view_of is None]
    return sum(int(c.desc.total_size) * c.dtype.bytes for c in found)


@pytest.mark.parametrize("f", [one_state, several_types, long_tapes], ids=lambda f: f.__name__)
def test_the_same_to_the_bit(f):
    (value, found), program = gradients(f)
    (wanted, apart), other = gradients(f, "checkpoint-memory")
    whole, _ = gradients(f, "checkpoints")[0]
    assert any(c.view_of is not None and c.name.startswith("tape_") for c in program.containers.values())
    assert value == wanted == whole and kept(program) <= kept(other)
    for a, b in zip(found, apart, strict=True):
        np.testing.assert_array_equal(a, b)


def test_halves_keep_arrays_of_their_own():
    """What lies between a forward and a backward call is an argument of both."""
    x, w = arguments()
    value, pull = sdgrad.vjp(one_state, x, w)
    (wanted, found), _ = gradients(one_state)
    assert value == wanted
    for _ in range(2):  # a second time as the first
        for a, b in zip(pull(1.0), found, strict=True):
            np.testing.assert_array_equal(a, b)
