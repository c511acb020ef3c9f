"""What maps read, write and leave behind."""

import dace
import numpy as np
from programs._base import arrays, positive, program, signed


# A copy that leaves the scope of a map.
@program(arrays((3, 4)), "corpus", scalar=False)
def copy_out_of_a_map(A):
    B = np.zeros((3, 4))
    for i in dace.map[0:3]:
        B[i, :] = A[i, :]
    return B * A


@program(arrays((3, 4), 4), "corpus", scalar=False, mutates="A")
def copy_into_and_out_of_a_map(A, x):
    for i in dace.map[0:3]:
        t = A[i, :] * x
        A[i, :] = t


# A product over a dimension of one element ended in an IndexError of DaCe's expansion.
@program(lambda rng: (signed(rng, 1), signed(rng, (1, 1)), signed(rng, (3, 1))), "corpus")
def products_over_one_element(a, B, C):
    return np.sum(np.sin(C @ (B @ a))) + np.sum(np.cos(a @ B))


# Names that connectors of generated tasklets have: they hid the containers in C++.
@program(arrays(4, 4, 4), "corpus", scalar=False, mutates="out0")
def named_like_connectors(out0, all_x, x):
    index = np.array([2, 0, 3, 1])
    for i in range(4):
        out0[index[i]] = all_x[i] * x[index[i]] * out0[i]
    return out0 * all_x


# Of several writes to one element the last counts. The cotangent went to all where nothing reads the old content.
@program(lambda rng: (signed(rng, 5), np.array([0, 2, 2, 4, 0])), "corpus nojax", scalar=False,
         expected=lambda x, index: x * 0.0 + np.array([0.0, 0.0, 1.0, 1.0, 1.0]))  # fmt: skip
def last_write_counts(x, index):
    y = np.zeros(5)
    y[index] = x
    return y


@program(lambda rng: (signed(rng, 5), signed(rng, 5), np.array([0, 2, 2, 4, 0])), "corpus nojax", scalar=False,
         expected=lambda x, y, index: (np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.ones(5)))  # fmt: skip
def last_update_counts(x, y, index):
    z = y * 1.0
    z[index] += x
    return z


