"""Programs that move values without computing: reshapes, transposes, joins, splits, repeats, pads."""

import numpy as np

from ._base import arrays, program


@program(arrays((3, 4)), "transpose", scalar=False)
def transpose_attribute(x):
    return x.T * 2.0


@program(arrays((3, 4)), "transpose", scalar=False)
def transpose_returned(x):
    return x.T


@program(arrays((3, 4)), "transpose", scalar=False)
def transpose_function(x):
    return np.sin(np.transpose(x))


@program(arrays((2, 3, 4)), "transpose", scalar=False)
def transpose_axes(x):
    return np.transpose(x, (2, 0, 1)) * 3.0


@program(arrays((2, 3, 4)), "transpose", scalar=False)
def transpose_reversed(x):
    return np.transpose(x * x)


@program(arrays((2, 3, 4, 5)), "transpose", scalar=False)
def transpose_four_axes(x):
    return np.transpose(x, (0, 2, 1, 3))


@program(arrays((3, 4)), "transpose", scalar=False)
def transpose_twice(x):
    return (x.T * np.sin(x.T)).T


@program(arrays((2, 3, 4)), "swapaxes needs-frontend", scalar=False)
def swapaxes(x):
    return np.swapaxes(x, 0, 2) * 2.0


@program(arrays((2, 3, 4)), "moveaxis needs-frontend", scalar=False)
def moveaxis(x):
    return np.moveaxis(x * x, 0, -1)


@program(arrays((3, 4)), "reshape", scalar=False)
def reshape_function(x):
    return np.reshape(x, (2, 6)) * 2.0


@program(arrays((3, 4)), "reshape", scalar=False)
def reshape_returned(x):
    return np.reshape(x, (12,))


@program(arrays((3, 4)), "reshape method", scalar=False)
def reshape_method(x):
    return x.reshape(4, 3) * 3.0


@program(arrays((3, 4)), "reshape method", scalar=False)
def reshape_method_tuple(x):
    return np.sin(x.reshape((2, 3, 2)))


@program(arrays((3, 4)), "reshape needs-frontend", scalar=False)
def reshape_integer(x):
    return x.reshape(12) * 2.0


@program(arrays((3, 4)), "reshape needs-frontend", scalar=False)
def reshape_minus_one(x):
    return x.reshape(-1, 2) * 2.0


@program(arrays((3, 4)), "reshape needs-frontend", scalar=False)
def ravel(x):
    return np.ravel(x) * 2.0


@program(arrays((3, 4)), "reshape method", scalar=False)
def flatten_method(x):
    return x.flatten() * x.flatten()


@program(arrays((3, 4), 12), "reshape", scalar=False)
def reshape_of_intermediate(x, y):
    t = x * x
    return np.reshape(t, (12,)) * y + np.reshape(t, (12,))


@program(arrays((2, 6)), "reshape transpose", scalar=False)
def reshape_and_transpose(x):
    return np.reshape(np.transpose(np.reshape(x, (4, 3))), (6, 2)) * 2.0


@program(arrays((3, 1, 4)), "squeeze needs-frontend", scalar=False)
def squeeze(x):
    return np.squeeze(x, axis=1) * 2.0


@program(arrays((3, 4)), "expand-dims needs-frontend", scalar=False)
def expand_dims(x):
    return np.expand_dims(x, 1) * 2.0


@program(arrays((3, 4)), "newaxis", scalar=False)
def newaxis_added(x):
    return x[:, np.newaxis, :] * 2.0


@program(arrays(4), "broadcast needs-frontend", scalar=False)
def broadcast_to(x):
    return np.broadcast_to(x * x, (3, 4)) * 2.0


@program(arrays((2, 3), (4, 3)), "concatenate", scalar=False)
def concatenate_rows(x, y):
    return np.concatenate((x, y))


@program(arrays((3, 2), (3, 4)), "concatenate", scalar=False)
def concatenate_columns(x, y):
    return np.concatenate((x * x, y), axis=1)


