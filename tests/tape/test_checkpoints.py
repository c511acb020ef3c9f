"""Loops with long tapes keep a state now and then, and run again from it: the same gradients in less memory."""

from dataclasses import replace

import dace
import numpy as np
import pytest
from checkpointed import every_loop, fresh, in_room_for, plan_of, stored, vectors

import sdgrad
from sdgrad.config import config
from sdgrad.optimize.dataflow import checkpoint_memory
from sdgrad.tape import checkpoints
from sdgrad.testing import check_grads

N, T = 12, 23  # trips are a prime number


def recurrence(x, w):
    y = np.copy(x)
    for t in range(T):
        y[:] = np.sin(y * w + x[t % N])
    return np.sum(y * y)


def growing(x, w):
    """Levinson's recursion: a prefix is changed by its mirror image."""
    y = np.zeros_like(x)
    alpha = -x[0]
    beta = 1.0
    y[0] = alpha
    for k in range(1, N):
        beta *= 1.0 - alpha * alpha
        alpha = -(x[k] + np.dot(np.flip(x[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y * w)


def downwards(x, w):
    y = np.copy(x)
    for t in range(T, 2, -1):
        y[1:] = np.cos(y[:-1] * w[1:]) + t * y[1:] ** 2 / 100.0
    return np.sum(y)


def put_back(x, w):
    """An array that each trip begins anew and its inner steps change: their adjoints put it back in place."""
    y = np.copy(x)
    for t in range(T):
        z = np.copy(y)
        for _ in range(3):
            z[1:-1] = np.sin(z[1:-1]) + 0.1 * z[:-2] * z[2:] * w[1:-1]
        y = z * 0.9 + 0.01 * t
    return np.sum(y * y)


def by_threes(x, w):
    """Steps that are not one, upwards and downwards."""
    y = np.copy(x)
    for t in range(2, 3 * T, 3):
        y[:] = np.sin(y * w) + 0.01 * t
    for t in range(2 * T, -1, -2):
        y[t % N] = np.sin(y[(t + 1) % N] * w[0]) + 0.01 * t
        y[:] = y * w + y * y / 8.0
    return np.sum(y)


def branches(x, w):
    y = np.copy(x)
    s = 0.5
    for t in range(T):
        if y[t % N] > 0.1:
            y[:] = np.sin(y * w)
            s = s * y[3]
        elif s > 0.0:
            y[2] = y[3] * y[3]
        s = s + y[2] * 0.1
    return np.sum(y) * s


def nested(x, w):
    y = np.copy(x)
    z = np.zeros_like(x)
    for t in range(T):
        for i in range(1, N):
            y[i] = y[i] + 0.01 * y[i - 1] * w[i] * y[i]
        z += y * y
        for i in range(t % 5):
            z[i] = np.sin(z[i])
    return np.sum(z)


def overwritten_later(x, w):
    """What all trips read is gone when they run again, and so is the state."""
    y = np.copy(x)
    c = np.exp(w)
    for t in range(T):
        y[:] = np.sin(y * c)
    total = np.sum(y * y)
    c[:] = y * 2.0
    y[:] = c * x
    return total + np.sum(y * c * c)


def read_before(x, w):
    """Values from before the loop are needed after it has run again."""
    y = np.exp(x)
    z = y[3:] * y[:-3]
    for t in range(T):
        y[:3] = np.sin(y[:3] * w[t % N])
    return np.sum(y) + np.sum(z * z)


def arguments_changed(x, w):
    x *= w
    for t in range(T):
        x[:] = np.sin(x * w)
        w[t % N] = w[t % N] * x[0]
    return np.sum(x * w)


def integers(x, w):
    y = np.copy(x)
    at = 0
    for t in range(T):
        at = (3 * t + 1) % N
        y[at] = y[at] * y[(at + 5) % N] + w[at]
    return np.sum(y * y)


def rolling_integer(x, w):
    """An integer that trips hand on is part of the state."""
    y = np.copy(x)
    at = 1
    for t in range(T):
        y[at] = y[at] * y[(at + 5) % N] + w[at]
        at = (2 * at + 1) % N
    return np.sum(y * y)


def two_loops(x, w):
    y = np.copy(x)
    for t in range(T):
        y[:] = np.sin(y * w)
    z = y + w
    for t in range(T):
        z[:] = np.sin(z + y)
        y[t % N] = z[0]
    return np.sum(z * y)


def products(x, w):
    """Rules of calls find their operands."""
    A = np.outer(x, w) * 0.1
    y = np.copy(x)
    for t in range(T):
        y[:] = np.tanh(A @ y + x)
        A[t % N, :] = y * w
    return np.sum(y)


def extremes(x, w):
    y = np.copy(x)
    s = 0.0
    for t in range(T):
        s += np.max(y) * np.prod(y[:3])
        y[:] = np.sin(y * w) + 0.5
    return s


def in_two_places(x, w):
    """Elements of the state are read, where nobody overwrites them, and those beside them are overwritten."""
    y = np.zeros((T + 1, N))
    y[0] = x
    for t in range(T):
        y[t + 1] = np.sin(y[t] * w)
    return np.sum(y * y)


def until(x, w):
    """Nobody knows how many trips there will be."""
    y = np.copy(x)
    while np.sum(y * y) > 0.2:
        y[:] = 0.8 * np.sin(y * w)
    return np.sum(y)


def left_early(x, w):
    y = np.copy(x)
    for t in range(T):
        y[:] = np.sin(y * w)
        if y[0] < 0.05:
            break
    return np.sum(y)


def within_steps(x, w):
    """Inner loops of known lengths, an array that the trips move along, and an early end."""
    y, path = np.copy(x), np.zeros(N)
    k = 0
    while True:
        for _ in range(3):
            y[1:] = y[1:] + 0.1 * np.sin(y[:-1] * w[1:])
        path[k % N] = y[0] * y[-1]
        k += 1
        if k > 4 and np.max(y) > 1.2:
            break
        if k > 40:
            break
    return np.sum(path * w) + np.sum(y * y) * k


def never(x, w):
    """No trip at all."""
    y = np.copy(x)
    while np.sum(y) < 0:
        y[:] = np.sin(y * w) * y
    return np.sum(y * w)


def by_data(x, w):
    """As many trips as a number says that is computed."""
    y = np.copy(x)
    for t in range(int(10.0 * np.sum(w * w))):
        y[:] = np.sin(y * w) + 0.01 * t * x
    return np.sum(y * y)


CUT = (
    *(recurrence, growing, downwards, branches, nested, overwritten_later, arguments_changed, integers),
    *(two_loops, products, extremes, rolling_integer, read_before, put_back),
    *(until, left_early, within_steps, never, by_data, by_threes),
)
WHOLE = (in_two_places,)


@pytest.fixture(params=[0, 5], ids=["least", "five"])
def places(request, monkeypatch):
    """Room for the least, and for five states and tapes."""
    in_room_for(request.param, monkeypatch)


@pytest.fixture
def always(monkeypatch):
    """Loops have checkpoints wherever that is possible."""
    monkeypatch.setattr(config, "machine", replace(config.machine, checkpointed_trips=4))
    every_loop(monkeypatch)


@pytest.mark.parametrize("f", CUT + WHOLE, ids=lambda f: f.__name__)
def test_gradients(f, always, places):
    """As by differences, and to the bit those of the whole tape; arguments are left alone."""
    args = vectors()
    own = fresh(f)
    value, gradients = sdgrad.value_and_grad(own, wrt=("x", "w"))(*args)
    assert bool(plan_of(own, *args).checkpoints) == (f in CUT)
    wanted, whole = stored(f, *args)
    assert value == wanted
    for found, right in zip(gradients, whole, strict=True):
        np.testing.assert_array_equal(found, right)
    for after, before in zip(args, vectors(), strict=True):
        np.testing.assert_array_equal(after, before)
    check_grads(own, args, wrt=("x", "w"))


@pytest.mark.parametrize("f", [recurrence, growing, branches, overwritten_later, until], ids=lambda f: f.__name__)
def test_again(f, always):
    """Derivatives of derivatives in both modes, and halves with a tape between them."""
    args = vectors()
    own = fresh(f)
    check_grads(own, args, wrt=("x", "w"), order=2, modes=("fwd", "rev"))
    _, pullback = sdgrad.vjp(own, *args)
    for a, b in zip(pullback(2.0), stored(f, *args)[1], strict=True):
        np.testing.assert_allclose(a, 2.0 * b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", [branches, recurrence], ids=lambda f: f.__name__)
def test_tangents_have_the_places_of_what_they_belong_to(f, always, monkeypatch):
    """Arrays of tangents had fewer places than the room that states and tapes share, and were written beyond."""
    found = []

    def seen(program, rooms=checkpoint_memory.rooms):
        found.append(rooms(program))
        return found[-1]

    monkeypatch.setattr(checkpoint_memory, "rooms", seen)
    args = vectors()
    sdgrad.jvp(sdgrad.grad(fresh(f)), args, args)
    kept = [c.name for rooms in found for r in rooms for c in (*r.states, *r.tapes)]
    both = [n for n in kept if f"tangent_{n}" in kept]
    assert "checkpoint_y" in both
    assert any(n.startswith("tape") for n in both)
    found.clear()
    sdgrad.grad(lambda x, w: np.sum(sdgrad.grad(fresh(f))(x, w) ** 2))(*args)
    assert found[0] == []  # nor do places change where a second reverse sweep has arrays with as many


def test_graph(always):
    """On a graph, outputs keep what the program leaves in them, and gradients accumulate."""

    @dace.program
    def swept(X: dace.float64[N], W: dace.float64[N], S: dace.float64[1]):
        for t in range(T):
            X[:] = np.sin(X * W)
            W[0] = W[0] * X[1]
        S[0] = np.sum(X * W)

    sdfg = swept.to_sdfg()
    plain = swept.to_sdfg()
    plain.name = "swept_plain"
    sdgrad.add_backward_pass(sdfg, inputs=["X", "W"], outputs=["S"])
    assert any(name.startswith("checkpoint_") for name in sdfg.arrays)
    X, W = vectors()
    with config.override(without=("checkpoints",)):
        whole = swept.to_sdfg()
        whole.name = "swept_whole"
        sdgrad.add_backward_pass(whole, inputs=["X", "W"], outputs=["S"])
    results = []
    for made in (sdfg, whole):
        values = {"X": X.copy(), "W": W.copy(), "S": np.zeros(1)}
        grads = {"gradient_X": np.ones(N), "gradient_W": np.ones(N), "gradient_S": np.ones(1)}
        made(**values, **grads)
        results.append({**values, **grads})
    values = {"X": X.copy(), "W": W.copy(), "S": np.zeros(1)}
    plain(**values)
    for name in ("X", "W", "S"):
        np.testing.assert_array_equal(results[0][name], values[name])
    for name in ("gradient_X", "gradient_W"):
        np.testing.assert_allclose(results[0][name], results[1][name], rtol=1e-13)


def long(x, w):
    y = np.copy(x)
    for t in range(2000):
        y[:] = y - 0.001 * y * y * w
    return np.sum(y * y)


def heavy(x, w):
    """Computing this again takes longer than keeping it."""
    y = np.copy(x)
    for t in range(2000):
        y[:] = np.sin(np.exp(np.tanh(y) * w) - 1.0) * np.cos(np.sqrt(y * y + w) + np.log(1.0 + y * y))
        y[:] = np.sin(np.exp(np.tanh(y) * w) - 1.0) * np.cos(np.sqrt(y * y + w) + np.log(1.0 + y * y))
    return np.sum(y * y)


def test_chosen_by_size():
    """Long tapes of cheap loops are cut, to about two square roots; short ones and those of costly loops are not."""
    x, w = np.linspace(0.1, 0.9, 1000), np.linspace(0.2, 0.4, 1000)
    plan = plan_of(long, x, w)
    (found,) = plan.checkpoints.values()
    assert 2 <= found.room.tapes < 2 * 2000**0.5 and found.trips.count == 2000
    assert plan.numbers() < 2 * 1000 * (2 * 2000**0.5 + 3)
    assert not plan_of(heavy, x, w).checkpoints
    assert not plan_of(fresh(long), x[:50], w[:50]).checkpoints
    with config.override(without=("checkpoints",)):
        assert not plan_of(fresh(long), x, w).checkpoints
    wanted = stored(long, x, w)[1]
    for a, b in zip(sdgrad.value_and_grad(long, wrt=("x", "w"))(x, w)[1], wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def longer(x, w):
    y = np.copy(x)
    for t in range(30_000):
        y[:] = y - 0.0001 * y * y * w
    return np.sum(y * y)


def test_chosen_room():
    """Less room where that saves half of much memory: 30,000 trips keep less than 100 states."""
    x, w = np.linspace(0.1, 0.9, 10_000), np.linspace(0.2, 0.4, 10_000)
    plan = plan_of(longer, x, w)
    (found,) = plan.checkpoints.values()
    assert plan.numbers() + found.room.states * 10_000 < 100 * 10_000


def network(x, w):
    """A step that is a product with a matrix, which takes longer to compute than to keep."""
    W = 0.3 * np.outer(w, np.cos(w)) + 0.1
    h = np.copy(x)
    total = 0.0
    for t in range(40):
        h[:] = np.tanh(W @ h + 0.01 * t)
        total += h[t % N] ** 2
    return total + np.sum(h)


@pytest.mark.parametrize("f, free", [(heavy, 10_000), (network, 2_000)], ids=["heavy", "network"])
def test_tapes_that_do_not_fit(f, free, monkeypatch):
    """Costly loops have checkpoints as well if their tape takes more than a share of the free memory."""
    machine = replace(config.machine, checkpointed_bytes=0)
    x, w = np.linspace(0.1, 0.9, N), np.linspace(0.2, 0.4, N)
    own = fresh(f)
    with config.override(machine=machine):
        assert not plan_of(fresh(f), x, w).checkpoints
        monkeypatch.setattr(checkpoints, "free_memory", lambda: free)
        (found,) = plan_of(own, x, w).checkpoints.values()
        assert 1 <= found.room.tapes < 40
        wanted = stored(f, x, w)
        value, gradients = sdgrad.value_and_grad(own, wrt=("x", "w"))(x, w)
        assert value == wanted[0]
        for a, b in zip(gradients, wanted[1], strict=True):  # the whole tape makes one product of all outer ones
            np.testing.assert_allclose(a, b, rtol=1e-13)


def test_printed():
    """The plan says what is kept where, and so does the explanation."""
    x, w = np.linspace(0.1, 0.9, 1000), np.linspace(0.2, 0.4, 1000)
    assert "states and 44 tapes of 2000 trips" in str(plan_of(long, x, w))
    assert "checkpoint_y" in str(sdgrad.explain(long, x, w))
