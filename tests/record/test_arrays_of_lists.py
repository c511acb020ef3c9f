"""Arrays of nests: lists, ranges, numbers and arrays side by side; and what makes none."""

import numpy as np
import pytest

import sdgrad
from sdgrad.testing import check_grads

X = np.array([0.5, 1.5, -0.7, 2.0])
PROGRAMS = {
    "a list first": lambda x: np.array([[0, 0.1, 0.2, 0.3], x + 3]) @ x,
    "an array first": lambda x: np.array([x, [0, 0.1, 0.2, x[0]]]) @ x,
    "two levels": lambda x: np.array([[x, x], [[1.0, 2, 3, 4], np.arange(4)]]).sum(0) @ x,
    "a range": lambda x: np.asarray([x, range(4), tuple(x)]) @ x,
    "numbers of NumPy's": lambda x: np.array([[np.float32(2.0), x[1]], x[2:]]) @ x[:2],
    "stored": lambda x: _stored(x) @ x,
}


def _stored(x):
    y = np.zeros((2, 4))
    y[:] = [[0, 1, 2, 3], x]
    y[:, 1] += [1, x[3]]
    return y


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    def f(x):
        return np.sum(PROGRAMS[name](x) ** 2)

    assert sdgrad.value_and_grad(f)(X)[0] == pytest.approx(f(X), rel=1e-12)
    check_grads(f, (X,))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: np.sin({"a": x}), "needed here, not a value of type dict"),
        (lambda x: np.array([x[0], "a"]), "needed here, not a value of type str"),
        (lambda x: np.sum([x[0], None]), "needed here, not a value of type NoneType"),
        (lambda x: np.array([x, [1.0, 2.0]]), "have the shapes"),
    ],
)
def test_what_makes_no_array(f, message):
    with pytest.raises((TypeError, ValueError), match=message) as error:
        sdgrad.grad(f)(X)
    assert "test_arrays_of_lists.py" in str(error.value)
