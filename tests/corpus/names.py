"""Names of arrays, and of parts of them, that are bound again."""

import functools

import dace
import numpy as np
from programs._base import arrays, program, signed

import sdgrad


def relax(V, c):
    for e in range(1, V.shape[0]):
        V[e] = 0.5 * V[e] + np.sin(c * V[e - 1])


# What is bound to a name was written over the array that views of it show.
@program(arrays(6), "corpus both")
def part_of_an_array_whose_name_is_bound_again(x):
    v = np.sin(x)
    w = v[1:]
    u = v.reshape(2, 3)
    t = v.T
    v = np.cos(x)
    v[0] = w[2] * x[1]
    return np.sum(w * w) * np.sum(v) + np.sum(u * u * u) + np.sum(t)


@program(arrays(6), "corpus both")
def part_of_an_array_whose_name_a_loop_binds_again(x):
    v = np.sin(x)
    s = 0.0
    for i in range(3):
        w = v[1:]
        v = np.cos(x * i) * w[0]
        s += np.sum(w * w)
    return s + np.sum(v)


@program(lambda rng: (np.abs(signed(rng, 5)) + 0.1,), "corpus")
def part_of_an_array_whose_name_a_branch_binds_again(x):
    v = x * 2
    w = v[1:]
    if x[0] > 0:
        v = np.cos(x)
    return np.sum(w * w) + np.sum(v)


@program(arrays(5), "corpus")
def part_of_an_argument_whose_name_is_bound_again(x):
    x = x * 2
    y = x[1:]
    x = x[:4] * y
    y[0] = x[2]
    return np.sum(x * y)


@program(arrays(5), "corpus")
def array_under_two_names_one_of_which_is_bound_again(x):
    b = x * 2.0
    c = b
    c[0] = x[1]
    b = b + c
    return np.sum(b * c)


# A slice with two meanings was a copy of the wrong one where a branch ends in a return.
@program(lambda rng: (signed(rng, (3, 5)), signed(rng, (5, 3)), signed(rng, 3), signed(rng, 3), 0), "corpus",
         wrt=("A", "C", "X", "Z"))  # fmt: skip
def slices_under_one_name_after_a_return(A, C, X, Z, mode):
    v = Z[:]
    if mode > 2 or X[0] > 50.0:
        return np.sum(X * X)
    v = A[1, 2:]
    w = v[:3:2]
    relax(w, 1.0)
    v[1] -= 0.5 * v[0]
    v = C[4, :]
    relax(v, 0.5)
    return np.sum(w * w) + np.sum(np.sin(v)) + np.sum(X * X) + np.sum(C * C) + np.sum(A * A * A) + np.sum(Z)


# One element of a view, taken with a step, was read as two.
@program(arrays(5, (2, 5)), "corpus")
def single_elements_with_a_step(x, A):
    v = x[:2]
    s = np.max(v[1::3])
    v[1::3] = 2.0 * x[3]
    w = A[:, 1:]
    w[1::3, 3::2] *= 3.0
    return s + np.sum(x * x) + np.sum(w[1::3, 2:] * x[3:]) + np.sum(w[1, 3::2] ** 3)


# Names that a branch binds first were taken for global ones, after it, where there are such.
shadowed, hidden = 3.0, np.ones(5)


@program(arrays(5, (5, 5)), "corpus")
def local_names_that_are_global_ones_elsewhere(x, A):
    if x[0] > -9.0:
        shadowed = A[:, 2] * 2
    else:
        shadowed = A[:, 3] * 3
    for i in range(3):
        hidden = shadowed * x[i]
    return np.sum(shadowed * shadowed) + np.sum(hidden)


# A symbol that a branch assigns to, and a loop again, was taken for an argument.
@program(lambda rng: (signed(rng, (5, 4)), signed(rng, (4, 5)), 2, np.array([0, 3, 1, 1])), "corpus", wrt=("A", "C"))
def index_computed_in_a_branch_and_a_loop(A, C, mode, index):
    if index[1] < 2:
        A[0, 0] = A[mode % 5, 3]
    for i in range(3, 1, -1):
        v = C[:, mode % 5]
    return np.sum(v * v) + np.sum(A * A)


# Numbers that are bound to a second name do not follow the first one; arrays do.
@program(arrays(5), "corpus nojax both", expected=lambda x: np.cumsum(x).max() * 0 + _until_the_largest(x))
def largest_sum_so_far(x):
    best, t = -100.0, 0.0
    for i in range(5):
        t += x[i]
        if t > best:
            best = t
    return best


def _until_the_largest(x):
    return (np.arange(5) <= np.argmax(np.cumsum(x))).astype(float)


def _with_other_names(x):
    best, t = np.max(x) * (np.max(x) + 1.0), x[0]
    for i in range(1, 5):
        u = t * 2
        t = t + x[i] * t
    return best * t + u


