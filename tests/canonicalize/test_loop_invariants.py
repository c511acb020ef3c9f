"""Loops that only add up: what trips have in common is computed once, and what it must not be stays."""

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.program.tree import Leaf, Loop, children
from sdgrad.specialize.signature import Signature

K, Q, J, A, N = 2, 3, 4, 3, 5


def scattered(X, Y, d):
    """Products of small matrices, of which the first does not vary with two of the loops."""
    S = np.zeros((A, N, N), dtype=X.dtype)
    for k in range(K):
        for q in range(Q):
            for j in range(J):
                for a in range(A):
                    left = X[a] @ Y[k]
                    right = Y[j] * d[q, j, a]
                    S[a] += left @ right
    return np.sum(S * S)


def guarded(X, Y, d):
    """Under a condition on loops that stay outside."""
    S = np.zeros((A, N, N), dtype=X.dtype)
    for k in range(K):
        for q in range(Q):
            for j in range(J):
                for a in range(A):
                    if a - k >= 0:
                        left = X[a - k] @ Y[k]
                        S[a] += 2.0 * (left @ (Y[j] * d[q, j, a]))
    return np.sum(S * S)


def condition_of_inner(X, Y, d):
    """The condition depends on what would be an inner loop."""
    S = np.zeros((A, N, N), dtype=X.dtype)
    for k in range(K):
        for j in range(J):
            for a in range(A):
                if j - k >= 0:
                    left = X[a] @ Y[k]
                    S[a] += left @ (Y[j] * d[0, j, a])
    return np.sum(S * S)


def not_linear(X, Y, d):
    S = np.zeros((A, N, N), dtype=X.dtype)
    for q in range(Q):
        for j in range(J):
            for a in range(A):
                left = X[a] @ Y[0]
                S[a] += np.sin(left @ (Y[j] * d[q, j, a]))
    return np.sum(S * S)


def squared(X, Y, d):
    S = np.zeros((A, N, N), dtype=X.dtype)
    for q in range(Q):
        for j in range(J):
            for a in range(A):
                left = X[a] @ Y[0]
                right = Y[j] * d[q, j, a]
                S[a] += (left @ right) * right
    return np.sum(S * S)


def read_on_the_way(X, Y, d):
    """Each trip sees what the ones before it have added."""
    S = np.ones((A, N, N), dtype=X.dtype)
    for q in range(Q):
        for j in range(J):
            for a in range(A):
                left = X[a] @ Y[0] + 0.1 * S[(a + 1) % A]
                S[a] += left @ (Y[j] * d[q, j, a])
    return np.sum(S * S)


def seen_afterwards(X, Y, d):
    """The last product is read behind the loops."""
    S = np.zeros((A, N, N), dtype=X.dtype)
    right = np.zeros((N, N), dtype=X.dtype)
    for q in range(Q):
        for j in range(J):
            for a in range(A):
                left = X[a] @ Y[0]
                right[:] = Y[j] * d[q, j, a]
                S[a] += left @ right
    return np.sum(S * S) + np.sum(right)


def scaled(X, Y, d):
    """Every part of the chain varies with one loop: only the other one goes inside."""
    S = np.zeros((A, N, N), dtype=X.dtype)
    for q in range(Q):
        for j in range(J):
            for a in range(A):
                left = X[a] @ Y[j]
                right = Y[0] * d[q, j, a]
                S[a] += d[0, j, a] * (left @ right)
    return np.sum(S * S)


def subtracted(X, Y, d):
    """What is added is a difference: linear in both of its sides together."""
    S = np.zeros((A, N, N), dtype=X.dtype)
    for q in range(Q):
        for j in range(J):
            for a in range(A):
                left = X[a] @ Y[0]
                right = Y[j] * d[q, j, a] - X[j % A]
                S[a] += right @ left - left @ right
    return np.sum(S * S)


FUNCTIONS = [scattered, guarded, condition_of_inner, not_linear, squared, read_on_the_way, seen_afterwards, scaled]
FUNCTIONS += [subtracted]
INNER = {scattered: {"q", "j"}, guarded: {"q", "j"}, scaled: {"q"}}


def arguments():
    rng = np.random.default_rng(2)
    return (
        0.5 * rng.standard_normal((A, N, N)),
        0.5 * rng.standard_normal((max(K, J), N, N)),
        rng.standard_normal((Q, J, A)),
    )


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(f):
    args = arguments()
    value, found = sdgrad.value_and_grad(f, wrt=(0, 1, 2))(*args)
    assert value == pytest.approx(f(*args), rel=1e-12)
    for k, gradient in enumerate(found):
        wanted = np.zeros_like(args[k])
        for place in np.ndindex(wanted.shape):
            moved = [a.astype(complex) for a in args]
            moved[k][place] += 1e-30j
            wanted[place] = f(*moved).imag / 1e-30
        np.testing.assert_allclose(gradient, wanted, rtol=1e-10, atol=1e-11 * np.max(np.abs(wanted)))


def loops_of(f, without=()):
    """The loops of a function, by the number of loops around them, where loops stay loops."""
    with config.override(without=("loop-distribution", *without)):
        program = Signature.of(f, bind_arguments(f, arguments(), {})).program
    found = []

    def visit(block, depth):
        for node in block:
            if isinstance(node, Loop):
                found.append((depth, node.symbol))
            for inner in children(node):
                visit(inner, depth + isinstance(node, Loop))

    visit(program.body, 0)
    return found


def work(block, trips):
    total = 0
    for node in block:
        if isinstance(node, Leaf):
            total += trips * int(np.prod([int(p.count) for p in node.params], dtype=int))
        again = int(node.stop.expr.value) + 1 if isinstance(node, Loop) else 1
        total += sum(work(inner, trips * again) for inner in children(node))
    return total


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_which_loops_are_inside(f):
    found, own = loops_of(f), loops_of(f, without=("loop-invariants",))
    if f not in INNER:
        assert found == own
        return
    outside = len(own) - len(INNER[f])
    assert {symbol[0] for depth, symbol in found if depth >= outside} == INNER[f]


def test_there_is_less_to_compute():
    amounts = []
    for without in ((), ("loop-invariants",)):
        with config.override(without=("loop-distribution", *without)):
            amounts.append(work(Signature.of(scattered, bind_arguments(scattered, arguments(), {})).program.body, 1))
    assert amounts[0] * 4 < amounts[1]
