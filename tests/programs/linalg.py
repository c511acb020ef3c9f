"""Products of vectors, matrices and tensors; solve, inverse and Cholesky."""

import numpy as np

from ._base import arrays, program, signed


@program(arrays((3, 5), (5, 4)), "matmul", scalar=False)
def matmul(A, B):
    return A @ B


@program(arrays((3, 5), (5, 4)), "matmul")
def matmul_squared(A, B):
    C = A @ B
    return np.sum(C * C)


@program(arrays((3, 5), (5, 4)), "matmul needs-frontend", scalar=False)
def matmul_function(A, B):
    return np.matmul(np.sin(A), B)


@program(arrays((3, 5), (5, 4)), "dot", scalar=False)
def dot_matrices(A, B):
    return np.dot(A, B)


@program(arrays((3, 5), 5), "matvec", scalar=False)
def matvec(A, x):
    return A @ x


@program(arrays(3, (3, 5)), "vecmat", scalar=False)
def vecmat(x, A):
    return x @ A


@program(arrays(7, 7), "dot")
def dot_vectors(x, y):
    return np.dot(x, y)


@program(arrays(7, 7), "dot")
def inner_operator(x, y):
    return (x @ y) * (x @ x)


@program(arrays((3, 3)), "matmul shared", scalar=False)
def matrix_squared(A):
    return A @ A


@program(arrays((3, 4)), "matmul shared transpose", scalar=False)
def gram(A):
    return A @ A.T


@program(arrays((4, 3), (4, 5)), "matmul transpose", scalar=False)
def matmul_transposed_left(A, B):
    return A.T @ B


@program(arrays((3, 4), (5, 4)), "matmul transpose", scalar=False)
def matmul_transposed_right(A, B):
    return A @ B.T


@program(arrays((4, 3), (5, 4)), "matmul transpose", scalar=False)
def matmul_both_transposed(A, B):
    return A.T @ B.T


@program(arrays((2, 3), (3, 4), (4, 5), 5), "matmul chain", scalar=False)
def matmul_chain(A, B, C, x):
    return A @ (B @ (C @ x))


@program(arrays((3, 3), (3, 3)), "matmul chain", scalar=False)
def matmul_polynomial(A, B):
    return A @ B @ A + 2.0 * A @ A - B


@program(arrays((2, 3, 4), (2, 4, 5)), "matmul batched", scalar=False)
def matmul_batched(A, B):
    return A @ B


@program(arrays((2, 3, 4), (4, 5)), "matmul batched broadcast", scalar=False)
def matmul_batched_shared(A, B):
    return A @ B


@program(arrays(5), "quadratic shared")
def norm_through_dot(x):
    return np.sqrt(x @ x)


@program(arrays((4, 4), 4), "quadratic")
def quadratic_form(A, x):
    return x @ A @ x


@program(arrays((3, 4), (4, 2)), "matmul inplace", scalar=False, mutates="A")
def matmul_then_overwritten(A, B):
    C = A @ B
    A[:, :2] = C * C
    return C


@program(arrays((3, 4), (4, 5), (3, 5)), "matmul inplace augmented", scalar=False, mutates="C")
def matmul_accumulated(A, B, C):
    C += A @ B


@program(arrays((4, 4), 4), "matvec inplace repeated", scalar=False, mutates="x")
def matvec_twice_in_place(A, x):
    x[:] = A @ x
    x[:] = A @ x


@program(arrays((4, 6), (6, 5)), "matmul slice", scalar=False)
def matmul_of_slices(A, B):
    return A[1:3, ::2] @ B[:3, 1:4]


@program(arrays((3, 4), (4, 5)), "matmul out inplace", scalar=False)
def matmul_into_rows(A, B):
    C = np.zeros((6, 5))
    C[1:4] = A @ B
    C[4] = A[0] @ B
    return C


@program(arrays((3, 4), (4, 5)), "einsum", scalar=False)
def einsum_matmul(A, B):
    return np.einsum("ij,jk->ik", A, B)


