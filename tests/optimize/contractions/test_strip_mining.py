"""Trips that multiply a matrix with vectors of their own do so in strips where they are independent, and only there."""

import dace
import numpy as np
import pytest
import sympy

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.contractions.sliding_windows import Trips
from sdgrad.program.tree import Container, Leaf, Let, Load, Loop, Param, Program, Store, walk
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

N, F, W = 50, 64, 12


def sliding(Q, K, V):
    """Attention to a window around each row; strips have a rest."""
    y = np.zeros_like(Q)
    for i in range(Q.shape[0]):
        first = max(i - W, 0)
        last = min(i + W + 1, Q.shape[0])
        scores = K[first:last] @ Q[i]
        weights = np.exp(scores - np.max(scores))
        y[i] = weights @ V[first:last] / np.sum(weights)
    return np.sum(y * y)


def causal(Q, K, V):
    """Windows that grow: triangles, which are products of their own."""
    y = np.zeros_like(Q)
    for i in range(Q.shape[0]):
        scores = K[: i + 1] @ Q[i]
        weights = np.tanh(scores)
        y[i] = weights @ V[: i + 1]
    return np.sum(y * y)


def backwards(Q, K, V):
    """The last row first; half of the windows are empty at the end."""
    y = np.zeros_like(Q)
    for i in range(Q.shape[0] - 1, -1, -1):
        first = min(i + 5, Q.shape[0])
        last = min(i + 30, Q.shape[0])
        weights = np.sin(K[first:last] @ Q[i])
        y[i] = weights @ V[first:last]
    return np.sum(y * y)


def summed(Q, K, V):
    """All trips add to what none reads."""
    total = np.zeros(F)
    for i in range(Q.shape[0]):
        first = max(i - W, 0)
        last = min(i + W, Q.shape[0])
        weights = np.sin(K[first:last] @ Q[i])
        total += weights @ V[first:last] * V[i]
    return np.sum(total * total)


def in_heads(Q, K, V):
    """A loop around, and parts of columns."""
    y = np.zeros_like(Q)
    for h in range(2):
        for i in range(Q.shape[0]):
            first = max(i - 3 * W, 0)
            weights = np.cos(K[first : i + 1, 32 * h : 32 * h + 32] @ Q[i, 32 * h : 32 * h + 32]) / (i + 1)
            y[i, 32 * h : 32 * h + 32] = weights @ V[first : i + 1, 32 * h : 32 * h + 32]
    return np.sum(y * y)


def chained(Q, K, V):
    """Each trip reads what the one before has made."""
    y = np.zeros_like(Q)
    for i in range(1, Q.shape[0]):
        first = max(i - W, 0)
        last = min(i + W, Q.shape[0])
        weights = np.sin(K[first:last] @ (Q[i] + y[i - 1]))
        y[i] = weights @ V[first:last] / F
    return np.sum(y * y)


def running(Q, K, V):
    """Each trip reads what all before it have added up."""
    total = np.zeros(F)
    s = 0.0
    for i in range(Q.shape[0]):
        first = max(i - W, 0)
        last = min(i + W, Q.shape[0])
        weights = np.sin(K[first:last] @ (Q[i] + 0.01 * total))
        total += weights @ V[first:last] / F
        s += np.sum(total)
    return s


def narrowing(Q, K, V):
    """Windows whose rows go backwards."""
    s = 0.0
    n = Q.shape[0]
    for i in range(n):
        first = max(n - i - 2 * W, 0)
        last = n - i
        weights = np.sin(K[first:last] @ Q[i])
        s += np.sum((weights @ V[first:last]) ** 2)
    return s


def chosen(Q, K, V):
    """Windows that data decides."""
    y = np.zeros_like(Q)
    for i in range(Q.shape[0]):
        first = int(abs(Q[i, 0]) * 4)
        last = first + 20
        weights = np.sin(K[first:last] @ Q[i])
        y[i] = weights @ V[first:last]
    return np.sum(y * y)


STRIPPED = {"sliding": sliding, "backwards": backwards, "summed": summed, "in_heads": in_heads}
LEFT = {"causal": causal, "chained": chained, "running": running, "narrowing": narrowing, "chosen": chosen}


