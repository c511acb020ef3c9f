"""Constants that are set late: in the loops that use them, and only where no sum begins."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import Leaf, Loop, walk

jax.config.update("jax_enable_x64", True)
N = 300


@pytest.fixture(autouse=True)
def small_arrays(monkeypatch):
    monkeypatch.setattr(
        config,
        "machine",
        replace(
            config.machine,
            sunk_initialization_bytes=1,
            last_level_cache=1 << 12,
            streamed_bytes=1 << 10,
            streamed_row=32,
        ),
    )


def made(f, args, wrt):
    """The optimised program of a gradient."""
    function = sdgrad.value_and_grad(f, wrt=wrt)
    signature, _, _, request = function.question(bind_arguments(f, args, {}))
    return optimize(signature.gradient(request).result.program)


def fills_of(block, name):
    """Leaves that do nothing but set elements of an array to a constant."""
    return [n for n in walk(block) if isinstance(n, Leaf) and not n.loads and {s.container for s in n.stores} == {name}]


def outside(program, name):
    """Those that stand in no loop."""
    return fills_of([n for n in program.body if not isinstance(n, Loop)], name)


def ranges(leaf):
    return [(str(p.start), str(p.stop)) for p in leaf.params]


def compare(f, reference, args, wrt):
    """Value and gradients are JAX's."""
    value, gradients = sdgrad.value_and_grad(f, wrt=wrt)(*args)
    right, expected = jax.value_and_grad(reference, argnums=tuple(range(len(wrt))))(*args)
    assert value == pytest.approx(float(right), rel=1e-12)
    for found, wanted in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12 * np.max(np.abs(wanted)))


def substitution(L, b):
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x * x)


def solved(L, b):
    x = jax.scipy.linalg.solve_triangular(L, b, lower=True)
    return jnp.sum(x * x)


def system(n=N):
    rng = np.random.default_rng(0)
    return rng.random((n, n)) / n + np.eye(n), rng.random(n)


def test_rows_of_a_triangle():
    """Each trip sets what it would have added to its row of zeros, and only what lies behind is filled."""
    program = made(substitution, system(), ("L", "b"))
    assert not outside(program, "gradient_L")
    (left,) = fills_of(program.body, "gradient_L")
    (loop,) = (n for n in walk(program.body) if isinstance(n, Loop) and left in n.body)
    assert ranges(left) == [(f"{loop.symbol} + 1", str(N - 1))]
    stores = [s for n in walk(loop.body) if isinstance(n, Leaf) for s in n.stores if s.container == "gradient_L"]
    assert {s.mode for s in stores} == {"set"}
    assert sum(s.streamed for s in stores) == 2  # rows of 150 on average, and what lies behind them
    compare(substitution, solved, system(), ("L", "b"))


