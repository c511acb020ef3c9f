"""Sequential loops: bounds and steps of every kind, carried values, arrays overwritten while they are read."""

import dace
import numpy as np

from ._base import arrays, between, positive, program, signed, within


def with_indices(*indices, size: int = 5):
    """One array of both signs, and integer arrays."""
    return lambda rng: (signed(rng, size), *(np.array(i) for i in indices))


# Bounds and steps --------------------------------------------------------------------------------


@program(arrays(6), "loop")
def loop_recurrence(A):
    for i in range(1, 6):
        A[i] = np.sin(A[i - 1] * A[i])
    return np.sum(A)


@program(arrays(7), "loop step")
def loop_with_a_step_that_does_not_divide_its_range(A):
    for i in range(1, 6, 3):
        A[i] = A[i] * A[i - 1] * A[i + 1]
    return np.sum(A * A)


@program(arrays(7), "loop step")
def loop_downwards(A):
    for i in range(5, -1, -2):
        A[i] = A[i] * A[i + 1]
    return np.sum(A * A)


@program(arrays((4, 4)), "loop triangular")
def loop_over_triangles(A):
    for i in range(4):
        for j in range(i):
            A[i, j] = A[i, j] * A[j, i]
        for j in range(i + 1, 4):
            A[i, j] -= A[j, i] * A[i, i]
    return np.sum(A * A)


@program(arrays((3, 4)), "loop triangular step")
def loop_triangular_downwards(A):
    for i in range(2, -1, -1):
        for j in range(3, i, -2):
            A[i, j] = A[i, j] * A[i, j - 1]
    return np.sum(A * A)


@program(arrays((3, 3, 3)), "loop")
def loop_nest_of_three(A):
    for i in range(1, 3):
        for j in range(i, 3):
            for k in range(j):
                A[i, j, k] = np.sin(A[i - 1, j, k] * A[i, k, j])
    return np.sum(A)


@program(lambda rng: (signed(rng, 5), 0, 4), "loop argument empty")
def loop_over_nothing(A, n, m):
    s = A[0]
    for i in range(n):
        s = s * A[i] * 100.0
    for i in range(m, 2):
        s = np.exp(s)
    for i in range(m):
        s = s + A[i] * s
    return s


@program(lambda rng: (signed(rng, 8), 3), "loop argument minmax")
def loop_with_least_and_greatest_bounds(A, k):
    for i in range(8):
        for j in range(max(0, i - k), min(8, i + 2)):
            A[i] += 0.1 * A[j] * A[j]
    return np.sum(A)


@program(lambda rng: (signed(rng, 6), 2), "loop argument step")
def loop_with_a_step_from_an_argument(A, s):
    for i in range(0, 6 - s, s):
        A[i + s] = A[i + s] * A[i]
    return np.sum(A * A)


@program(with_indices([0, 2, 2, 5], size=6), "loop data-bounds")
def loop_with_bounds_read_from_an_array(A, start):
    s = 0.0
    for i in range(3):
        for j in range(start[i], start[i + 1]):
            s = np.sin(s + A[j] * A[j])
    return s


@program(with_indices([3, 0, 2], size=4), "loop data-bounds tape")
def loop_whose_trips_are_data(A, count):
    total = 0.0
    for i in range(3):
        t = A[i]
        for j in range(count[i]):
            t = np.sin(t) * A[j + 1]
        total += t * t
    return total


# Carried values ----------------------------------------------------------------------------------


@program(arrays(5), "loop scalar")
def loop_carrying_scalars(A):
    s = 1.0
    p = A[0]
    for i in range(1, 5):
        s = s * A[i] + p
        p = np.sin(s) * p
    return s + p


@program(positive(5), "loop scalar")
def loop_carrying_the_greatest(A):
    best = A[0]
    for i in range(1, 5):
        if A[i] * A[i] > best:
            best = A[i] * A[i]
    return best * A[1]


@program(with_indices([3, 1, 1, 4]), "loop gather")
def loop_gathering(A, index):
    s = 0.0
    for i in range(4):
        k = index[i]
        s += np.sin(A[k]) * A[i]
        A[k] = s
    return np.sum(A)


@program(with_indices([3, 1, 1, 4]), "loop scatter")
def loop_scattering(A, index):
    B = np.zeros(5)
    for i in range(4):
        B[index[i]] += A[i] * A[i]
        A[index[i]] *= 0.5
    return np.sum(B * A)


@program(with_indices([1, 2, 3, 4, 0]), "loop gather")
def loop_following_pointers(A, following):
    k = 0
    s = 1.0
    for _ in range(4):
        s = s * np.cos(A[k])
        k = following[k]
    return s * A[k]


@program(arrays(5, 5), "loop swap")
def loop_swapping_buffers(A, B):
    for _ in range(3):
        B[1:-1] = A[:-2] * A[2:]
        A, B = B, A
    return np.sum(A) + np.sum(B * B)


@program(arrays(5), "loop swap")
def loop_swapping_through_a_third_name(A):
    old = A * 2.0
    new = np.zeros(5)
    for _ in range(3):
        new[1:] = old[:-1] * A[1:]
        new[0] = old[0]
        held = old
        old = new
        new = held
    return np.sum(old) + np.sum(new)


