"""Positions and names of arguments."""

import numpy as np
import pytest

from sdgrad.errors import ArgumentError, NameNotFound
from sdgrad.specialize.argnums import key, names_of, several


def f(x, n, y):
    return x * n * y


ARGUMENTS = {"x": np.ones(3), "n": 2, "y": np.ones(3)}


@pytest.mark.parametrize(
    ("wrt", "names"), [(0, ["x"]), ("y", ["y"]), ((0, "y"), ["x", "y"]), ([2, 0], ["y", "x"]), (-1, ["y"])]
)
def test_names(wrt, names):
    assert names_of(wrt, f, ARGUMENTS) == names


@pytest.mark.parametrize(("wrt", "error"), [(7, ArgumentError), ("z", NameNotFound), ("n", ArgumentError)])
def test_arguments_without_a_gradient(wrt, error):
    with pytest.raises(error):
        names_of(wrt, f, ARGUMENTS)


def test_results_are_a_tuple_for_sequences():
    assert several((0,)) and several(["x", "y"])
    assert not several(0) and not several("x")
    assert key([0, 1]) == key((0, 1))