def test_upper_triangle():
    """What is left lies before what the sums reach."""

    def upwards(U, b):
        x = np.zeros_like(b)
        for i in range(b.shape[0] - 1, -1, -1):
            x[i] = (b[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
        return np.sum(x * x)

    def reference(U, b):
        x = jax.scipy.linalg.solve_triangular(U, b, lower=False)
        return jnp.sum(x * x)

    L, b = system()
    program = made(upwards, (L.T.copy(), b), ("U", "b"))
    (left,) = fills_of(program.body, "gradient_U")
    (loop,) = (n for n in walk(program.body) if isinstance(n, Loop) and left in n.body)
    assert ranges(left) == [("0", f"{loop.symbol} - 1")]
    compare(upwards, reference, (L.T.copy(), b), ("U", "b"))


def rows_backwards(A, x):
    """Trip t is at row n - 1 - t, and uses half of it, one element twice."""
    half = A.shape[1] // 2
    s = 1.0
    for t in range(A.shape[0]):
        k = A.shape[0] - 1 - t
        s = np.tanh(np.sum(A[k, :half] * x[:half]) * s) + s * A[k, 3]
    return s * s


def rows_backwards_in_jax(A, x):
    half = A.shape[1] // 2
    s = 1.0
    for t in range(A.shape[0]):
        k = A.shape[0] - 1 - t
        s = jnp.tanh(jnp.sum(A[k, :half] * x[:half]) * s) + s * A[k, 3]
    return s * s


def test_rows_from_behind():
    rng = np.random.default_rng(1)
    args = rng.standard_normal((9, 80)) / 9, rng.standard_normal(80)
    assert not outside(made(rows_backwards, args, ("A", "x")), "gradient_A")
    compare(rows_backwards, rows_backwards_in_jax, args, ("A", "x"))


def test_rows_that_no_trip_reaches():
    """They have to be filled, so that all are filled at once."""

    def inner(L, b):
        x = np.zeros_like(b)
        for i in range(1, b.shape[0]):
            x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
        return np.sum(x * x)

    def reference(L, b):
        x = jax.scipy.linalg.solve_triangular(L[1:, 1:], b[1:], lower=True)
        return jnp.sum(x * x)

    program = made(inner, system(40), ("L", "b"))
    assert [ranges(n) for n in outside(program, "gradient_L")] == [[("0", "39"), ("0", "39")]]
    compare(inner, reference, system(40), ("L", "b"))


def test_rows_that_trips_share():
    """Trip t adds to row t and to the one before it."""

    def shared(A, x):
        y = np.copy(x)
        for i in range(1, A.shape[0]):
            y = np.tanh(A[i] * y + A[i - 1])
        return np.sum(y * y)

    def reference(A, x):
        y = x
        for i in range(1, A.shape[0]):
            y = jnp.tanh(A[i] * y + A[i - 1])
        return jnp.sum(y * y)

    rng = np.random.default_rng(2)
    args = rng.standard_normal((6, 50)), rng.standard_normal(50)
    assert outside(made(shared, args, ("A", "x")), "gradient_A")
    compare(shared, reference, args, ("A", "x"))


def test_parts_without_a_loop():
    """Two parts that sums reach, and one leaf for the rest; a part that is reached twice is not set twice."""

    def parts(x, w):
        return np.sum(x[20:30] * x[20:30]) + np.sum(np.cos(x[100:160])) + np.sum(np.sin(x[:100] * w[:100]))

    def reference(x, w):
        return jnp.sum(jnp.sin(x[:100] * w[:100])) + jnp.sum(jnp.cos(x[100:160])) + jnp.sum(x[20:30] * x[20:30])

    rng = np.random.default_rng(3)
    args = rng.standard_normal(N), rng.standard_normal(N)
    program = made(parts, args, ("x", "w"))
    for name, first in (("gradient_x", 160), ("gradient_w", 100)):
        assert [ranges(n) for n in fills_of(program.body, name)] == [[(str(first), str(N - 1))]]
    compare(parts, reference, args, ("x", "w"))


def test_parts_that_leave_two():
    """Before and behind a part: one leaf fills all, as ever."""

    def middle(x):
        return np.sum(np.sin(x[50:60]))

    args = (np.random.default_rng(4).standard_normal(N),)
    assert [ranges(n) for n in fills_of(made(middle, args, ("x",)).body, "gradient_x")] == [[("0", str(N - 1))]]
    compare(middle, lambda x: jnp.sum(jnp.sin(x[50:60])), args, ("x",))


def test_read_before_sums():
    """A forward program that reads its zeros."""

    def reads(x):
        y = np.zeros((4, N))
        for t in range(4):
            before = np.sum(y[t])
            for i in range(t, N):
                y[t, i] += x[i] * (t + 1 + before)
            y[t] = np.sin(y[t] + x)
        return np.sum(y * y)

    def reference(x):
        rows = [jnp.sin(jnp.where(jnp.arange(N) >= t, x * (t + 1), 0) + x) for t in range(4)]
        return sum(jnp.sum(r * r) for r in rows)

    compare(reads, reference, (np.random.default_rng(5).standard_normal(N),), ("x",))


def test_other_constants_and_reductions():
    """A maximum begins with what it finds where that is no less than all numbers, and not with 0."""

    def largest(x):
        y = np.zeros(N)
        for i in range(100):
            y[i] = np.maximum(y[i], x[i])
        return np.sum(y * x)

    def reference(x):
        return jnp.sum(jnp.maximum(x[:100], 0) * x[:100])

    compare(largest, reference, (np.random.default_rng(6).standard_normal(N),), ("x",))