@program(arrays(5), "corpus both", reference=_with_other_names)
def number_under_two_names(x):
    m = np.max(x)
    best = m
    m += 1.0
    best = best * m
    t = x[0]
    for i in range(1, 5):
        u = t
        t += x[i] * u
        u = u * 2
    return best * t + u


@program(arrays(5), "corpus both")
def array_under_two_names(x):
    t = x * 2
    u = t
    t += x[0]
    return np.sum(u * t)


# A size that a program gives the name of the symbol that its caller's array has for it.
ROWS = dace.symbol("ROWS")


@program(arrays(5), "corpus")
def size_called_like_its_symbol(x: dace.float64[ROWS]):
    ROWS = x.shape[0]
    s = 0.0
    for i in range(ROWS):
        s += x[i] * x[i] * ROWS
    return s


# Slices that end beyond their array were refused, or were read beyond it.
@program(arrays(5), "corpus")
def slices_that_are_cut_off(x):
    A = np.outer(x, x)
    y = np.zeros(5)
    y[3:9] = x[:2]
    y[-9:2] += x[3:]
    s = np.sum(y * y * x) + np.sum(A[2:9, -7:2]) + np.sum(A[4:9, 3]) + np.sum(x[-9:4:2] * x[1:9:2])
    for i in range(4):
        if i < 3:
            s += np.sum(x[i : i + 3] * x[:3])
    return s


# Slices of a known length at a place that is data were refused.
@program(lambda rng: (signed(rng, 6), np.array([2, 1, 3, 2])), "corpus")
def slices_at_places_that_are_data(x, index):
    k = index[0]
    A = np.outer(x, x)
    s = np.sum(x[k : k + 2] ** 2 * x[1:3])
    for i in range(4):
        k = index[i]
        s += np.sum(x[index[i] : index[i] + 2] * x[:2]) + np.sum(A[k : k + 2, k - 1 : k + 1] * A[:2, i : i + 2])
        x[2 * k - k + 1 : k + 3] += x[i]
        v = x[i : i + 2]
    c = 1
    while c < 3:
        w = x[c - 1 : c + 1]
        s += np.sum(w * x[3:5])
        c = c + 1
    return s + np.sum(v * x[1:3])


# Negative indices in loops whose bounds only a run knows, and under conditions, were out of bounds.
@program(lambda rng: (signed(rng, 5), signed(rng, 5), 4), "corpus nojax", wrt=("x", "y"), scalar=True,
         expected=lambda x, y, k: _from_the_end(x, y, k))  # fmt: skip
def indices_from_the_end_in_open_loops(x, y, k):
    s = 0.0
    for i in range(k):
        if x[i] < 50.0:
            s += x[i] * y[i - 1]
    w = 0
    while w < k - 1:
        s += x[w - 2] * y[w]
        w += 1
    return s


def _from_the_end(x, y, k):
    dx, dy = np.zeros(5), np.zeros(5)
    for i in range(k):
        dx[i] += y[i - 1]
        dy[i - 1] += x[i]
    for w in range(k - 1):
        dx[w - 2] += y[w]
        dy[w] += x[w - 2]
    return dx, dy


# A multiple of a loop variable that is spread over a slice with a step was cut off to an integer.
@program(lambda rng: (signed(rng, (5, 3)), 0.5), "corpus", wrt=("B", "s"))
def real_numbers_made_of_loop_variables(B, s):
    for h in range(1, 4):
        B[2:5:2, :] = B[2:5:2, :] * (0.1 * h) + h // 2
        B[1:5:2, 1:] = h / 4
        B[0:5:4, :] = (h + 1) * s + h % 2
        B[2:5:2, :] += 0.1 * h
        B[::2, 1:] = B[1:4, :2] * 2.0**h
    B[2:5:2, :] = 0.1 * h
    return np.sum(B * B) + s


# Negative places in a part of an array were counted from the whole array's end.
@program(lambda rng: (signed(rng, 5), 0, np.array([0, -1, -2])), "corpus nojax", scalar=True,
         expected=lambda Z, k, idx: _ends_of_parts(Z))  # fmt: skip
def places_in_parts_from_their_ends(Z, k, idx):
    v = Z[:-1]
    u = Z[1:4]
    s = v[k - 1] * u[k - 2]
    for i in range(3):
        s += v[i - 1] + 10.0 * v[idx[i]] + 100.0 * u[idx[i]]
    u[k - 1] *= 3.0
    for i in range(k - 2, 2):
        s += 1000.0 * u[i]
    return s + Z[k - 1]


