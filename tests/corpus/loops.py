"""Loops: cotangents cleared too early, elements that meet at run time, conditions that were skipped."""

import numpy as np
from programs._base import program, signed


def _arguments(*shapes):
    return lambda rng: tuple(signed(rng, s) for s in shapes)


def _with_index(*shapes, k=2):
    return lambda rng: (*(signed(rng, s) for s in shapes), k)


# Every instance of a reduction cleared the cotangent of the sum, and the others read zero.
@program(_arguments(3, 3), "corpus")
def reduction_in_a_loop(X, Y):
    for i in range(3):
        Y[i] = np.sum(X)
    return np.sum(Y * Y)


@program(_arguments((3, 4), (4, 2)), "corpus")
def product_in_a_loop(A, C):
    B = np.zeros((3, 2))
    for r in range(3):
        B[r, :] = A[r, :] @ C
    return np.sum(B * B)


@program(_arguments(3, 3), "corpus")
def reduction_in_a_branch(X, Y):
    if X[0] > -5.0:
        X[0] = np.sum(Y * Y)
    return np.sum(X)


# The element's cotangent was assigned after the other operand's share had been added to it.
@program(_with_index(3), "corpus")
def product_of_elements_that_meet(X, k):
    X[2] = X[k] * X[2]
    return np.sum(X)


@program(_with_index(3), "corpus")
def update_by_an_element_that_meets(X, k):
    X[k] *= X[2]
    return np.sum(X)


@program(_with_index(3), "corpus")
def quotient_by_an_element_that_meets(X, k):
    X[k] /= X[2]
    return np.sum(X) + X[0] * X[1]


@program(_arguments(3), "corpus")
def elements_that_meet_in_loops(X):
    for i in range(3):
        for j in range(3):
            X[i] = X[j] * X[i]
    return np.sum(X)


# DaCe ignored the step, counted repeated indices twice, took 0.1 * i for an integer.
@program(_arguments(4, 2), "corpus")
def strided_update_in_a_loop(Y, X):
    for _ in range(3):
        Y[::2] *= X[:2]
    return np.sum(Y)


@program(lambda rng: (signed(rng, 3), signed(rng, 3), np.array([1, 0, 1])), "corpus")
def repeated_index_in_a_loop(X, Y, index):
    for _ in range(2):
        Y[index] += X
    return np.sum(Y * Y)


def _weigh(p, q):
    return p * q


@program(_arguments(3), "corpus")
def call_with_arithmetic_on_a_loop_variable(X):
    for i in range(2):
        X[0] += _weigh(X[1], 0.1 * i)
    return np.sum(X * X)


# DaCe computes the condition at the end of the body, and continue jumped past that: the loop never ended.
@program(_arguments(3), "corpus")
def continue_in_a_loop_with_a_computed_condition(X):
    q = 0.6
    while q < 3.0 + X[0]:
        q = q * 2.0
        if X[0] < 5.0:
            continue
        X[0] = X[0] * q
    return np.sum(X) * q


# A symbol that an outer and an inner loop hand on was forgotten after the inner one.
@program(_with_index(3, (3, 4), k=2), "corpus")
def index_used_in_nested_control_flow(X, A, k):
    X[k] = 1.0
    for i in range(3):
        if i > 1:
            for _ in range(i + 1):
                A[1, k] /= 2.0
    return np.sum(A) + np.sum(X)


@program(lambda rng: (signed(rng, (3, 4)), signed(rng, 4), 2), "corpus")
def while_in_a_loop_with_a_condition_at_an_index(A, Z, k):
    q = 0.6
    A[0, k - 1] = 0.1
    for _ in range(2):
        q = 0.6
        while q < 2.0 + np.cos(Z[k - 1]):
            q = q * 2.0
    return np.sum(A) * q


@program(lambda rng: (signed(rng, 3), np.array([1, 0, 1])), "corpus")
def empty_loop_that_keeps_values(X, index):
    for _ in range(3, 1):
        X[index[0]] /= 1.5 + X[index[0]] * X[index[0]]
    return np.sum(X * X)


