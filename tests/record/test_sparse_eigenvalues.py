"""A few eigenvalues and singular values of sparse matrices: SciPy's values, derivatives like those of dense ones."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh, svds

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)
N = 9
D = RNG.standard_normal((N, N)) * (RNG.random((N, N)) < 0.3) + np.diag(np.arange(float(N)))
R = RNG.standard_normal((7, N)) * (RNG.random((7, N)) < 0.6) + np.eye(7, N)
V0, C = np.ones(N), RNG.standard_normal((N, 3))
jax.config.update("jax_enable_x64", True)


def pairs(half, c):
    A = half + half.T  # symmetric whatever is moved
    w, v = eigsh(A, k=3, which="LA", v0=V0)
    near, _ = eigsh(A.tocsc(), k=2, sigma=3.1, v0=V0)
    least = eigsh(A, k=3, which="SA", return_eigenvectors=False)
    return np.sum(np.sin(w) * np.sum(c * v, axis=0)) + np.sum(v**3) + near[0] * near[1] ** 2 + least[0] - least[2] ** 2


@pytest.mark.parametrize("cls, mode", [(sp.csr_array, "fwd"), (sp.csc_matrix, "rev"), (sp.coo_array, "rev")])
def test_derivatives(cls, mode):
    check_grads(pairs, (cls(D), C), modes=(mode,))


def test_second_order():
    def program(half):
        w, v = eigsh(half + half.T, k=2, which="LA", v0=V0)
        return np.sum(w[0] * v[:, 0] ** 3) + np.sum(v[:, 1] ** 4) + w[1] ** 2

    check_grads(program, (sp.csr_array(D),), order=2)


def test_against_a_dense_matrix():
    S = D + D.T

    def dense(a):
        w, v = jnp.linalg.eigh((a + a.T) / 2)
        return jnp.sum(jnp.sin(w[-3:])) + jnp.sum((v[:, -3:] @ v[:, -3:].T) ** 2 * C[:, :1])

    def sparse(a):
        w, v = eigsh(a, k=3, which="LA")
        return np.sum(np.sin(w)) + np.sum((v @ v.T) ** 2 * C[:, :1])

    (found,) = sdgrad.grad(sparse, wrt=(0,))(sp.csr_array(S))
    np.testing.assert_allclose(found.toarray(), np.where(S, jax.grad(dense)(S), 0.0), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("matrix, mode", [(R, "rev"), (R.T, "fwd")])
def test_singular_values(matrix, mode):
    c = RNG.standard_normal(matrix.shape)

    def program(A):
        u, s, vh = svds(A, k=3, v0=np.ones(7))
        found = np.sum((u * np.cos(s)) @ vh * c) + np.sum(u**4 * c[:, :3]) + np.sum(vh[0] ** 4)  # whatever signs are
        return found + np.sum(svds(A, k=2, return_singular_vectors=False) ** 3) + svds(A, 1, which="SM", rng=1)[1][0]

    check_grads(program, (sp.csr_array(matrix),), modes=(mode,))


def test_hermitian_matrices():
    H = sp.csr_array(D + 1j * np.diag(np.arange(1.0, N), 1))

    def program(half, c):
        w, v = eigsh(half + half.T.conj(), k=2, which="LA", v0=V0 + 0j)
        return np.sum(np.abs(np.sum(c[:, :2] * v, axis=0)) ** 2 * np.sin(w))

    check_grads(program, (H, C))
    check_grads(lambda A: np.sum(np.abs(svds(A, k=2)[0][0]) ** 2 * svds(A, k=2)[1]), (H,))


def test_values_and_types_like_scipy():
    def values(A, v0):
        found = [eigsh(A, k=3, which=w, v0=v0, return_eigenvectors=False) for w in ("LM", "SM", "LA", "SA", "BE")]
        return *found, *eigsh(A, k=3, v0=v0, sigma=3.3), *svds(A, k=2, v0=v0), *eigsh(A, 2, rng=3)

    for dtype in (np.float32, np.float64, np.int64):
        A = sp.csr_array(np.round(8 * (D + D.T)).astype(dtype))
        v0 = V0.astype(np.float32 if dtype is np.float32 else np.float64)
        for own, other in zip(sdgrad.compile_forward(values)(A, v0), values(A, v0), strict=True):
            assert own.dtype == other.dtype and own.shape == other.shape
            np.testing.assert_allclose(own, other, rtol=1e-3 if dtype is np.float32 else 1e-9, atol=1e-4)


def test_refusals():
    A = sp.csr_array(D + D.T)
    for function, error, told in (
        (lambda A: eigsh(A, M=A)[0], ParseError, "scipy.linalg.eigh"),
        (lambda A: eigsh(A.toarray(), k=2)[0], ParseError, "np.linalg.eigh"),
        (lambda A: svds(A.toarray(), k=2)[0], ParseError, "np.linalg.svd"),
        (lambda A: eigsh(A, rng=np.random.default_rng(0))[0], ParseError, "integer"),
        (lambda A: eigsh(A[:3], k=2)[0], ValueError, "square"),
        (lambda A: eigsh(A, k=N)[0], TypeError, "reduce k"),
        (lambda A: svds(A, k=N)[0], ValueError, "0 < k"),
        (lambda A: eigsh(A, k=2, v0=np.ones(4))[0], ValueError, "v0 must have shape"),
    ):
        with pytest.raises(error, match=told):
            sdgrad.compile_forward(function)(A)