def arguments():
    r = np.random.default_rng(0)
    return tuple(r.standard_normal((N, F)) / 8 for _ in range(3))


def strips(f):
    """How many loops over strips the gradient of a function has."""
    question = sdgrad.value_and_grad(f, wrt=("Q", "K", "V"))
    signature, _, _, request = question.question(bind_arguments(f, arguments(), {}))
    program = optimize(signature.differentiated(request).program)
    return sum(isinstance(n, Loop) and n.symbol.startswith("strip_") for n in walk(program.body))


@pytest.mark.parametrize("name", STRIPPED)
def test_in_strips(name):
    forward = name != "summed"  # which reads what it adds to
    assert strips(STRIPPED[name]) == 1 + forward


@pytest.mark.parametrize("name", LEFT)
def test_left_as_they_are(name):
    assert strips(LEFT[name]) == 0


@pytest.mark.parametrize("name", [*STRIPPED, *LEFT])
def test_gradients(name):
    """Against differences in a few directions, and against the program without strips."""
    f = {**STRIPPED, **LEFT}[name]
    given = arguments()
    value, found = sdgrad.value_and_grad(f, wrt=("Q", "K", "V"))(*given)
    assert value == pytest.approx(f(*given), rel=1e-12)
    r = np.random.default_rng(1)
    for k in range(3):
        step = [r.standard_normal(a.shape) if i == k else np.zeros_like(a) for i, a in enumerate(given)]
        high, low = (f(*(a + s * 1e-6 * d for a, d in zip(given, step, strict=True))) for s in (1, -1))
        assert np.sum(found[k] * step[k]) == pytest.approx((high - low) / 2e-6, rel=1e-6, abs=1e-7)
    with config.override(without=("strip-mining",)):
        _, other = sdgrad.value_and_grad(f, wrt=("Q", "K", "V"))(*given)
    for mine, own in zip(found, other, strict=True):
        np.testing.assert_allclose(mine, own, rtol=1e-10, atol=1e-12 * np.max(np.abs(own)))


def test_single_precision():
    given = [a.astype(np.float32) for a in arguments()]
    found = sdgrad.grad(sliding, wrt=("Q", "K", "V"))(*given)
    right = sdgrad.grad(sliding, wrt=("Q", "K", "V"))(*arguments())
    for mine, own in zip(found, right, strict=True):
        assert mine.dtype == np.float32
        np.testing.assert_allclose(mine, own, rtol=1e-3, atol=1e-5)


def test_tape_of_a_window():
    """One array of scores is kept; what follows from it is computed again, by trips that do not wait for each other."""
    f = sdgrad.value_and_grad(sliding, wrt=("Q", "K", "V"))
    signature, _, _, request = f.question(bind_arguments(sliding, arguments(), {}))
    plan = signature.differentiated(request).plan
    large = [c for c in plan.tape_containers if len(c.shape) == 2]
    assert len(large) == 1 and len(plan.redo) == 1 and not plan.undo
    backward = signature.differentiated(request).backward
    restored = [n for n in walk(backward) if isinstance(n, Leaf) and n.source.label.startswith("restore_")]
    assert len(restored) == 1


def test_of_a_sum_all_terms_are_products_or_none():
    one, last = sympy.Integer(1), sympy.Integer(N - 1)
    rows, columns, trips = (Param(n, sympy.Integer(0), last, one) for n in ("j", "f", "i"))
    shapes = {"p": (N,), "t": (N,), "V": (N, N)}
    containers = {n: Container(n, dace.data.Array(dace.float64, shape)) for n, shape in shapes.items()}
    program = Program("sums", containers, {}, {}, ())
    j, f = sym("j"), sym("f")

    def products(text):
        loads = Load("a", "p", (j,)), Load("b", "V", (j, f))
        leaf = Leaf((rows, columns), (*loads, Let("v", code.parse(text)), Store("t", (f,), "v", "sum")))
        return [len(found) for found in Trips(trips, {}, {"p", "t"}, program).products(leaf)]

    assert products("a * b") == [1, 0]
    assert products("a * b + 2 * (a * b)") == [2, 0]
    assert products("a * b + b * b") == [0, 1]
