"""Steps of the optimization, each left out: the same results, by other programs."""

from dataclasses import replace

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.pipeline import SWITCHES
from sdgrad.program.tree import Leaf, Loop, NodeCall, Scope, Store, walk
from sdgrad.runtime.libraries.checkpoint_schedule import CheckpointSchedule

N = 130


def everything(x, A):
    """Rows that share a maximum and a sum; products of all, a triangle, windows; copies, columns, neighbours."""
    shifted = A - np.max(A, axis=1).reshape(N, 1)
    e = np.exp(shifted)
    p = e / np.sum(e, axis=1).reshape(N, 1)
    C = np.zeros((N, N))
    for i in range(N):
        for j in range(i + 1):
            for k in range(N):
                C[i, j] += A[i, k] * p[j, k]
    D = np.copy(C)
    y = np.zeros(N)
    for i in range(N):
        y[i] = x[i] * D[i, 0]
    G = np.zeros((N, N))
    for j in range(N):
        for i in range(N):
            G[i, j] = A[i, j] * x[i]
    h = 0.1 * x
    for t in range(5):
        h = np.tanh(h @ A)
    for t in range(2):
        h[1:-1] = x[2:] * (h[:-2] - h[2:])
    U = np.zeros((N, 3))
    for k in range(1, 3):
        U[1:, k] = np.sin(U[1:, k - 1] + x[1:]) * U[:-1, k - 1]
    z = np.exp(1j * x) * (x - 2j)
    q = np.zeros(N)
    for i in range(N):
        q[(7 * i) % 11] += x[i] * x[i]
    r = np.copy(q)
    r[1:] *= x[:-1]
    J = np.minimum(A, 0.5 * np.add.outer(A[:, 1], A[2, :]))
    S = np.zeros((2, 3, 3))
    for i in range(4):
        for j in range(5):
            for k in range(2):
                left = A[k : k + 3, :3] @ A[7:10, 7:10]
                S[k] += left @ (A[j : j + 3, 5:8] * x[i])
    for i in range(N):
        first = max(i - 9, 0)
        near = np.sin(A[first : i + 1] @ A[i])
        r[i] += np.sum(near @ A[first : i + 1])
    M = np.sin(np.reshape(2.0 * x[:4], (2, 2)) @ np.reshape(0.5 * A[0], (2, N // 2)))
    m = np.zeros(N)
    m[:] = np.reshape(M, (N,))
    w = np.copy(x)
    for i in range(1, N):
        w[:i] = np.sin(w[:i] + x[i])
    u = np.copy(x)
    for i in range(1, N):
        u[:i] += 0.01 * np.tanh(np.dot(np.flip(x[:i]), u[:i])) * np.flip(u[:i])
    d = np.tanh(x)
    d2 = 2.0 * d
    f = np.zeros(N)
    f[1:] = d2[:-1] * d[1:]
    total = np.sum(f) + np.sum(r) + np.sum(w) + np.sum(u) + np.sum(U) + np.sum(J * J) + np.sum(S * S) + m @ (m * x)
    total += np.sum(np.abs(z) ** 2)
    return total + np.sum(np.abs(z * z)) + np.sum(h) + np.sum(p @ C) + np.sum(D * D) + np.sum(y * x) + np.max(G)


def arguments():
    rng = np.random.default_rng(0)
    return rng.standard_normal(N), 0.1 * rng.standard_normal((N, N))


def results():
    """Value and gradients, and the optimised program they come from."""
    f = sdgrad.value_and_grad(everything, wrt=("x", "A"))
    signature, _, _, request = f.question(bind_arguments(f.f, arguments(), {}))
    value, gradients = f(*arguments())
    return value, gradients, optimize(signature.gradient(request).result.program)


REFERENCE = []


@pytest.fixture(autouse=True)
def short_tapes(monkeypatch):
    """Checkpoints, although the tapes are short."""
    monkeypatch.setattr(config, "machine", replace(config.machine, checkpointed_bytes=0))


def reference():
    if not REFERENCE:
        REFERENCE.append(results())
    return REFERENCE[0]


def count(program, kind):
    if kind is Store:
        return sum(len(n.stores) for n in walk(program.body) if isinstance(n, Leaf))
    nodes = (n for n in walk(program.body) if isinstance(n, kind))
    return sum(not (isinstance(n, NodeCall) and isinstance(n.node, CheckpointSchedule)) for n in nodes)


def size(program):
    return sum(int(c.desc.total_size) for c in program.containers.values() if c.transient and not c.desc.free_symbols)


CHANGES = {
    "loop-invariants": lambda own, other: str(other) != str(own),
    "loop-distribution": lambda own, other: count(other, Loop) > count(own, Loop),
    "rematerialization": lambda own, other: count(other, Store) > count(own, Store),
    "own-temporaries": lambda own, other: len(other.containers) <= len(own.containers),
    "checkpoint-memory": lambda own, other: str(other) != str(own),
    "checkpoints": lambda own, other: count(other, Loop) < count(own, Loop),
    "fusion": lambda own, other: count(other, Leaf) > count(own, Leaf),
    "dead-clears": lambda own, other: str(other) != str(own),
    "initialization-sinking": lambda own, other: str(other) == str(own),  # of large arrays
    "function-reuse": lambda own, other: str(other) == str(own),
    "kept-functions": lambda own, other: str(other) == str(own),  # of slower functions
    "turned-layouts": lambda own, other: str(other) == str(own),  # of rings (tests/optimize/test_rings.py)
    "ring-splitting": lambda own, other: str(other) == str(own),
    "copy-propagation": lambda own, other: str(other) != str(own),
    "destination-forwarding": lambda own, other: str(other) != str(own),
    "broadcast-elimination": lambda own, other: str(other) != str(own),
    "split-sums": lambda own, other: str(other) != str(own),
    "dead-stores": lambda own, other: str(other) == str(own),  # of graphs: recorded functions have none here
    "unrolled-sums": lambda own, other: str(other) != str(own),
    "unread-results": lambda own, other: str(other) == str(own),  # of LAPACK, which is not called here
    "scatter-to-gather": lambda own, other: str(other) != str(own),
    "loop-skewing": lambda own, other: str(other) == str(own),  # of long convolutions
    "reshape-views": lambda own, other: str(other) != str(own),
    "squared-moduli": lambda own, other: str(other) != str(own),
    "complex-pairs": lambda own, other: str(other) != str(own),
    "transposed-arguments": lambda own, other: str(other) == str(own),  # of larger arguments
    "data-layout": lambda own, other: (
        {n: c.desc.strides for n, c in own.containers.items() if len(c.shape) > 1}
        != {n: c.desc.strides for n, c in other.containers.items() if len(c.shape) > 1}
    ),
    "loop-contraction": lambda own, other: str(other) != str(own),
    "strip-mining": lambda own, other: str(other) != str(own),
    "triangular-tiling": lambda own, other: count(other, NodeCall) < count(own, NodeCall),
    "sweep-fusion": lambda own, other: str(other) == str(own),  # over large matrices
    "blas-calls": lambda own, other: count(own, NodeCall) > count(other, NodeCall) == 0,
    "row-fusion": lambda own, other: str(other) != str(own),
    "loop-interchange": lambda own, other: str(other) != str(own),
    "early-release": lambda own, other: [*map(str, other.body)] != [*map(str, own.body)],
    "threads": lambda own, other: (
        [n.schedule for n in walk(own.body) if isinstance(n, (Leaf, Scope))]
        != [n.schedule for n in walk(other.body) if isinstance(n, (Leaf, Scope))]
    ),
    "triangular-packing": lambda own, other: size(other) > size(own),
    "buffer-sharing": lambda own, other: len(other.containers) > len(own.containers),
    "nontemporal-stores": lambda own, other: str(other) == str(own),  # of large results
    "simd-reductions": lambda own, other: str(other) == str(own),  # only the generated code is another
}


@pytest.mark.parametrize("step", SWITCHES)
def test_each_step_left_out(step):
    value, gradients, program = reference()
    with config.override(without=(step,)):
        own_value, own_gradients, own = results()
    assert own_value == pytest.approx(value, rel=1e-12)
    for found, right in zip(own_gradients, gradients, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-12 * np.max(np.abs(right)))
    assert CHANGES[step](program, own)


def test_all_left_out():
    value, gradients, _ = reference()
    with config.override(without=SWITCHES):
        own_value, own_gradients, _ = results()
    assert own_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(own_gradients[1], gradients[1], rtol=1e-9, atol=1e-9)


def test_every_switch_is_tested():
    assert set(SWITCHES) == set(CHANGES)