@program(lambda rng: (signed(rng, 3), signed(rng, 3), np.array([1, 0, 1])), "corpus")
def counter_set_in_a_branch(X, Y, index):
    c = 0
    for i in range(2):
        if index[i] < 1:
            c = c + 1
            Y[c] = X[i] * Y[c]
    return np.sum(Y)


# A fused leaf that defines two temporaries ran again before one of them had its operands.
@program(_arguments(6), "corpus")
def two_temporaries_of_one_leaf(r):
    y = np.zeros(6)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, 6):
        beta *= 1.5 - alpha * alpha * 0.1
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y)


# A tape that a branch in a loop wrote first was allocated anew in every trip.
@program(lambda rng: (np.array([0.3, 0.7, 1.1]), 3), "corpus")
def decision_in_a_loop_of_unknown_trips(a, n):
    k = 0
    s = a[0]
    while k < n:
        if a[k] > 1.0:
            s = s * a[k] * 2.0
        k += 1
    return s


# DaCe takes the variable of a loop that counts down to be positive, and folded the condition to false.
@program(lambda rng: (signed(rng, (2, 2)),), "corpus")
def condition_on_a_loop_that_counts_down(B):
    for i in range(4, -1, -1):
        if 0.1 * i < 0.1:
            return np.sum(B)
    return np.sum(B * B)


# After a loop its variable is the last one of its trips, not the first that was too large.
@program(_arguments(5), "corpus")
def variable_read_after_its_loop(X):
    for i in range(3):
        X[i] = X[i] * X[i + 1]
    return X[i] * np.sum(X)


@program(_arguments(5), "corpus")
def variable_assigned_in_its_loop(X):
    for i in range(3):
        i = i + 1
        X[i] = X[i] * X[i + 1]
    return X[i] * np.sum(X)


@program(_arguments(5), "corpus")
def variable_of_two_loops(X):
    for i in range(3):
        if X[i] > 0.5:
            break
    for j in range(i):
        for i in range(2):
            X[i + j] = X[i] * X[i + 1]
    return X[i] * np.sum(X)


# An index that only a loop's trips read was joined after the branch around the loop, where it had no value.
@program(lambda rng: (signed(rng, (5, 3)), signed(rng, 5), 0.7, 2), "corpus")
def index_of_a_loop_in_a_branch(B, X, r, k):
    if k == 3:
        for i in range(1, 5):
            if X[k + 1] < 0.2 or B[k + 1, 2] < 0.2:
                return r
    for _ in range(3):
        B[k + 1, 0] /= 2.0
    return np.sum(B * B) * r


# A leaf that reads through a view moved before the assignment of the view's own symbol.
@program(lambda rng: (signed(rng, 4), signed(rng, (4, 3)), 1, np.array([2, 0, 1, 1])), "corpus")
def view_at_an_index_in_a_loop(X, B, k, index):
    q = 0.6 + np.sin(np.sum(B[index[k], :3:2])) ** 2
    while q < 3.0:
        q = q * 2.0
        Y = np.sin(np.where(X[1:2] > B[index[k], ::3], X[2:3], X[1:2]))
        X[0:1] += Y
    return np.sum(X)


# What SymPy decides about a comparison of indices was no operand.
@program(_arguments(4), "corpus")
def index_compared_with_itself(Y):
    for i in range(1, 3):
        if i != i and i % 2 == 0:
            Y[i] = 2.0
        if i == i or Y[i] > 0.0:
            Y[i] = Y[i] * Y[i - 1]
    return np.sum(Y * Y)


# A gather from a strided slice was refused.
@program(lambda rng: (signed(rng, (3, 5)), np.array([2, 0, 2])), "corpus")
def gather_from_a_strided_slice(B, index):
    row = B[index[0], :5:2]
    return np.sum(row[index] * np.cos(row))


# The indices at which constants had been stored were not kept: the wrong cotangents were cleared.
@program(lambda rng: (signed(rng, (3, 3)), np.array([2, 0, 1])), "corpus")
def constants_at_indices_in_a_while(C, index):
    k = 0
    while k < 3:
        C[index[k], 0] = 0.5
        k += 1
    return np.sum(C)


# A sum that has one term at most was an assignment, and where it had none it kept the sum of the trip before.
@program(_arguments((4, 3)), "corpus")
def sums_of_one_term_or_none(B):
    t = 1.0
    for i in range(3):
        t = t * np.cos(np.sum(B[i + 2 :, 1 : i + 1]))
    return t


