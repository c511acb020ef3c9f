"""NPBench spmv: the product of a sparse matrix, by compressed rows, and a vector."""

import jax
import jax.numpy as jnp
import numpy as np

SIZES = {"small": (12, 14, 50), "medium": (20_000, 20_000, 2_000_000), "large": (50_000, 50_000, 8_000_000)}
WRT = ("A_val", "x")


def inputs(size, rng):
    m, n, nnz = size
    bounds = np.sort(rng.integers(0, nnz + 1, m - 1))
    A_row = np.concatenate([[0], bounds, [nnz]]).astype(np.int64)
    A_col = rng.integers(0, n, nnz).astype(np.int64)
    return A_row, A_col, rng.random(nnz), rng.random(n)


def spmv(A_row, A_col, A_val, x):
    y = np.zeros(A_row.shape[0] - 1)
    for i in range(A_row.shape[0] - 1):
        cols = A_col[A_row[i] : A_row[i + 1]]
        vals = A_val[A_row[i] : A_row[i + 1]]
        y[i] = vals @ x[cols]
    return np.sum(y)


def jax_version(A_row, A_col, A_val, x):
    m, nnz = A_row.shape[0] - 1, A_val.shape[0]
    rows = jnp.repeat(jnp.arange(m), jnp.diff(A_row), total_repeat_length=nnz)
    return jnp.sum(jax.ops.segment_sum(A_val * x[A_col], rows, m))