@program(arrays((3, 4), (5, 4)), "einsum transpose", scalar=False)
def einsum_transposed(A, B):
    return np.einsum("ik,jk->ji", A, B)


@program(arrays((2, 3, 4), (2, 4, 5)), "einsum batched", scalar=False)
def einsum_batched(A, B):
    return np.einsum("bij,bjk->bik", A, B)


@program(arrays(4, 5), "einsum outer", scalar=False)
def einsum_outer(x, y):
    return np.einsum("i,j->ij", x, y)


@program(arrays((4, 5), (4, 5)), "einsum needs-frontend", scalar=False)
def einsum_rows(A, B):
    return np.einsum("ij,ij->i", A, B)


@program(arrays((3, 4), (4, 5), (5, 2)), "einsum chain", scalar=False)
def einsum_three_operands(A, B, C):
    return np.einsum("ij,jk,kl->il", A, B, C)


@program(arrays((3, 4, 2), (4, 2)), "einsum", scalar=False)
def einsum_contraction(A, B):
    return np.einsum("ijk,jk->i", A, B)


@program(arrays((4, 4)), "einsum shared", scalar=False)
def einsum_same_operand(A):
    return np.einsum("ij,jk->ik", A, A)


@program(arrays(4, 5), "outer needs-frontend", scalar=False)
def outer(x, y):
    return np.outer(x, y)


@program(arrays(5), "outer shared needs-frontend", scalar=False)
def outer_of_same(x):
    return np.outer(x, x) * 2.0


@program(arrays((2, 3, 4), (4, 3, 5)), "tensordot", scalar=False)
def tensordot(A, B):
    return np.tensordot(A, B, axes=([1, 2], [1, 0]))


@program(arrays((3, 4), (4, 5)), "tensordot", scalar=False)
def tensordot_one_axis(A, B):
    return np.tensordot(A, B, axes=1)


@program(arrays((2, 3), (3, 2)), "kron needs-frontend", scalar=False)
def kron(A, B):
    return np.kron(A, B)


@program(arrays(3, 3), "cross needs-frontend", scalar=False)
def cross(x, y):
    return np.cross(x, y)


def _well_conditioned(rng, n):
    return signed(rng, (n, n)) * 0.3 + 3.0 * np.eye(n)


def _definite(rng, n):
    B = signed(rng, (n, n))
    return B @ B.T + n * np.eye(n)


# DaCe, a right side that is a vector: Node validation failed: list index out of range (node solve).
@program(lambda rng: (_well_conditioned(rng, 4), signed(rng, 4)), "solve lapack dace-frontend-fails", scalar=False)
def solve_vector(A, b):
    return np.linalg.solve(A, b)


@program(lambda rng: (_well_conditioned(rng, 4), signed(rng, (4, 3))), "solve lapack", scalar=False)
def solve_matrix(A, B):
    return np.linalg.solve(A, B)


# DaCe, a right side that is a vector: Node validation failed: list index out of range (node solve).
@program(lambda rng: (_well_conditioned(rng, 5), signed(rng, 5)), "solve lapack dace-frontend-fails")
def solve_inside(A, b):
    x = np.linalg.solve(A * A, np.sin(b))
    return x @ b


@program(lambda rng: (_well_conditioned(rng, 4),), "inv lapack", scalar=False)
def inverse(A):
    return np.linalg.inv(A)


@program(lambda rng: (_well_conditioned(rng, 3), signed(rng, 3)), "inv lapack")
def mahalanobis(A, x):
    return x @ np.linalg.inv(A) @ x


def _cholesky_jax(A):
    import jax.numpy as jnp

    return jnp.linalg.cholesky(jnp.tril(A) + jnp.tril(A, -1).T)


@program(lambda rng: (_definite(rng, 4),), "cholesky lapack", scalar=False, jax=_cholesky_jax)
def cholesky(A):
    return np.linalg.cholesky(A)


@program(arrays((5, 3), (3, 4), 4), "matmul bias", scalar=False)
def linear_layer(x, W, b):
    return x @ W + b