# Where a slice starts at a variable whose range only a run knows, its elements still say where to keep them.
@program(lambda rng: (signed(rng, (3, 3)),), "corpus")
def slices_from_variables_of_unknown_range(C):
    k = 0
    while k < 3:
        k += 1
        for j in range(k):
            C[:, j:] += np.sin(C[:, j:])
    return np.sum(C * C)


# A slice of one element with a step counted as wide: the window became a view, whose size only a run knows.
@program(lambda rng: (signed(rng, (3, 5)), 1, np.array([0, 1])), "corpus")
def one_row_with_a_step(A, k, index):
    for i in range(k, 0, -1):
        for j in range(2):
            A[-1, index[j]] *= np.cos(np.max(A[1::2, i + 1 :]))
            if index[0] < -2:
                return np.sum(A * A)
    return np.sum(A * A)


# The absolute value of a real multiple of a loop's variable was taken for an integer.
@program(lambda rng: (signed(rng, 3),), "corpus", mutates="Z", scalar=False)
def absolute_of_a_multiple(Z):
    for i in range(3):
        Z[i] = np.abs(0.1 * i) * Z[i] + np.square(0.5 * i)
    return Z * Z


# Two sums of one nest that may both be without an instance: the order of accumulations took them for one.
@program(
    lambda rng: (signed(rng, (3, 5)), signed(rng, (5, 3)), signed(rng, 3), np.array([2, 0, 1]), 1),
    "corpus",
    wrt=("A", "C", "Z"),
)
def two_sums_of_nothing(A, C, Z, idx, k):
    v = A[(k + 1) % 3, 1:4]
    w = 0
    while w < 2:
        w += 1
        for j in range(1, 3):
            V = np.zeros(5)
            for h in range(k, 5):
                U = np.tanh(C[k + 2, :]) * Z
                v[w % 3] /= 2.0 + np.sum(C[1 : j + 1, j + 1 :]) * np.sum(C[1 : j + 1, j + 1 :])
                U[idx] *= np.cos(np.sin(V[j : j + 3]))
    return np.sum(np.sin(v)) + np.sum(A * A)


# Not a bug that was: what an update destroyed is computed back where that is exact, and here nearly everything is.
@program(
    lambda rng: (signed(rng, 4), signed(rng, 4), np.array([0, 2, 1, 5]), np.array([3, 250, 7, 9], dtype=np.uint8)),
    "corpus both",
    wrt=("X", "Y"),
)
def updates_that_can_be_undone(X, Y, k, small):
    a = np.sin(X)
    b = X * Y
    n = k.copy()
    m = small.copy()
    up = X > 0.0
    s = 0.0
    for i in range(3):
        for j in range(4):
            t = a[j]
            a[j] = b[3 - j]
            b[3 - j] = -t
        s += np.sum(a * b * b) + np.sum(np.where(up, X * X * (i + 1), np.sin(X)))
        up[:] = ~up
        for j in range(1, 4):
            s += np.sin(X[j] * n[j]) * Y[j - 1]
            n[j] = 7 - n[j]
        n += i
        s += np.sum(np.cos(0.01 * Y * m)) + np.sum(X * Y * n)
        m[:] = m + small
    return s


# A sum over nothing starts its container anew as well: the value before it was taken to be there still.
@program(lambda rng: (signed(rng, (5, 5)), signed(rng, 5)), "corpus")
def sums_that_end_with_one_over_nothing(C, X):
    s = 0.0
    for i in range(1, 5, 3):
        C[0, i] /= 2.0 + np.dot(X[: 4 - i], C[-1, : 4 - i]) ** 2
        s += np.sin(np.sum(X[: 4 - i] * X[: 4 - i]))
    return s + np.sum(C * C)


# Bounds that a loop's body changes were read again in every trip.
@program(lambda rng: (signed(rng, 5), signed(rng, 5)), "corpus nojax", scalar=False,
         expected=lambda Z, X: _bounds_by_hand(Z, X))  # fmt: skip