# Time steps and slices ---------------------------------------------------------------------------


@program(lambda rng: (signed(rng, 7), 3), "loop stencil argument")
def loop_of_linear_steps(u, steps):
    for _ in range(steps):
        u[1:-1] = 0.25 * (u[:-2] + 2.0 * u[1:-1] + u[2:])
    return np.sum(u * u)


@program(lambda rng: (signed(rng, 7), 3), "loop stencil argument tape")
def loop_of_nonlinear_steps(u, steps):
    for _ in range(steps):
        u[1:-1] = u[1:-1] - 0.1 * u[1:-1] * (u[2:] - u[:-2])
    return np.sum(u)


@program(arrays(7), "loop stencil tape")
def loop_with_a_copy_of_the_old_state(u):
    for _ in range(3):
        old = u.copy()
        u[1:-1] = old[1:-1] - 0.1 * old[1:-1] * (old[1:-1] - old[:-2]) + 0.05 * (old[2:] - old[:-2])
    return np.sum(u * u)


@program(arrays((4, 4)), "loop stencil")
def loop_gauss_seidel(A):
    for _ in range(2):
        for i in range(1, 3):
            for j in range(1, 3):
                A[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] * A[i, j + 1])
    return np.sum(A)


@program(arrays(8), "loop slice step")
def loop_red_black(A):
    for _ in range(2):
        A[::2] = A[::2] * A[1::2]
        A[1::2] += np.sin(A[::2])
    return np.sum(A)


@program(arrays(5, (5, 5)), "loop matmul tape")
def loop_of_dot_products(A, W):
    for i in range(5):
        A[i] = np.sin(W[i, :] @ A)
    return np.sum(A)


@program(arrays((4, 3), (3, 3)), "loop matmul")
def loop_of_row_products(A, C):
    B = np.zeros((4, 3))
    for r in range(4):
        B[r, :] = A[r, :] @ C
    return np.sum(B * B)


@program(arrays((3, 4)), "loop reduction")
def loop_of_reductions(A):
    for i in range(3):
        A[i, :] = A[i, :] / (2.0 + np.sum(A[i, :] * A[i, :]))
    return np.sum(A * A)


@program(arrays(6), "loop view")
def loop_writing_through_a_view(A):
    B = np.reshape(A, (2, 3))
    for i in range(2):
        for j in range(1, 3):
            B[i, j] = B[i, j] * B[i, j - 1]
    return np.sum(B)


@program(arrays(4), "loop after-use")
def loop_overwriting_what_another_read(A):
    B = A * 2.0
    s = 0.0
    for i in range(4):
        for j in range(3):
            s += np.sin(B[i]) * j
    for i in range(4):
        B[i] = B[i] * s
    return np.sum(B)


# While -------------------------------------------------------------------------------------------


@program(within(0.3, 1.2, 3), "while")
def while_norm_is_small(a):
    b = a * 2.0
    while np.linalg.norm(b) < 1000.0:
        b = b * 2.0
    if np.sum(b) > 0.0:
        c = b
    else:
        c = 100.0 * b
    return np.sum(c)


@program(lambda rng: (between(rng, 0.4, 1.3),), "while scalar")
def while_scalar_is_small(a):
    b = a * 2.0
    while abs(b) < 1000.0:
        b = b * 2.0
    if b > 0.0:
        c = b
    else:
        c = 100.0 * b
    return c


@program(positive(2), "while tape")
def while_squaring(A):
    s = A[0] + 1.0
    while s < 100.0:
        s = s * s + A[1]
    return s


@program(lambda rng: (signed(rng, 6), 5), "while counter")
def while_counting(A, n):
    k = 0
    while k < n:
        A[k + 1] = A[k + 1] * np.cos(A[k])
        k += 1
    return np.sum(A)


@program(within(1.1, 1.9, 3), "while loop tape")
def while_in_a_loop(A):
    s = 0.0
    for i in range(3):
        x = A[i]
        while x < 10.0:
            x = x * x + 0.5
            for _ in range(2):
                x = x * (1.0 + 0.1 * np.sin(x))
        s = s + x
    return s


@program(arrays(4), "while counter nested")
def while_in_while(A):
    i = 0
    s = 0.0
    while i < 3:
        t = A[i]
        k = 0
        while k <= i:
            t = t * t + A[k]
            k += 1
        s += np.sin(t)
        i += 1
    return s


@program(positive(3), "while array tape")
def while_iterating_to_a_fixed_point(A):
    x = A + 1.0
    error = 1.0
    while error > 1e-8:
        step = (x * x - A) / (2.0 * x)
        x = x - step
        error = np.max(np.abs(step))
    return np.sum(x * A)


# Break, continue, return -------------------------------------------------------------------------


@program(lambda rng: (np.array([1.0, -1.1, 1.5, 2.5, 1.3]),), "break continue")
def break_and_continue(A):
    s = 0.0
    for i in range(5):
        if A[i] > 2.0:
            break
        if A[i] < 0.0:
            continue
        s += A[i] * A[i]
    return s


