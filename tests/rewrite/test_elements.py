"""What is known of elements: which are the same, which may be."""

from sympy import sympify

from sdgrad.rewrite.elements import Elements
from sdgrad.symbolic.expr import sym

I, J = sym("i"), sym("j")


def at(*subscript):
    return tuple(map(sympify, subscript))


def known(*subscripts):
    found = Elements()
    for index in subscripts:
        found.put(at(*index), str(index))
    return found


def test_the_last_value_of_an_element():
    found = known((1, 2), (I, 2))
    found.put(at(1, 2), "again")
    assert found.last(at(1, 2)) == "again" and found.last(at(I, 2)) == str((I, 2)) and found.last(at(2, 1)) is None


def test_values_of_one_element():
    found = known((1, 2), (I + J, 2), (J + I, 2), (I, 2))
    assert found.take(at(2, 1)) == []
    assert found.take(at(I + J, 2)) == [str((I + J, 2))] * 2
    assert found.take(at(1, 2)) == [str((1, 2))] and found.last(at(1, 2)) is None and found.last(at(I, 2)) is not None


def test_elements_that_may_be_the_same():
    found = known((1, 2), (3, 2), (I, 2), (I, 3), (J, 2))
    found.forget(at(3, 2))
    assert [found.last(at(*k)) is not None for k in ((1, 2), (3, 2), (I, 2), (I, 3), (J, 2))] == [
        True,
        False,
        False,
        True,
        False,
    ]
    found = known((1, 2), (1, 3), (I, 2), (I + 1, 2), (J, 2))
    found.forget(at(I, 2))
    assert [found.last(at(*k)) is not None for k in ((1, 2), (1, 3), (I, 2), (I + 1, 2), (J, 2))] == [
        *(False, True, False, True, False)
    ]