def bounds_that_the_loop_changes(Z, X):
    c = 1
    y = X * 0.0
    for i in range(3, -1, -1):
        c = (c + 1) % 4
        for j in range(c):
            y[i] += Z[j] * X[i]
            c = (c + 1) % 4
    return y


def _bounds_by_hand(Z, X):
    dZ, dX, c = np.zeros(5), np.zeros(5), 1
    for i in range(3, -1, -1):
        c = (c + 1) % 4
        for j in range(c):
            dZ[j] += X[i]
            dX[i] += Z[j]
            c = (c + 1) % 4
    return dZ, dX


# A loop in a loop that is written out, because it makes shapes, had the same name in each copy: the graph was refused.
@program(lambda rng: (rng.random((4, 6)), rng.random(3)), "corpus both", wrt=("A", "B"))
def loops_in_loops_that_are_written_out(A, B):
    t = 0.0
    for i in range(1, 3):
        v = np.reshape(A, (2 * i, -1))
        for a in range(2):
            t += v[a, 1] * B[0] + v[a, 2]
    for i in range(4):
        w = np.reshape(A[i], (2, 3))
        for a in range(2):
            t += w[a, 1] * B[a] * w[a, 2]
    return t


# Trips were counted ahead with an index that is a copy of another one, but without that one.
@program(lambda rng: (signed(rng, (3, 5)), signed(rng, (5, 3)), signed(rng, 3), 1, 2), "corpus", wrt=("A", "C"))
def index_behind_a_loop_that_may_return(A, C, X, k, mode):
    v = C[1:, k - 1]
    if mode > 0:
        n = 0
        while n < 2:
            v[0] += C[0, n]
            if mode > 5:
                return np.sum(v * v)
            n += 1
        X[0] = A[k - 1, 1]
    return np.sum(v * v) + np.sum(X)


def blend(p, q):
    return np.tanh(p * q) + 0.5 * p


# A constant was taken out of the first pass because the second one, which computes it again, does not read it.
@program(lambda rng: (signed(rng, (4, 3)), signed(rng, (3, 4)), signed(rng, 4), signed(rng, 4), 0.7,
                      np.array([1, 2, 0, 1])), "corpus", wrt=("B", "C", "X", "Z", "s"))  # fmt: skip
def a_constant_of_both_passes(B, C, X, Z, s, idx):
    for i in range(1, X.shape[0] - 1):
        for j in range(1, X.shape[0] - 1):
            for h in range(idx[j]):
                B[:] = np.where(B > 0.2, B * s, B)
            Z[i] += blend(1.0, np.max(C[: 3 - i, 1 : i + 2]))
            B[:] = np.where(B > 0.2, 1.5, B)
        if i > 1:
            return np.sum(Z * X) + np.sum(np.sin(B)) + s
        s /= 2.0 + Z[i] * Z[i]
    return np.sum(Z * Z) + np.sum(B * B) + s


# Of a loop without trips, what it would have read seemed to be read by nobody.
@program(_arguments(4, 4), "corpus")
def a_return_in_a_loop_without_trips(X, Z):
    for i in range(3, 1):
        if Z[1] > 0.1 and i < i:
            Z[:] = 0.3 * X / (2.0 + X[0] * X[0])
            return np.sum(Z * Z)
        X[:i] -= 0.5 * Z[1 : i + 1]
    for i in range(0):
        q = 0.6
        while q < 3.0:
            q = q * 2.0
            if i == 2:
                return np.sum(X) + q
            X[2 - i] = np.tanh(np.max(Z[: 4 - i]))
    return np.sum(Z * Z) + np.sum(np.sin(X))


# ``x[:0]`` was all of an array, since its last element, -1, was counted from the end.
@program(lambda rng: (signed(rng, (3, 4)), signed(rng, 4), 2), "corpus", wrt=("A", "x"))
def slices_without_elements(A, x, k):
    total = np.sum(A[: k + 1, : 2 - k]) + np.sum(A[: k - 2, 1:4]) + np.sum(x[:0] * x[1:1]) + x[:0] @ x[2:1]
    total += np.sum(x[-2:1]) + np.sum(x[:-7]) + np.sum(x[6:9]) + np.sum(x[3:0]) + np.sum(x[0:0:2]) + np.prod(x[:0])
    x[: 2 - k] = 7.0
    A[:, : 2 - k] *= 5.0
    for i in range(3):
        for j in range(3):
            total += np.sum(x[i:j] * x[i:j]) * A[i, j]
    return total + np.sum(A * A)