@program(arrays(3, 4), "concatenate shared", scalar=False)
def concatenate_with_itself(x, y):
    t = np.concatenate((x, y, x))
    return t * t


@program(arrays((2, 3), (2, 3)), "stack", scalar=False)
def stack_first(x, y):
    return np.stack((x, y)) * 2.0


@program(arrays((2, 3), (2, 3)), "stack", scalar=False)
def stack_last(x, y):
    return np.stack((x * y, y), axis=-1)


@program(arrays((2, 3), (4, 3)), "stack", scalar=False)
def vstack(x, y):
    return np.vstack((x, y)) * 2.0


@program(arrays((3, 2), (3, 4)), "stack", scalar=False)
def hstack(x, y):
    return np.hstack((x, y)) * 2.0


@program(arrays(3, 3), "stack needs-frontend", scalar=False)
def column_stack(x, y):
    return np.column_stack((x, x * y))


@program(arrays(9), "split", scalar=False)
def split_equal(x):
    a, b, c = np.split(x, 3)
    return a * b + c


@program(arrays((5, 4)), "split", scalar=False)
def split_at_places(x):
    a, b, c = np.split(x, [1, 3])
    return b * a, c * c


@program(arrays((3, 6)), "split", scalar=False)
def split_columns(x):
    a, b = np.split(x, 2, axis=1)
    return a * np.sin(b)


@program(arrays(4), "tile needs-frontend", scalar=False)
def tile_vector(x):
    return np.tile(x, 3) * 2.0


@program(arrays((2, 3)), "tile needs-frontend", scalar=False)
def tile_matrix(x):
    return np.tile(x * x, (2, 2))


@program(arrays(4), "repeat needs-frontend", scalar=False)
def repeat_elements(x):
    return np.repeat(x, 3) * 2.0


@program(arrays((3, 2)), "repeat needs-frontend", scalar=False)
def repeat_axis(x):
    return np.repeat(x * x, 2, axis=1)


@program(arrays(7), "roll needs-frontend", scalar=False)
def roll(x):
    return np.roll(x, 2) * x


@program(arrays((3, 5)), "roll needs-frontend", scalar=False)
def roll_axis(x):
    return np.roll(x, -1, axis=1) - x * x


@program(arrays(7), "flip", scalar=False)
def flip_vector(x):
    return np.flip(x) * x


@program(arrays((3, 5)), "flip", scalar=False)
def flip_axis(x):
    return np.flip(x, axis=1) * x


@program(arrays((3, 4)), "pad needs-frontend", scalar=False)
def pad_constant(x):
    return np.pad(x * x, 1)


@program(arrays((3, 4)), "pad needs-frontend", scalar=False)
def pad_uneven(x):
    return np.pad(x, ((1, 2), (0, 3))) * 2.0


@program(arrays(5), "pad needs-frontend", scalar=False)
def pad_edge(x):
    return np.pad(x * x, 2, mode="edge")


@program(arrays((4, 4)), "triangle needs-frontend", scalar=False)
def lower_triangle(x):
    return np.tril(x) * x


@program(arrays((4, 4)), "triangle needs-frontend", scalar=False)
def upper_triangle(x):
    return np.triu(x * x, 1)


@program(arrays((4, 4)), "diagonal needs-frontend", scalar=False)
def diagonal(x):
    return np.diagonal(x * x)


@program(arrays(4), "diagonal needs-frontend", scalar=False)
def diagonal_matrix(x):
    return np.diag(x * x)


@program(arrays((3, 4)), "copy", scalar=False)
def full_and_like(x):
    a = np.full((3, 4), 2.0)
    b = np.ones_like(x)
    c = np.zeros_like(x)
    return a * x + b - c * x


@program(arrays((3, 4)), "rot90 needs-frontend", scalar=False)
def rot90(x):
    return np.rot90(x) * 2.0
