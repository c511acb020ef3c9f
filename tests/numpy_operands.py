"""Operands of NumPy's functions, by the letters that tests call them."""

import numpy as np

_random = np.random.default_rng(7)


def normal(*shape):
    return _random.standard_normal(shape)


def _definite(size):
    square = normal(size, size)
    return square @ square.T + size * np.eye(size)


INPUTS = {
    "A": normal(4, 5), "B": _random.uniform(0.1, 0.9, (4, 5)), "S": _definite(4), "P": normal(5, 3),
    "T": normal(3, 4, 5), "U": normal(3, 5, 2), "c": normal(4, 1), "r": normal(1, 5),
    "u": normal(3), "v": normal(5), "w": normal(4), "x": normal(3), "L": np.sort(normal(5)),
    "F": normal(4, 5).astype("f4"), "G": _random.uniform(0.1, 0.9, (4, 5)).astype("f4"),
    "I": _random.integers(-9, 9, (4, 5)), "J": _random.integers(1, 9, (4, 5)).astype("i4"),
    "K": _random.random((4, 5)) > 0.5, "Z": normal(4, 5) + 1j * normal(4, 5),
    "E": np.array([[np.nan, np.inf, -np.inf, 0.0, 1.0]]), "H": np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]),
    "s": np.float64(0.7), "t": np.float64(1.3), "f": np.float32(0.6), "i": np.int64(3),
    "X": normal(2, 3, 4), "Y": normal(6), "M": normal(3, 3), "D": normal(2, 3, 3) + 3 * np.eye(3),
    "Q": normal(6, 6) + 4 * np.eye(6), "C": normal(4) + 1j * normal(4), "O": np.sort(_random.uniform(0.1, 2, 6)),
    "o": np.array([2, 0, 1, 2]), "b": np.array([[0, 2], [1, 1]]), "N": np.array([1.0, np.nan, -2.0, 3.0]),
    "p": _random.uniform(0.2, 0.8, 5),
}  # fmt: skip
