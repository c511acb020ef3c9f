"""In-place writes and overwrites: whole arrays, slices, strides, overlaps, after use and repeated."""

import numpy as np

from ._base import arrays, positive, program, signed

# Augmented assignment ------------------------------------------------------------------------------


@program(arrays((3, 4), (3, 4)), "inplace augmented", scalar=False, mutates="A")
def add_in_place(A, B):
    A += B * B


@program(arrays(5, 5), "inplace augmented", scalar=False, mutates="A")
def subtract_in_place(A, B):
    A -= np.sin(B)


@program(arrays(5, 5), "inplace augmented", scalar=False, mutates="A")
def multiply_in_place(A, B):
    A *= B


@program(arrays((4, 3), (4, 3)), "inplace augmented", scalar=False, mutates="A")
def divide_in_place(A, B):
    A /= B


@program(positive(5), "inplace augmented", scalar=False, mutates="A")
def power_in_place(A):
    A **= 3


@program(positive(5, 5), "inplace augmented", scalar=False, mutates="A")
def power_in_place_by_array(A, B):
    A **= B


@program(arrays(5), "inplace augmented", scalar=False, mutates="A")
def multiply_by_itself(A):
    A *= A
    A *= A


# DaCe, `A *= row`: Dimensionality mismatch between src/dst subsets, edge [0:4] -> A[0:3, 0:4] (CR: Product).
@program(arrays((3, 4), 4, ()), "inplace augmented broadcast dace-frontend-fails", scalar=False, mutates="A")
def broadcast_in_place(A, b, c):
    A *= b
    A += c


@program(arrays((3, 5)), "inplace augmented slice", scalar=False, mutates="A")
def augmented_row(A):
    A[1] += A[0]
    A[2] *= A[1]


@program(arrays((4, 5)), "inplace augmented slice", scalar=False, mutates="A")
def augmented_column(A):
    A[:, 2] -= A[:, 0] * A[:, 4]
    A[:, 0] *= 2.0


@program(arrays(5, 5), "inplace augmented self", scalar=False, mutates="A")
def everything_augmented(A, B):
    A += B
    A *= A
    A -= B * A
    A /= 2.0 + B * B


# Whole-array overwrites ------------------------------------------------------------------------------


@program(arrays((3, 4), (3, 4)), "inplace whole", scalar=False, mutates="B")
def write_argument(A, B):
    B[:] = A * A


@program(arrays((3, 4), (3, 4)), "inplace whole", scalar=False, mutates="B")
def write_argument_two_dimensions(A, B):
    B[:, :] = np.sin(A)


@program(arrays(5), "inplace whole self", scalar=False, mutates="A")
def overwrite_with_function_of_itself(A):
    A[:] = np.sin(A)


@program(arrays(5), "inplace whole self repeated", scalar=False, mutates="A")
def overwrite_repeatedly(A):
    A[:] = A * A
    A[:] = np.sin(A) + A
    A[:] = A * 0.5


@program(arrays(5), "inplace whole after-use", scalar=True, mutates="")
def local_overwritten_after_use(x):
    y = x * x
    z = np.sin(y)
    y[:] = z * y
    return np.sum(y * z)


@program(arrays((3, 4), (3, 4)), "inplace whole after-use", scalar=False, mutates="A")
def argument_overwritten_after_use(A, B):
    C = A * B
    A[:] = 2.0
    return C * A


@program(arrays(6), "inplace whole constant", scalar=False, mutates="A")
def overwritten_by_zero(A):
    A[:] = 0.0


@program(arrays((3, 4), ()), "inplace whole scalar-argument", scalar=False, mutates="A")
def filled_with_scalar(A, c):
    A[:] = c * c


@program(arrays(5, 5), "inplace whole swap", scalar=False, mutates="A B")
def swap_through_temporary(A, B):
    t = np.copy(A)
    A[:] = B
    B[:] = t * t


@program(arrays(5, 5), "inplace whole outputs", scalar=False, mutates="A")
def returned_and_mutated(A, B):
    C = A * B
    A[:] = C + B
    return C


@program(arrays(5), "inplace fresh", scalar=False)
def fill_an_empty_array(A):
    B = np.empty_like(A)
    B[:] = A * A
    return B


@program(arrays((4, 3)), "inplace fresh slice", scalar=False)
def fill_rows_of_zeros(A):
    B = np.zeros((5, 3))
    B[1:4] = A[:3] * 2.0
    B[0] = A[3] * A[0]
    return B


# Slices ------------------------------------------------------------------------------------------------


@program(arrays(7), "inplace slice after-use known")
def zeroed_slice_after_use(x):
    A = x * x
    s = np.sum(np.sin(A))
    A[2:4] = 0.0
    return s + np.sum(A * A)


@program(arrays(7), "inplace slice after-use known", scalar=False, mutates="A")
def argument_slice_zeroed_after_use(A):
    B = A * A
    A[2:4] = 0
    return B * A


@program(arrays((5, 6)), "inplace slice", scalar=False, mutates="A")
def block_overwritten(A):
    A[1:3, 2:5] = A[3:5, 0:3] * 2.0


@program(arrays((5, 6), (2, 3)), "inplace slice", scalar=False, mutates="A")
def block_from_another_array(A, B):
    A[1:3, 3:] = np.sin(B) * A[1:3, 3:]


@program(arrays(9), "inplace slice", scalar=False, mutates="A")
def negative_slice_bounds(A):
    A[-3:-1] = A[-5:-3] * A[1]


@program(arrays(6), "inplace element", scalar=False, mutates="A")
def single_elements(A):
    A[0] = A[1] * A[2]
    A[1] = A[0] * A[0]
    A[5] += A[1]