@program(arrays(3), "break while tape")
def break_out_of_an_endless_loop(A):
    s = 1.0
    for i in range(3):
        j = 0
        while True:
            s = s * np.cos(A[i] * s)
            j += 1
            if j >= i + 2:
                break
        if s < 0.1:
            continue
        s = s + A[i]
    return s


@program(lambda rng: (np.array([1.0, 2.0]),), "break tape")
def break_when_converged(A):
    x = A[0]
    for _ in range(100):
        y = 0.5 * (x + A[1] / x)
        if abs(y - x) < 1e-12:
            break
        x = y
    return x


@program(positive(6), "continue")
def continue_in_the_middle(A):
    s = 0.0
    for i in range(6):
        t = A[i] * A[i]
        if i % 2 == 0:
            if t > 1.0:
                continue
            t = t * 2.0
        s = s * 0.5 + t
    return s


@program(positive(4), "return loop")
def return_from_a_nest(A):
    s = 0.0
    for i in range(4):
        for j in range(4):
            s += A[i] * A[j]
            if s > 3.0:
                return s * s
        s = s * 1.5
    return s


@program(positive(3), "return")
def return_from_arms(A):
    if A[0] > 1.0:
        return np.sum(A)
    elif A[1] > 1.2:
        return A[1] * A[1]
    B = A * A
    return np.sum(B)


@program(lambda rng: (np.array([0.3, 0.7, 1.4]), 3), "return while")
def return_from_while(A, n):
    k = 0
    while k < n:
        if A[k] > 1.0:
            return A[k] * 2.0 * A[0]
        k += 1
    return A[0]


@program(arrays(4), "return array", scalar=False)
def return_arrays_of_either_arm(A):
    if A[0] > 0.0:
        return A * A
    return np.sin(A)


# Branches in loops -------------------------------------------------------------------------------


@program(positive(4), "loop if")
def loop_with_a_branch_on_data(A):
    s = 0.0
    for i in range(4):
        for j in range(4):
            if A[i] * A[j] > 1.0:
                s = s * 0.3 + A[j]
            elif s > 0.5:
                s = np.sin(s)
            else:
                s += A[j] * A[i]
    return s


@program(positive(3), "loop if")
def loop_with_a_branch_on_what_it_overwrites(A):
    for _ in range(5):
        if A[0] > 0.5:
            A[0] = A[0] * A[1] * 0.4
        else:
            A[0] = A[0] + A[2]
        A[1:] = np.cos(A[:-1])
    return np.sum(A)


@program(arrays(6), "loop if")
def loop_with_a_branch_on_its_variable(A):
    for i in range(6):
        if i % 3 == 0:
            A[i] = A[i] * A[5 - i]
        elif i > 3:
            A[i] -= A[i - 1] * A[i]
    return np.sum(A * A)


@program(positive(4), "if loop")
def branch_around_loops(A):
    if A[0] > 1.0:
        for i in range(3):
            A[i + 1] *= A[i]
    else:
        for i in range(3, 0, -1):
            A[i - 1] += A[i] * A[i - 1]
    return np.sum(A)


# Maps, calls -------------------------------------------------------------------------------------


@program(arrays((3, 4)), "map loop")
def loop_in_a_map(A):
    B = np.zeros(3)
    for i in dace.map[0:3]:
        s = 1.0
        for j in range(4):
            s = s * np.cos(A[i, j]) + A[i, j]
        B[i] = s
    return np.sum(B)


@program(arrays((3, 4)), "loop map")
def map_in_a_loop(A):
    for _ in range(3):
        for i, j in dace.map[0:2, 0:4]:
            A[i, j] = A[i, j] * A[2, j] * 0.5
        A[2] = A[0] + A[1] * A[1]
    return np.sum(A)


@program(positive((3, 4)), "map loop if")
def branch_in_a_loop_in_a_map(A):
    B = np.zeros(3)
    for i in dace.map[0:3]:
        s = 0.0
        for j in range(4):
            if A[i, j] > 1.0:
                s = s + A[i, j] * s
            else:
                s = s + A[i, j]
        B[i] = s
    return np.sum(B * B)


@dace.program
def _damp(x, y):
    for k in range(1, 4):
        y[k] = np.sin(x[k]) * y[k - 1]


@program(arrays(4, 4), "loop call")
def call_in_a_loop(A, B):
    for _ in range(2):
        _damp(A, B)
        A[:] = A * B
    return np.sum(A)


def _half_norm(x):
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k] * x[k]
    return 0.5 * s


@program(arrays(4), "loop call")
def function_called_in_a_loop(A):
    for i in range(3):
        A[i + 1] = A[i + 1] * _half_norm(A)
    return np.sum(A)


# Factorisations ----------------------------------------------------------------------------------


def _definite(rng):
    B = rng.random((4, 4))
    return (B @ B.T + 4.0 * np.eye(4),)


@program(_definite, "loop factorisation")
def loop_cholesky(A):
    for i in range(4):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])
    return np.sum(A)


@program(_definite, "loop factorisation")
def loop_lu(A):
    for i in range(4):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, 4):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]
    return np.sum(A)