# Refused: ``k`` and ``k + 1 - 1`` elements were not the same number, where ``k`` is data.
@program(lambda rng: (signed(rng, 6), signed(rng, 6), np.array([2, 0, 1])), "corpus", wrt=("Y", "Z"))
def slices_between_sums_of_data(Y, Z, idx):
    c = 0
    while c < 3:
        Z[: c + 1] = np.tanh(Y[1 : c + 2]) * Z[: c + 1]
        Z[1 : c + 1] += Y[:c]
        c += 1
    for i in range(3):
        k = idx[i]
        Z[: k + 1] *= Y[1 : k + 2]
        Z[k + i : k + i + 2] += Y[idx[i] + 1 : idx[i] + 3]
        Z[k:] += Y[: Y.shape[0] - k]
    return np.sum(Z * Z)


# A return out of a loop inside of another one, whose trips only a run knows: it was refused.
def _by_the_third_trip(X):
    return 2 * X * 0.7 * 1.5**3 * 0.7**4


@program(lambda rng: (np.array([0.3, 0.5, 0.7, 0.9]),), "corpus nojax", expected=_by_the_third_trip)
def return_from_a_loop_in_a_while_loop(X):
    q = 0.7
    while q < 3.5 + np.cos(X[0]):
        q = q * 1.5
        for w in range(4):
            if X[w] < 0.07 * q:
                return np.sum(X * X) * q
        X = X * 0.7
    return np.sum(X) + q


# The cotangent of the element at a known position was cleared after the other one had its share.
@program(lambda rng: (signed(rng, 3), np.array([0, 2, 1])), "corpus")
def element_moved_to_itself(X, i):
    X[1] = X[i[2]]
    return np.sum(X * X)


# A view that a loop leaves was a copy.
@program(_arguments((4, 3)), "corpus")
def views_of_the_last_trip(B):
    for i in range(4):
        first, row = B[0, 1:], B[i]
    row *= 2.0
    first += row[:2]
    return np.sum(B * B * B)


# A name bound to the old array had the memory of the new one.
@program(_arguments(4), "corpus")
def old_array_after_a_loop(x):
    for _ in range(3):
        b, c = x, x[1:]
        x = x * 0.9
    return np.sum(b * b) + np.sum(np.sin(c))


# A number that an array without axes took over was read after the next one had its memory.
@program(_arguments(1), "corpus")
def array_and_number_that_change_places(x):
    a, b = np.ones_like(x[0]), x[0] * 1.0
    for _ in range(3):
        a, b = b, a + b * b
    return np.sum(a * b)


# An array that a loop replaced by a number had the number in each of its elements.
@program(_arguments(1), "corpus")
def array_that_becomes_a_number(x):
    a, b = np.zeros(3), x[0] * 1.0
    for _ in range(5):
        a = b * np.sum(a) + 2.0
    return np.sum(a)


@program(_arguments(4), "corpus")
def sums_over_what_is_positive(x):
    values = [v * v for v in x]
    values.sort()
    count = sum(1.0 for v in x if v > 0)
    return sum(v**3 for v in x if v > 0 and v < 5) * count + values[0]


# Trips that were written out went on to the last one, and so did the variable, which is read after the loop.
@program(_arguments(9), "corpus both")
def variable_of_a_loop_that_was_left(x):
    y = np.copy(x)
    for _ in range(2):
        for k in range(4):
            y = np.sin(y * x) + 0.1 * k
            if y[k] > 0.35:
                break
        y[k] = y[k] * x[0]
        for i, a in enumerate((0.1, 0.2, 0.3, 0.4)):
            y = np.sin(y * x) + a
            if y[i] > 0.5:
                break
        y[i + 1] = y[i] * a
    return np.sum(y * y) * k


# Hessians copied the argument outside of the scope that had it, where the tape's size is known only in the loop.
@program(_arguments(3), "corpus both")
def overwritten_argument_in_a_while_loop(X):
    while X[0] * X[0] > 0.3:
        X[:] = 0.8 * np.sin(X)
    return np.sum(X * X * X)
