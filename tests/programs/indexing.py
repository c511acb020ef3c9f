"""Reading and writing by slices, steps, index arrays and data-dependent ranges."""

import dace
import numpy as np

from ._base import arrays, program, signed

N = dace.symbol("N")
NNZ = dace.symbol("NNZ")
ROWS = dace.symbol("ROWS")

# Slices --------------------------------------------------------------------------------------------


@program(arrays(9), "slice", scalar=False)
def slice_products(x):
    return x[1:] * x[:-1]


@program(arrays((5, 6)), "slice", scalar=False)
def slice_blocks(x):
    return x[1:4, 2:] * x[:3, :4] + x[2:5, 1:5]


@program(arrays((5, 6)), "slice", scalar=False)
def slice_rows_and_columns(x):
    return x[1] * x[-1], x[:, 0] * x[:, -2]


@program(arrays(11), "slice strided", scalar=False)
def slice_steps(x):
    return x[::2] * x[::2] + x[::2]


@program(arrays(11), "slice strided", scalar=False)
def slice_even_times_odd(x):
    return x[0:10:2] * x[1:10:2]


@program(arrays((7, 9)), "slice strided", scalar=False)
def slice_steps_in_two_dimensions(x):
    return np.sin(x[::3, 1::4]) * x[2, 0]


@program(arrays(7), "slice negative-step needs-frontend", scalar=False)
def slice_reversed(x):
    return x[::-1] * x


@program(arrays((4, 6)), "slice negative-step needs-frontend", scalar=False)
def slice_reversed_steps(x):
    return x[::-1, 5:0:-2] * 2.0


@program(arrays((4, 5)), "slice element")
def elements(x):
    return x[0, 0] * x[1, 2] + np.sin(x[-1, -1]) * x[0, 0]


@program(arrays((2, 3, 4)), "slice ellipsis", scalar=False)
def slice_ellipsis(x):
    return x[..., 1] * x[0, ..., 2]


@program(arrays((3, 4)), "slice chain", scalar=False)
def slice_of_slice(x):
    y = x[1:]
    z = y[:, 1:3]
    return z * z


@program(arrays(5), "slice empty")
def slice_empty(x):
    return np.sum(x[2:2]) + np.sum(x * x)


@program(arrays(9), "slice stencil chain", scalar=False)
def chained_stencils(x):
    a = x[:-2] - 2.0 * x[1:-1] + x[2:]
    b = a[:-2] * a[1:-1] * a[2:]
    return b[1:] - b[:-1]


@program(arrays((4, 5), (4, 5)), "slice copy", scalar=False)
def copies_between_subsets(x, y):
    z = np.zeros((5, 5))
    z[0:2, 1:4] = x[2:4, 0:3]
    z[2:4, 0:2] = y[0:2, 3:5]
    z[4, :] = x[1, :]
    return z * 2.0


# Index arrays ----------------------------------------------------------------------------------------


def _gather_inputs(rng):
    return signed(rng, 7), np.array([3, 0, 5, 5, 1, 3])


@program(_gather_inputs, "gather indirect known", scalar=False)
def gather(A, idx):
    return A[idx]


@program(_gather_inputs, "gather indirect", scalar=False)
def gather_product(A, idx):
    return A[idx] * A[idx] + A[0]


@program(lambda rng: (signed(rng, (5, 4)), np.array([4, 0, 0, 2])), "gather indirect", scalar=False)
def gather_rows(A, idx):
    return A[idx, :] * 2.0


@program(lambda rng: (signed(rng, (3, 6)), np.array([4, 0, 0, 2, 5])), "gather indirect", scalar=False)
def gather_columns(A, idx):
    return np.sin(A[:, idx])


@program(
    lambda rng: (signed(rng, (4, 5)), np.array([3, 0, 3, 1]), np.array([2, 4, 2, 0])),
    "gather indirect",
    scalar=False,
)
def gather_pairs(A, idx, jdx):
    return A[idx, jdx] * 3.0


@program(
    lambda rng: (signed(rng, 6), np.array([5, 2, 0, 3])),
    "scatter indirect inplace known",
    scalar=False,
    mutates="B",
)
def scatter(B, idx):
    A = B[:4] * B[2:]
    B[idx] = A


@program(
    lambda rng: (signed(rng, 7), signed(rng, 4), np.array([5, 2, 0, 3])),
    "scatter indirect inplace",
    scalar=False,
    mutates="B",
)
def scatter_augmented(B, A, idx):
    B[idx] += A * A


@program(lambda rng: (signed(rng, 6), np.array([5, 2, 0])), "scatter indirect inplace", scalar=False, mutates="B")
def scatter_constant(B, idx):
    B[idx] = 0.0


@program(_gather_inputs, "gather indirect map", scalar=False)
def map_gather(A, idx):
    B = np.zeros(6)
    for i in dace.map[0:6]:
        B[i] = A[idx[i]] * A[idx[i]]
    return B