@program(arrays((3, 4)), "inplace element", scalar=False, mutates="A")
def elements_of_matrix(A):
    A[0, 1] = A[2, 3] * A[1, 1]
    A[2, 3] = A[0, 1] + A[0, 1] * A[2, 3]
    A[-1, -2] *= 3.0


@program(arrays(8), "inplace slice repeated overlap", scalar=False, mutates="A")
def overlapping_overwrites(A):
    A[0:5] = A[0:5] * A[0:5]
    A[3:8] = A[3:8] * 2.0
    A[2:4] = 1.0
    A[3:6] = np.sin(A[3:6])


@program(arrays(8), "inplace slice repeated", scalar=False, mutates="A")
def two_partial_overwrites(A):
    B = np.sin(A)
    A[:4] = B[4:]
    A[4:] = B[:4] * B[4:]


@program(arrays((4, 4)), "inplace slice repeated", scalar=False, mutates="A")
def row_then_column(A):
    A[1, :] = A[:, 2] * 2.0
    A[:, 2] = A[1, :] * A[1, :]


# Overlap of what one statement reads and writes ----------------------------------------------------------


@program(arrays(7), "inplace slice overlap", scalar=False, mutates="A")
def shift_right(A):
    A[1:] = A[:-1] * 2.0


@program(arrays(7), "inplace slice overlap", scalar=False, mutates="A")
def shift_left_nonlinear(A):
    A[:-1] = A[1:] * A[1:]


@program(arrays(9), "inplace slice overlap stencil", scalar=False, mutates="A")
def neighbours_summed(A):
    A[1:-1] = A[2:] + A[:-2]


@program(arrays(9), "inplace slice overlap stencil", scalar=False, mutates="A")
def neighbours_multiplied(A):
    A[1:-1] = A[2:] * A[:-2] + np.sin(A[1:-1])


@program(arrays((5, 6)), "inplace slice overlap", scalar=False, mutates="A")
def shift_diagonally(A):
    A[1:, 1:] = A[:-1, :-1] * A[1:, 1:]


@program(arrays((4, 5)), "inplace overlap broadcast", scalar=False, mutates="A")
def rows_scaled_by_own_row(A):
    A[:] = A * A[1]


@program(arrays(8), "inplace augmented overlap", scalar=False, mutates="A")
def augmented_overlap(A):
    A[2:] += A[:-2] * A[1:-1]


@program(arrays((4, 4)), "inplace transpose overlap", scalar=False, mutates="A")
def transposed_into_itself(A):
    A[:] = A.T * A


# Strides -----------------------------------------------------------------------------------------------


@program(arrays(9), "inplace strided known", scalar=False, mutates="A")
def strided_write(A):
    A[::2] = A[::2] * A[::2]


@program(arrays(10, 5), "inplace strided known", scalar=False, mutates="A")
def strided_write_from_array(A, B):
    A[1::2] = np.sin(B)


@program(arrays(9), "inplace strided known", scalar=False, mutates="A")
def red_black(A):
    A[1:-1:2] = A[0:-2:2] * A[2::2]
    A[2:-1:2] = A[1:-2:2] + A[3::2] * A[2:-1:2]


@program(arrays(8), "inplace strided known", scalar=False, mutates="A")
def even_and_odd(A):
    A[::2] = A[1::2] * 2.0
    A[1::2] = A[::2] * A[::2]


# DaCe, a slice of a strided slice: Memlet subset out-of-bounds, edge A_slice [0, 0:4:2].
@program(arrays((7, 5)), "inplace strided dace-frontend-fails", scalar=False, mutates="A")
def strided_in_two_dimensions(A):
    A[::3, 1::2] = A[1::3, ::3][:1] * 2.0


# DaCe: wrong value without an error, `A[1:9:3] *= A[0:8:3]` is computed with step 1.
@program(arrays(11), "inplace strided augmented dace-frontend-fails", scalar=False, mutates="A")
def strided_augmented(A):
    A[1:9:3] *= A[0:8:3]
    A[::5] += 1.0


@program(arrays(9), "inplace strided constant", scalar=False, mutates="A")
def strided_zero_after_use(A):
    B = A * A
    A[1::3] = 0.0
    return A * B


# Aliases -------------------------------------------------------------------------------------------------


@program(arrays((3, 4)), "inplace view reshape known")
def write_through_reshape(x):
    A = x * x
    V = np.reshape(A, (12,))
    V[3:7] = np.sin(V[3:7])
    return np.sum(A * A)


@program(arrays((4, 6)), "inplace view reshape known", scalar=False, mutates="A")
def write_through_reshaped_argument(A):
    V = A.reshape(3, 8)
    V[1] = V[0] * V[2]


@program(arrays(8), "inplace view slice", scalar=False, mutates="A")
def write_through_slice(A):
    V = A[2:6]
    V[:] = V * V


@program(arrays((4, 5)), "inplace view slice", scalar=False, mutates="A")
def write_through_row(A):
    row = A[2]
    row *= A[0]
    A[1] = row * 2.0


@program(arrays(6), "inplace view after-use", scalar=False, mutates="A")
def view_read_after_base_is_written(A):
    V = A[1:4]
    A[2] = A[0] * A[5]
    return V * V


@program(arrays(5), "inplace alias", scalar=False, mutates="A")
def second_name(A):
    B = A
    B *= 2.0
    return A * B


@program(lambda rng: (signed(rng, 5), signed(rng, (3, 5))), "inplace several", scalar=False, mutates="A B")
def two_arguments_written(A, B):
    B[1] = A * B[0]
    A[:] = B[1] + B[2]
    B[2] = A * A
