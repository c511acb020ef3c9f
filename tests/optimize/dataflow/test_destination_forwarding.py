"""Arrays that are made to be copied are made in place, where nobody can tell; and the memory of results."""

import gc
import pickle

import numpy as np
import pytest

import sdgrad
from sdgrad import onnx_ops as operators
from sdgrad.config import config
from sdgrad.optimize import optimize
from sdgrad.program.tree import walk
from sdgrad.runtime.call import result_pool
from sdgrad.specialize.signature import Signature

N = 40
RNG = np.random.default_rng(3)


def at_random(x, idx):
    """Sums at places that are known when it runs, copied, and the copy changed."""
    q = np.zeros(N)
    for i in range(N):
        q[idx[i]] += x[i] * x[i]
    r = np.copy(q)
    r[0] = x[0]
    return r


def added(x, idx):
    q = np.zeros(N)
    for i in range(N):
        q[idx[i]] += x[i] * x[i]
    r = np.sin(x)
    r += q
    return r


def read_in_between(x, idx):
    """The copy is read before it is one."""
    r = np.sin(x)
    q = np.zeros(N)
    for i in range(N):
        q[idx[i]] += r[i] * x[i]
    r[:] = q
    return r


def used_later(x, idx):
    """The original is read once more, when the copy is another."""
    q = np.zeros(N)
    for i in range(N):
        q[idx[i]] += x[i] * x[i]
    r = np.copy(q)
    r[0] = x[0]
    for i in range(N):
        r[idx[i]] += q[N - 1 - i]
    return r


def from_trip_to_trip(x, idx):
    """The original is not set anew in every trip."""
    q = np.zeros(N)
    r = np.zeros(N)
    for t in range(3):
        for i in range(N):
            q[idx[i]] += x[i] * (t + 1.0)
        r[:] = q
        r[0] = 2.0 * x[t]
    return r


def in_each_trip(x, idx):
    r = np.zeros(N)
    s = np.zeros(N)
    for t in range(3):
        q = np.zeros(N)
        for i in range(N):
            q[idx[i]] += x[i] * (t + 1.0)
        r[:] = q
        r[0] = 2.0 * x[t]
        for i in range(1, N):
            s[i] += r[i] * r[i - 1]
    return s


PROGRAMS = [at_random, added, read_in_between, used_later, from_trip_to_trip, in_each_trip]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(f):
    x, idx = RNG.standard_normal(N), RNG.integers(0, N, N)
    value, pullback = sdgrad.vjp(f, x, idx)
    np.testing.assert_allclose(value, f(x, idx), rtol=1e-12)
    cotangent, tangent, step = RNG.standard_normal(N), RNG.standard_normal(N), 1e-6
    slope = (f(x + step * tangent, idx) - f(x - step * tangent, idx)) / (2 * step)
    gradient = pullback(cotangent)[0]
    np.testing.assert_allclose(gradient @ tangent, cotangent @ slope, rtol=1e-7)


def nodes_of(f, without=()):
    """How many nodes the compiled function has."""
    arguments = {"x": RNG.standard_normal(N), "idx": RNG.integers(0, N, N)}
    with config.override(without=without):
        return sum(1 for _ in walk(optimize(Signature.of(f, arguments).program).body))


@pytest.mark.parametrize("f", [at_random, in_each_trip], ids=lambda f: f.__name__)
def test_the_copy_goes(f):
    assert nodes_of(f) < nodes_of(f, ("destination-forwarding",))


@pytest.mark.parametrize(
    ("f", "results"),
    [(added, 0), (read_in_between, 1), (used_later, 1), (from_trip_to_trip, 1)],
    ids=["added", "read_in_between", "used_later", "from_trip_to_trip"],
)
def test_the_copy_stays(f, results):
    """Only what is copied to a result may be made there."""
    assert nodes_of(f) == nodes_of(f, ("destination-forwarding",)) - results


