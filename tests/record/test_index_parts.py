"""Which part of an index array is used."""

import numpy as np
import pytest
import sympy

from sdgrad.record.index_parts import part_of, part_of_element, taken
from sdgrad.record.tensors import Tensor


class Builder:
    """What a tensor asks of its builder here: the container, and itself."""

    def __init__(self, shape):
        self.containers = {"x": self}
        self.shape = shape

    def placed(self, tensor):
        return tensor


def tensor(*shape):
    return Tensor(Builder(shape), "x", shape, np.dtype(int))


X = np.arange(60).reshape(3, 4, 5)


@pytest.mark.parametrize(
    ("view", "wanted"),
    [
        (lambda t: t.slice(1, 1, 2), X[:, 1:3]),
        (lambda t: t.slice(2, 1, 2, 2), X[:, :, 1:4:2]),
        (lambda t: t.select(1, 2), X[:, 2]),
        (lambda t: t.select(0, 1).select(1, 3), X[1, :, 3]),
        (lambda t: t.select(0, 2).transpose(), X[2]),
    ],
)
def test_slices(view, wanted):
    part, is_exact = part_of(view(tensor(3, 4, 5)))
    assert is_exact and sorted(np.ravel(taken(X, part))) == sorted(np.ravel(wanted))


def test_all_of_it():
    whole = tensor(3, 4, 5)
    assert part_of(whole) == (None, True)
    assert part_of(whole.transpose()) == (None, True)


def test_what_is_no_slice():
    """A diagonal is in the array, and is not all of it; backwards is all of it, and not found to be."""
    whole = tensor(4, 4)
    assert part_of(whole.moved((4,), lambda i: (i[0], i[0]))) == (None, False)
    assert part_of(whole.moved((4, 4), lambda i: (3 - i[0], i[1]))) == (None, False)
    assert part_of(whole.moved((4,), lambda i: (3 - i[0], sympy.Integer(1)))) == (((0, 4, 1), (1, 2, 1)), False)


def test_a_number():
    assert part_of(tensor(1).moved((), lambda i: ())) == (None, False)


def test_elements():
    k, array = sympy.Symbol("k"), Builder((3, 4))
    assert part_of_element((k, sympy.Integer(1)), array) == ((0, 3, 1), (1, 2, 1))
    assert part_of_element((k, sympy.Integer(-1)), array) == ((0, 3, 1), (3, 4, 1))
    assert part_of_element((k, k + 1), array) is None
    assert part_of_element((k, sympy.Integer(1)), Builder((sympy.Symbol("n"), 4))) is None
    assert part_of_element((k, sympy.Integer(1)), None) is None
