"""Copies of arrays in another shape are views, and sums of few terms assignments; where they may not be, too."""

import ast

import dace
import numpy as np
import pytest
import sympy
from dace import data as dt

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.reductions.unrolled_sums import write_out_short_sums
from sdgrad.program.tree import Container, Leaf, Let, Load, NodeCall, Param, Program, Store, walk
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

I, J, K = map(sym, "ijk")
RNG = np.random.default_rng(5)
N = 96


def stages(x, M):
    """Products in turn with reshaped results, in place."""
    y = np.copy(x)
    for k in range(3):
        p = M @ np.reshape(np.sin(y), (2, N // 2))
        y[:] = np.reshape(p, (N,))
    return np.sum(y * y * x)


def two_stages(x, M):
    y = np.copy(x)
    p = M @ np.reshape(np.sin(y), (2, N // 2))
    y[:] = np.reshape(p, (N,))
    q = M @ np.reshape(np.sin(y), (2, N // 2))
    y[:] = np.reshape(q, (N,))
    return np.sum(y * x)


def target_in_use(x, M):
    """What the result is copied to is read while it is made."""
    y = np.copy(x)
    p = M @ np.reshape(np.sin(x), (2, N // 2))
    q = np.reshape(p, (N,)) * y
    y[:] = np.reshape(p, (N,))
    return np.sum(q * y)


def original_changes(x, M):
    """The copy is read when the original is something else."""
    p = M @ np.reshape(x, (2, N // 2))
    y = np.zeros(N)
    y[:] = np.reshape(p, (N,))
    p[:] = 2.0 * p + 1.0
    return np.sum(y * np.reshape(p, (N,)))


def copy_changes(x, M):
    p = M @ np.reshape(x, (2, N // 2))
    y = np.zeros(N)
    y[:] = np.reshape(p, (N,))
    y[3:] = y[3:] * x[3:]
    return np.sum(y * np.reshape(p, (N,)))


def transposed(x, M):
    p = M @ np.reshape(x, (2, N // 2))
    y = np.zeros((N // 2, 2))
    y[:] = p.T
    return np.sum(np.reshape(y, (N,)) * x * x)


def part(x, M):
    p = M @ np.reshape(x, (2, N // 2))
    y = np.zeros(N // 2)
    y[:] = p[1]
    return np.sum(np.sin(y) * x[: N // 2])


def three_terms(x, M):
    A = np.reshape(x, (N // 3, 3))
    B = A @ np.reshape(x[:9], (3, 3))
    return np.sum(B * B * A) + M[0, 0]


def few_columns(x, M):
    """The factor's gradient is a long sum, and one factor a vector."""
    A = np.reshape(x, (N // 2, 2))
    return np.sum((A @ M) ** 2) + np.sum(np.sin(A @ M[0]))


def places_from_data(x, M):
    """Which elements the terms go to is read from an array."""
    places = np.array([2, 0, 2], dtype=np.int64)
    y = np.zeros((4, N))
    for i in range(3):
        for j in range(N):
            y[places[i], j] += x[j] * M[0, i % 2]
    return np.sum(y * y * x)


def along_diagonals(x, M):
    """Short sums of which several go to one element."""
    A, B = np.reshape(x, (N // 2, 2)), np.reshape(np.sin(x), (N // 2, 2))
    y = np.zeros(N)
    for i in range(N // 2):
        for j in range(N // 2):
            for k in range(2):
                y[i + j] += A[i, k] * B[j, k]
    return np.sum(y * y) * M[0, 1]


def complex_stages(x, M):
    z = np.exp(1j * x) + np.exp(x - 0.5j)
    p = (M + 1j * M.T) @ np.reshape(z, (2, N // 2))
    return np.sum(np.abs(np.reshape(p, (N,)) * z))


PROGRAMS = [
    stages,
    two_stages,
    target_in_use,
    original_changes,
    copy_changes,
    transposed,
    part,
    three_terms,
    few_columns,
]
PROGRAMS += [complex_stages, places_from_data, along_diagonals]


def arguments():
    return RNG.standard_normal(N), RNG.standard_normal((2, 2))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f):
    x, M = arguments()
    value, gradients = sdgrad.value_and_grad(f, wrt=("x", "M"))(x, M)
    np.testing.assert_allclose(value, f(x, M), rtol=1e-12)
    for k, found in enumerate(gradients):
        direction = RNG.standard_normal(found.shape)
        ends = [f(*(v + s * 1e-5 * direction if j == k else v for j, v in enumerate((x, M)))) for s in (1, -1)]
        wanted = (ends[0] - ends[1]) / 2e-5
        assert abs(np.sum(found * direction) - wanted) < 1e-6 * (abs(wanted) + np.linalg.norm(found))
    with config.override(without=("unrolled-sums", "reshape-views", "buffer-sharing")):
        others = sdgrad.grad(f, wrt=("x", "M"))(x, M)
    for found, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-12, atol=1e-12 * np.max(np.abs(other)))


def program_of(f):
    function = sdgrad.value_and_grad(f, wrt=("x",))
    signature, _, _, request = function.question(bind_arguments(function.f, arguments(), {}))
    return optimize(signature.gradient(request).result.program)


def test_stages_call_nothing_and_copy_nothing():
    nodes = list(walk(program_of(two_stages).body))
    assert not any(isinstance(n, NodeCall) for n in nodes)
    copies = [s for n in nodes if isinstance(n, Leaf) for s in n.stores if s.value in {x.name for x in n.loads}]
    assert not [s for s in copies if s.mode == "set" and s.container not in ("y", "__return")]


@pytest.mark.parametrize("number", [0j, 1 + 2j, -800 + 1j, 800 + 0j, -np.inf + 3j, 2 - 0j, 1e-300j])
def test_complex_exponentials_at_their_ends(number):
    def powers(z):
        return np.exp(z)

    def total(z):
        return np.sum(np.abs(np.exp(z)))

    z = np.full(37, number)
    np.testing.assert_allclose(sdgrad.compile_forward(powers)(z), np.exp(z), rtol=1e-14)
    if np.isfinite(np.exp(number)) and np.isfinite(number):
        assert np.isfinite(sdgrad.grad(total, wrt=("z",))(z)[0]).all()


@pytest.mark.parametrize(("place", "mode"), [((I + J,), "sum"), ((I, J), "set")], ids=["diagonals", "elements"])
def test_what_several_sums_go_to_is_not_set(place, mode):
    A, B = Load("a", "A", (I, K)), Load("b", "B", (K, J))
    product = Let("v", code.binary(ast.Mult, code.name("a"), code.name("b")))
    ends = {"i": 7, "j": 7, "k": 1}
    params = tuple(Param(n, sympy.Integer(0), sympy.Integer(end), sympy.Integer(1)) for n, end in ends.items())
    leaf = Leaf(params, (A, B, product, Store("C", place, "v", "sum", None, True)))
    arrays = {"A": (8, 2), "B": (2, 8), "C": (15,) if len(place) == 1 else (8, 8)}
    containers = {n: Container(n, dt.Array(dace.float64, shape)) for n, shape in arrays.items()}
    (found,) = write_out_short_sums(Program("short", containers, {}, {}, (leaf,), tuple(arrays))).body
    (store,) = found.stores
    assert len(found.params) == 2
    assert (store.mode, store.fresh) == (mode, mode == "sum")