def lookups(x, idx):
    """A table of which every trip uses a few rows."""
    y = 0.0
    for t in range(4):
        rows = operators.ONNXGather(x, idx[t], axis=0)
        y += np.sum(rows * rows * rows) * (t + 1.0)
    return y


def test_gradients_are_added_where_they_belong():
    x, idx = RNG.standard_normal((N, 3)), RNG.integers(0, N, (4, 5))
    f = sdgrad.value_and_grad(lookups, wrt="x")
    signature, _, _, request = f.question({"x": x, "idx": idx})
    program = signature.gradient(request).result.program
    with config.override(without=("destination-forwarding",)):
        apart = sum(1 for _ in walk(optimize(program).body))
    assert sum(1 for _ in walk(optimize(program).body)) < apart
    factor = np.arange(1.0, 5.0)[:, None, None]
    wanted = np.zeros_like(x)
    np.add.at(wanted, idx, factor * 3 * x[idx] ** 2)
    value, gradient = f(x, idx)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-12)
    np.testing.assert_allclose(value, np.sum(factor * x[idx] ** 3), rtol=1e-12)


def doubled(x):
    return 2.0 * x


def half_written(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0] - 1):
        y[i] = x[i] * x[i + 1]
    return y


@pytest.mark.parametrize("f", [doubled, half_written], ids=lambda f: f.__name__)
def test_memory_is_used_again(f):
    """And only when nobody can see it any more, views included."""
    result_pool._free.clear()
    x = RNG.standard_normal(20_000)
    _, pullback = sdgrad.vjp(f, x)
    (first,) = pullback(x)
    kept, where = first[10:20], first.__array_interface__["data"][0]
    content = kept.copy()
    del first
    (other,) = pullback(2.0 * x)
    assert other.__array_interface__["data"][0] != where
    np.testing.assert_array_equal(kept, content)
    del kept
    gc.collect()
    assert pullback(x)[0].__array_interface__["data"][0] == where
    np.testing.assert_allclose(pullback(3.0 * x)[0], 1.5 * other, rtol=1e-12, atol=1e-12)


def squares(x):
    return np.sum(x * x)


def test_results_are_ordinary_arrays():
    x = RNG.standard_normal(20_000)
    y = sdgrad.grad(squares)(x)
    assert type(y) is np.ndarray and y.flags.writeable and y.flags.c_contiguous and y.ctypes.data % 64 == 0
    assert pickle.loads(pickle.dumps(y)).tolist() == y.tolist()
    np.testing.assert_allclose(y, 2.0 * x, rtol=1e-15)


def test_free_memory_is_bounded():
    result_pool._free.clear()
    size = result_pool.MOST // 4
    arrays = [result_pool.fresh((size,), np.uint8, False) for _ in range(6)]
    assert not result_pool._free
    del arrays
    assert 0 < sum(n * len(blocks) for n, blocks in result_pool._free.items()) <= result_pool.MOST
    result_pool._free.clear()


def test_zeros_are_zeros():
    result_pool._free.clear()
    dirty = result_pool.fresh((30_000,), np.float64, False)
    dirty[:] = 7.0
    del dirty
    assert not result_pool.fresh((30_000,), np.float64, True).any()


def overwriting(x):
    x[1:] = np.sin(x[1:]) * x[:-1]
    return np.sum(x * x)


def test_copies_of_arguments_use_memory_again(monkeypatch):
    """Their number does not grow from call to call, and arguments stay as they were."""
    x = RNG.standard_normal(1 << 14)
    before, gradient = x.copy(), sdgrad.grad(overwriting, wrt=("x",))
    first = gradient(x)[0].copy()
    gradient(x)
    taken = []
    empty = np.empty
    monkeypatch.setattr(result_pool.np, "empty", lambda size, *rest: taken.append(size) or empty(size, *rest))
    for _ in range(3):
        np.testing.assert_array_equal(gradient(x)[0], first)
    assert not taken
    np.testing.assert_array_equal(x, before)
