"""Arrays that are uniform in part: what reads that part reads what it repeats, and the rest as it is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from benchmarks.kernels import load
from sdgrad.analysis.cost_model import instances
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize.dataflow.broadcast_elimination import compute_once
from sdgrad.program.custom_call import expanded
from sdgrad.rewrite.fusion import fuse

RNG = np.random.default_rng(31)
M, K, N = 30, 18, 22


def mirrored(A, B):
    """Both triangles of a symmetric product are summed, the diagonal once."""
    C = np.zeros((K, K))
    for i in range(K):
        C[i, i:] = A[:, i] @ A[:, i:]
        C[i:, i] = C[i, i:]
    return np.sum(C) * B[0, 0]


def mirrored_strictly(A, B):
    C = np.eye(K)
    for i in range(K - 1):
        C[i, i + 1 :] = A[:, i] @ A[:, i + 1 :]
        C[i + 1 :, i] = C[i, i + 1 :]
    return np.sum(C) * B[0, 0]


def scaled_mirror(A, B):
    """The lower triangle weighs twice as much."""
    C = np.zeros((K, K))
    for i in range(K - 1):
        C[i, i + 1 :] = A[:, i] @ A[:, i + 1 :]
        C[i + 1 :, i] = 2.0 * C[i, i + 1 :]
    return np.sum(C) + np.sum(B)


def first_row(A, B):
    D = np.zeros((K, N))
    D[:] = A[1, 1]
    D[0, :] = B[0, :]
    return np.sum(A @ D) + np.sum(D)


def last_column(A, B):
    D = np.zeros((K, N))
    D[:] = A[1, 1]
    D[:, N - 1] = B[:, 0]
    return np.sum(A @ D) + A[0, 0] * D[2, N - 1]


def row_in_the_middle(A, B):
    D = np.zeros((K, N))
    D[:] = A[1, 1]
    D[7, :] = B[0, :]
    return np.sum(A @ D)


def chosen_row(A, B):
    """Which elements differ is known when it runs."""
    D = np.zeros((K, N))
    D[:] = A[1, 1]
    row = 3 if A[0, 0] > 0.0 else 5
    D[row, :] = B[0, :]
    return np.sum(A @ D)


def added_to(A, B):
    D = np.zeros((K, N))
    D[:] = A[1, 1]
    D[1:, :] += B[1:, :]
    D[0, :] += A[0, 0]
    return np.sum(A @ D) * D[0, 0]


def added_from_itself(A, B):
    """What is read of the array while it is added to is there before, or not."""
    D = np.zeros((K, N))
    D[:] = A[1, 1]
    for i in range(K - 1):
        D[i + 1, :] += D[i, :]
    return np.sum(A @ D) + np.sum(B * D)


def source_changes(A, B):
    """What the elements were copied from is another number when they are read."""
    s = np.zeros(1)
    s[0] = A[0, 0]
    D = np.zeros((K, N))
    D[:] = s[0]
    D[0, :] = B[0, :]
    s[0] = B[0, 1] * 2.0
    return np.sum(A @ D) * s[0]


def in_a_loop(A, B):
    y = 0.0
    for t in range(3):
        D = np.zeros((K, N))
        D[:] = A[t, t]
        D[t, :] = B[t, :]
        y += np.sum(A @ D)
    return y


def slanted(A, B):
    """Elements are sums that begin in both parts of a nest."""
    D = np.zeros((K, N))
    D[:] = A[1, 1]
    D[0, :] = B[0, :]
    y = np.zeros(K + N)
    for i in range(K):
        for j in range(N):
            y[i + j] += D[i, j] * A[2, i]
    return np.sum(y * y)


def rows_apart(A, B):
    """Each row is a sum of its own, begun where it is."""
    D = np.zeros((K, N))
    D[:] = A[1, 1]
    D[0, :] = B[0, :]
    return np.sum(np.sum(D * B, axis=1) ** 2)


PROGRAMS = [
    slanted,
    rows_apart,
    mirrored,
    mirrored_strictly,
    scaled_mirror,
    first_row,
    last_column,
    row_in_the_middle,
    chosen_row,
    added_to,
]
PROGRAMS += [added_from_itself, source_changes, in_a_loop, slanted, rows_apart]


def arguments():
    return RNG.standard_normal((M, K)), RNG.standard_normal((K, N))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f):
    A, B = arguments()
    value, gradients = sdgrad.value_and_grad(f, wrt=("A", "B"))(A, B)
    np.testing.assert_allclose(value, f(A, B), rtol=1e-10)
    for k, found in enumerate(gradients):
        direction = RNG.standard_normal(found.shape)
        ends = [f(*(x + s * 1e-5 * direction if j == k else x for j, x in enumerate((A, B)))) for s in (1, -1)]
        wanted = (ends[0] - ends[1]) / 2e-5
        assert abs(np.sum(found * direction) - wanted) < 1e-6 * (abs(wanted) + 1e-3 * np.linalg.norm(found))
    with config.override(without=("broadcast-elimination",)):
        others = sdgrad.grad(f, wrt=("A", "B"))(A, B)
    for found, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-10 * np.max(np.abs(other)))


def differentiated(f, *args, wrt):
    function = sdgrad.value_and_grad(f, wrt=wrt)
    signature, _, _, request = function.question(bind_arguments(function.f, args, {}))
    return fuse(expanded(signature.gradient(request).result.program))


@pytest.mark.parametrize("f", [mirrored, mirrored_strictly], ids=lambda f: f.__name__)
def test_the_cotangent_of_a_symmetric_product_is_no_product(f):
    """Of two nests over three parameters, the function's and its adjoint's, one is left."""
    program = differentiated(f, *arguments(), wrt=("A", "B"))
    nest = M * K * (K + 1) / 2
    assert instances(program.body) > 1.8 * nest
    assert instances(compute_once(program).body) < 1.5 * nest + 10 * M * K


def test_covariance_and_correlation_like_jax():
    for name in ("covariance", "correlation"):
        kernel = load(name)
        (data,) = kernel.inputs(kernel.sizes["small"], np.random.default_rng(0))
        wanted = jax.grad(lambda x, f=kernel.jax_version: f(x))(jnp.asarray(data, dtype=jnp.float64))
        found = sdgrad.grad(kernel.numpy_version, wrt=("data",))(np.array(data))
        found = found[0] if isinstance(found, tuple) else found
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)