def _ends_of_parts(Z):
    d = np.zeros(5)
    d[3] += Z[2]
    d[2] += Z[3]
    for place in (3, 0, 1):
        d[place] += 1.0
    for place in (0, 3, 2):
        d[place] += 10.0
    for place in (1, 3, 2):
        d[place] += 100.0
    for place in (2, 3, 1, 2):
        d[place] += 3000.0 if place == 3 else 1000.0
    d[4] += 1.0
    return d


@sdgrad.custom_vjp
def _squared(x):
    return x * x


@_squared.defvjp
def _squared_vjp(x, grad_out):
    return 2.0 * x * grad_out


# A row from the end, given to a function with a rule, was read beyond the array.
@program(lambda rng: (signed(rng, 5), 0), "corpus nojax", scalar=True,
         expected=lambda Z, k: np.append(2 * Z[:-1] * (1 + Z[3] ** 2), 0) + _row(Z))  # fmt: skip
def rows_from_the_end_given_to_rules(Z, k):
    v = Z[:-1]
    A = np.outer(v, v)
    w = A[k - 1]
    return np.sum(_squared(w)) + np.sum(_squared(v))


def _row(Z):
    d = np.zeros(5)
    d[3] = 2 * Z[3] * np.sum(Z[:-1] ** 2)
    return d


# Parts of parts that begin at places from the end were left half resolved.
@program(lambda rng: (signed(rng, (4, 5)), signed(rng, 5), 0), "corpus nojax", wrt=("A", "Y"), scalar=True,
         expected=lambda A, Y, k: (np.vstack([np.zeros((3, 5)), _last_row(A[3])]), np.full(5, 3.0)))  # fmt: skip
def parts_of_parts_from_their_ends(A, Y, k):
    v = A[k - 1, :]
    w = v[1:]
    s = w[k - 1] * w[k - 2]
    t = np.copy(v)
    v[:] = Y
    Y[:] = t
    for i in range(1):
        s += 2.0 * np.sum(A[i - 1, 1:]) + np.sum(v[1:])
    return s + 3.0 * v[k] + np.sum(Y * Y)


def _last_row(row):
    return 2 * row + np.array([0.0, 0.0, 0.0, row[4], row[3]])


# A part whose length a loop computes was taken for an array of its own, once that length was computed anew.
@program(arrays((4, 3), (4, 3), 4), "corpus")
def parts_of_parts_of_two_arrays_in_a_loop(A, B, X):
    for i in range(2, -1, -1):
        v = B[1:, i]
        relax(v[: i + 1], 0.8)
        relax(A[i - 1, : i + 1], X[i])
    return np.sum(A * A) + np.sum(np.sin(v))


# A row that is written at places of an array, with a column that crosses it: NumPy reads all of that before.
@program(lambda rng: (signed(rng, (4, 3)), signed(rng, (4, 3)), np.array([2, 1, 2, 0])), "corpus", wrt=("A", "B"))
def columns_written_over_rows_that_they_cross(A, B, idx):
    v = A[3, :]
    v[idx] = A[:, 2]
    w = B[:, 1]
    B[idx[:2], 2] = w[1:3]
    return np.sum(np.sin(A)) + np.sum(np.sin(B) * A[0, 1])


# An index that is an array of one element was left in the generated code, as if it were a number.
@program(lambda rng: (signed(rng, 5), signed(rng, 5), np.array([-2])), "corpus both", wrt=("x", "w"))
def places_that_are_one(x, w, idx):
    at = np.minimum(2 * idx, 3)
    y = np.zeros_like(x)
    y[at] = np.sin(x[at] * w[idx])
    for i in range(idx.shape[0]):
        y[idx[i]] += x[at[i]] * w[i]
    return np.sum(y * y) + np.sum(x[idx]) * np.sum(w[at])


# A name that only a loop binds was memory that nobody had written if the loop had no trip; here it has one.
@program(arrays(5), "corpus both")
def name_that_only_a_loop_binds(x):
    k = 0
    while x[k] < 10.0 and k < 4:
        row = np.sin(x) * x[k]
        k += 1
    for j in range(k):
        if j == 0 or x[j] > 0.0:
            kept = row[j] * x[j]
    return np.sum(row * row) + kept


# A window at a position that data decide had no length, and reached outside of its array where that did not fit.
@program(arrays(6), "corpus both")
def window_at_a_position_of_data(x):
    k = int(np.argmax(x[1:5])) + 1
    before, peak, after = x[k - 1 : k + 2]
    return peak - 0.125 * (before - after) ** 2 + np.sum(x[k - 1 : k + 1] * x[k : k + 2])


@functools.cache
def _doubled(v):
    return 2.0 * v


# A function that remembers results by their arguments asked for the hash of what is recorded.
@program(lambda rng: (signed(rng, 3),), "corpus")
def memoized_helper(x):
    return _doubled(x[0]) * _doubled(x[1]) + _doubled(1.5)