@program(
    lambda rng: (signed(rng, (4, 5)), np.array([3, 0, 3, 1]), np.array([2, 4, 2, 0])),
    "gather indirect map",
    scalar=False,
)
def map_gather_pairs(A, idx, jdx):
    B = np.zeros(4)
    for i in dace.map[0:4]:
        B[i] = np.sin(A[idx[i], jdx[i]]) * A[i, 0]
    return B


@program(lambda rng: (signed(rng, 5), rng.permutation(7)[:5]), "scatter indirect map known", scalar=False)
def map_scatter(A, places):
    B = np.ones(7)
    for i in dace.map[0:5]:
        B[places[i]] = A[i] * A[i]
    return B


@program(_gather_inputs, "scatter indirect map wcr", scalar=False)
def map_scatter_add(A, idx):
    B = np.zeros(7)
    for i in dace.map[0:6]:
        B[idx[i]] += A[i] * A[i + 1]
    return B


@program(_gather_inputs, "gather scatter indirect map wcr inplace", scalar=False, mutates="A")
def map_gather_then_scatter(A, idx):
    t = np.zeros(6)
    for i in dace.map[0:6]:
        t[i] = A[idx[i]] * 0.5
    for i in dace.map[0:6]:
        A[idx[i]] += t[i] * t[i]


@program(lambda rng: (signed(rng, 8), 3), "indirect scalar-argument int", scalar=False)
def index_from_argument(A, k):
    return A[k] * A


@program(lambda rng: (signed(rng, 8), np.array([5, 2])), "indirect", scalar=False)
def index_from_array_element(A, idx):
    k = idx[0]
    return A[k] * A * A[idx[1]]


@program(lambda rng: (signed(rng, (4, 6)), np.array([5, 2, 0, 1])), "gather indirect map")
def cross_entropy_gather(logits, labels):
    s = np.zeros(1)
    for i in dace.map[0:4]:
        s[0] -= logits[i, labels[i]]
    return s[0] + np.sum(logits * logits)


# Ranges that depend on data ------------------------------------------------------------------------------


def _csr_inputs(rng):
    rowptr = np.array([0, 2, 2, 5, 7], dtype=np.int64)
    columns = np.array([0, 3, 1, 2, 4, 0, 3], dtype=np.int64)
    return rowptr, columns, signed(rng, 7), signed(rng, 5)


def _spmv(rowptr, columns, values, x):
    y = np.zeros(len(rowptr) - 1)
    for i in range(len(rowptr) - 1):
        for k in range(rowptr[i], rowptr[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


@program(_csr_inputs, "indirect dynamic-range map wcr known", scalar=False, reference=_spmv)
def spmv(
    rowptr: dace.int64[ROWS + 1],
    columns: dace.int64[NNZ],
    values: dace.float64[NNZ],
    x: dace.float64[N],
):
    y = np.zeros([ROWS])
    for i in dace.map[0:ROWS]:
        for k in dace.map[rowptr[i] : rowptr[i + 1]]:
            y[i] += values[k] * x[columns[k]]
    return y


@program(_csr_inputs, "indirect dynamic-range map wcr tasklet known", scalar=False, reference=_spmv)
def spmv_tasklet(
    rowptr: dace.int64[ROWS + 1],
    columns: dace.int64[NNZ],
    values: dace.float64[NNZ],
    x: dace.float64[N],
):
    y = np.zeros([ROWS])
    for i in dace.map[0:ROWS]:
        for k in dace.map[rowptr[i] : rowptr[i + 1]]:
            with dace.tasklet:
                v << values[k]
                xs << x[columns[k]]
                out >> y(1, lambda a, b: a + b)[i]
                out = v * xs
    return y


@program(lambda rng: (signed(rng, (4, 6)), np.array([2, 6, 0, 3])), "dynamic-range map", scalar=False)
def ragged_rows(A, lengths):
    B = np.zeros((4, 6))
    for i in dace.map[0:4]:
        for j in dace.map[0 : lengths[i]]:
            B[i, j] = A[i, j] * A[i, j]
    return B


@program(
    lambda rng: (signed(rng, 8), 5),
    "dynamic-range map scalar-argument int inplace",
    scalar=False,
    mutates="A",
)
def range_from_argument(A, n):
    for i in dace.map[0:n]:
        A[i] = A[i] * A[i]


@program(lambda rng: (signed(rng, 9), np.array([2, 7])), "dynamic-range map", scalar=False)
def range_from_array(A, bounds):
    B = np.zeros(9)
    for i in dace.map[bounds[0] : bounds[1]]:
        B[i] = np.sin(A[i]) * A[0]
    return B


@program(arrays(7), "slice negative-step inplace needs-frontend", scalar=False, mutates="A")
def reversed_write(A):
    B = A * A
    A[::-1] = B


@program(lambda rng: (signed(rng, 7), np.array([5, 2, 0])), "gather indirect inplace", scalar=False, mutates="A")
def indexed_scaling(A, idx):
    A[idx] *= 2.0
    A[idx] = A[idx] * A[idx]