@program(arrays(6), "corpus nojax", scalar=False, expected=lambda x: np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0]))
def last_of_two_counts(x):
    y = np.zeros(3)
    for i in range(6):
        y[i // 2] = x[i]
    return y


# A leaf whose sums meet was cut in two, and the first part changed an adjoint that the second one reads.
@program(arrays((4, 4), 4), "corpus nojax", scalar=False,
         expected=lambda A, X: (-_least(A), np.ones(4)))  # fmt: skip
def adjoint_read_by_both_parts(A, X):
    if 0.5 > 0.5 and 0 > 2:
        return 0 * X[0]
    X[:] -= np.minimum(A[3, :], A[:, 0])
    return np.sum(X)


def _least(A):
    """The derivative of ``sum(minimum(A[3, :], A[:, 0]))``; both are one element at a corner."""
    found = np.zeros_like(A)
    for i in range(4):
        found[3, i] += 0.5 if i == 3 and A[3, 3] == A[3, 0] else float(A[3, i] < A[i, 0])
        found[i, 0] += float(A[i, 0] < A[3, i])
    return found


# The largest of nothing but infinities is infinite; reductions started at the least finite number.
@program(lambda rng: (np.array([[-np.inf, -np.inf], [1.0, -np.inf]]), signed(rng, 2)), "corpus nojax", scalar=False,
         wrt=("x",), expected=lambda A, x: np.array([0.0, 1.0]))  # fmt: skip
def largest_of_infinities(A, x):
    top = np.max(A, axis=1)
    return np.where(top > -1.0e308, x, 0.0)


# An array written through indices from itself was read while it was written.
@program(lambda rng: (signed(rng, 4), np.array([1, 2, 3, 0])), "corpus", scalar=False, mutates="Z")
def permuted_in_place(Z, index):
    Z[index] = Z
    return Z * Z


# What is written carries no derivative: nothing has to be cleared, and the index was not there to clear at.
@program(lambda rng: (signed(rng, 5), signed(rng, 5), np.array([0, 2, 2, 4, 0])), "corpus", scalar=False, mutates="Z")
def written_in_one_branch(Z, x, index):
    if index[1] < 2:
        Z[index] = 0.5 * x
        return np.sum(x * x)
    return np.sum(Z * x)


# Of two overwrites in a row, the first was not useful and the second found nothing: neither cleared the derivative.
@program(arrays(3), "corpus nojax both", scalar=False, reference=lambda x: np.array([4.0 * x[0] ** 2 + np.prod(x)]),
         expected=lambda x: 8.0 * x * np.array([1.0, 0.0, 0.0]) + np.prod(x) / x)  # fmt: skip
def overwritten_twice(x: dace.float64[3]):
    t = np.zeros(1)
    t[0] = 2.0 * x[0]
    y = t * t
    for i in dace.map[0:5]:
        with dace.tasklet:
            out >> t[0]  # noqa: F821
            out = 0.0  # noqa: F841
    t[0] = 1.0
    for k in range(3):
        t[0] = t[0] * x[k]
    return y + t


# Arguments called like functions of C hid these in generated code.
@program(positive(5, 5, 5), "corpus")
def arguments_called_like_functions(x, log, fmax):
    exp = np.exp(x * log)
    return np.sum(np.log(x) * log * exp) + np.sum(np.maximum(fmax, x))


# A copy between two views that share an element: its adjoint passed on what it had just added.
@program(arrays((4, 3)), "corpus", mutates="B")
def copy_between_views_that_meet(B):
    v = B[1:, 1]
    w = B[1, :]
    w[:] = v
    v[:] = 0
    return np.sum(w)


# Slices with names were looked up where they were used, with the index of that moment.
@program(lambda rng: (signed(rng, (3, 3)), signed(rng, (3, 3))), "corpus", wrt=("A", "B"))
def slice_read_after_its_loop(A, B):
    s = 0.0
    for i in range(2):
        for j in range(2):
            v = A[i, j:]
            s += np.sum(v * v)
        s += np.sum(v)
        w = A[i]
        for j in range(3):
            w[j] = w[j] * B[i, j]
    return s + np.sum(v) * np.sum(w * w) + np.sum(A * A)


@program(lambda rng: (signed(rng, (3, 3)), signed(rng, (3, 3))), "corpus", wrt=("A", "B"))
def slice_whose_index_changes(A, B):
    k = 0
    v = A[:, k]
    w = A[1:, k]
    s = np.sum(v * B[:, k])
    while k < 2:
        B[0, k] = 2 * np.sum(v)
        k += 1
    u = B[:k]
    t = np.sum(u * A[:k])
    k = k + 1
    return np.sum(v * v) + A[0, k - 1] + np.sum(w) * s + np.sum(u) * np.sum(B[:k]) + t


@program(lambda rng: (signed(rng, (3, 3)), signed(rng, (3, 3)), signed(rng, 3), 1, 2), "corpus", wrt=("A", "C", "X"))
def slice_whose_index_a_branch_changes(A, C, X, k, mode):
    c = 0
    v = A[:, c]
    r = A[c].reshape(3, 1)
    w = 0
    while w < 2:
        for j in range(3):
            if mode > 1 and X[j] < 5.0:
                c = w % 3
        w += 1
    c = (c + 1) % 3
    X[0] = C[k, c]
    return np.sum(X * X) + np.sum(v * v) + np.sum(r * r * r)


# The name of a view could not be bound again.
@program(lambda rng: (signed(rng, (3, 3)), signed(rng, (3, 3))), "corpus both", wrt=("A", "B"))
def slices_under_one_name(A, B):
    row = A[0, :2]
    s = np.sum(row * row)
    row = B[1]
    row += A[2]
    s += np.sum(row * row * row)
    row = np.sin(row)
    total = A[1]
    for i in range(1, 3):
        total = total * B[i]
        if s > 100.0:
            total = A[0]
    return np.sum(row) * s + np.sum(total) + np.sum(B * B)


@program(lambda rng: (signed(rng, (3, 3)), signed(rng, 3)), "corpus", wrt=("A", "X"))
def slice_written_after_its_index_changed(A, X):
    k = 0
    for i in range(3):
        row = A[k]
        if X[i] > -5.0:
            k = (k + 2) % 3
        row[1] = row[0] * X[k]
    return np.sum(A * A * A)


# Elements that are read after another one of their array was assigned: nothing of it was held in registers any more.
@program(lambda rng: (signed(rng, 3), signed(rng, 3)), "corpus both", wrt=("v", "n"))
def elements_one_by_one(v, n):
    t = np.zeros(3)
    t[0] = n[2] * v[2] - n[1] * v[1]
    t[1] = n[0] * v[0] - n[1] * v[2]
    t[2] = n[1] * v[1] - n[2] * v[0]
    r = v + n[0] * t
    r[0] += n[2] * t[2] - n[1] * t[1]
    r[1] += n[1] * t[0] - n[0] * t[2]
    r[2] += n[0] * t[1] * r[0]
    return np.sum(r * r)


# Operands whose sizes a loop's variable gives, by one known to be positive and by one that is not.
@program(lambda rng: (signed(rng, (4, 5)), signed(rng, (4, 5)), signed(rng, 5)), "corpus both", wrt=("A", "B", "Y"))
def functions_of_outer_products(A, B, Y):
    for i in range(1, 3):
        A[2:3, : 5 - i] += 0.5 * twice(B[1:2, : 5 - i], np.outer(A[3:, 1], Y[i:]))
    return np.sum(A * A)


def blend(p, q):
    return np.tanh(p * q) + 0.5 * p


def bump(p):
    t = np.sin(p)
    return t * p


def twice(p, q):
    return blend(bump(p), q)


# Two threads added to one element: each sum was compared with itself, and not with the other one.
@program(lambda rng: (signed(rng, (5, 4)), signed(rng, (5, 4))), "corpus")
def elements_read_at_two_places_of_a_row(A, B):
    return np.sum(np.tanh(np.where(A[::-1, ::-1] > 0.1, B, B[:, ::-1])) * A)


@program(lambda rng: (rng.random((5, 3)), rng.random(3), 0, np.array([2, 1])), "corpus", wrt=("B", "Y"))
def a_product_with_a_column_that_data_choose(B, Y, mode, idx):
    return np.sum(Y[mode:] @ B[:3, idx[0]])


# The tape's counter of a loop in a map began behind the end in the map's replay.
def _by_running_sums(A, I):
    grad, rows = np.zeros_like(A), [0.0] * 3
    for i in range(3):
        before = [0.0]
        for j in range(I[i]):
            before.append(before[-1] * (A[i, j] + 1) + A[i, j])
        rows[i], g = before[-1], 2 * before[-1]
        for j in reversed(range(I[i])):
            grad[i, j], g = g * (before[j] + 1), g * (A[i, j] + 1)
    return grad


@program(lambda rng: (rng.random((3, 4)), np.array([2, 4, 3])), "corpus nojax",
         wrt=("A",), expected=_by_running_sums)  # fmt: skip
def loops_of_lengths_from_data_in_a_map(A, I):  # noqa: E741
    B = np.zeros(3)
    for i in dace.map[0:3]:
        s = 0.0
        for j in range(I[i]):
            s = s + A[i, j] * s + A[i, j]
        B[i] = s
    return np.sum(B * B)


# Products into one element by the instances of a map are in order.
@program(arrays(2, (3, 4)), "corpus", scalar=False, mutates="A")
def products_into_one_element_in_a_map(A, C):
    for h in dace.map[0:3]:
        s = np.sum(C[h, :])
        A[0] *= s
    return A * A
