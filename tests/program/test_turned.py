"""Subscripts on a ring."""

import pytest
import sympy

from sdgrad.program.tree import Param
from sdgrad.program.turned import stays_within, straight, turn, turned, unturned
from sdgrad.symbolic.expr import sym

I, N = sym("i"), sym("n")
WHOLE = (Param("i", sympy.Integer(0), sympy.Integer(7), sympy.Integer(1)),)


def test_parts():
    assert turned(sympy.Mod(I + 11, 8)) == (I, 3, 8)
    assert turned(sympy.Mod(I, 8)) == (I, 0, 8)
    assert turned(I + 3) is turned(sympy.Mod(I + 1, N)) is turned(sympy.Mod(I + N, 8 * N)) is None


def test_turns():
    assert turn(I, 3, 8, WHOLE) == sympy.Mod(I + 3, 8)
    assert turn(sympy.Mod(I + 3, 8), -3, 8, WHOLE) == I
    assert turn(sympy.Mod(I + 3, 8), -3, 8, ()) == sympy.Mod(I, 8), "nobody says that it is no more than seven"
    assert turn(sympy.Integer(6), 3, 8, ()) == 1
    assert unturned(sympy.Mod(I + 8, 8), WHOLE) == I and unturned(I + 1, WHOLE) == I + 1
    assert straight(sympy.Mod(I + 3, 8)) == I + 3 and straight(I) == I


@pytest.mark.parametrize(("expr", "is_inside"), [(I, True), (I + 1, False), (I - 1, False), (2 * I, False), (N, False)])
def test_ranges(expr, is_inside):
    assert stays_within(expr, 8, WHOLE) == is_inside
    assert stays_within(I + 1, 9, WHOLE)
