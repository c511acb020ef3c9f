"""Arrays without axes are changed in place, which every name of them sees: refused, and everything else is right."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError


def through_another_name(x):
    y = x
    x *= 2
    return y * 1.0


def in_a_function(x):
    def bump(v):
        v += 1

    bump(x)
    return x * x


def in_a_list(p):
    y = p[0]
    p[0] *= 2
    return y * 1.0


@pytest.mark.parametrize("f", [through_another_name, in_a_function, in_a_list], ids=lambda f: f.__name__)
def test_changes_in_place_are_refused(f):
    argument = [np.array(1.5)] if f is in_a_list else np.array(1.5)
    with pytest.raises(ParseError, match=r"without axes is changed in place.*write x = x \+ 1"):
        sdgrad.grad(f)(argument)


def test_part_with_an_ellipsis():
    def f(x):
        s = x[0, ...]
        s *= 2
        return x[0]

    with pytest.raises(ParseError, match="without axes"):
        sdgrad.grad(f)(np.ones(3))


def test_everything_else_is_right():
    def f(x, y):
        x = x * 2
        z = y[0]  # a number
        z *= 3
        return x * z + y[1, ...]

    value, (dx, dy) = sdgrad.value_and_grad(f, wrt=("x", "y"))(np.array(1.5), np.array([2.0, 5.0]))
    assert (value, dx) == (23.0, 12.0) and dy.tolist() == [9.0, 1.0]


def test_numbers_may_be_changed():
    def f(x):
        x *= 2
        return x * x

    assert sdgrad.grad(f)(1.5) == sdgrad.grad(f)(np.float64(1.5)) == 12.0
