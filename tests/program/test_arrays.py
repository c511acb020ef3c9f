"""Leaves over whole arrays and windows."""

import sympy
from treetext import program, text

from sdgrad.program.arrays import assign, boundary, cleared, fill, moved
from sdgrad.program.names import Names
from sdgrad.program.tree import Program
from sdgrad.program.window import Axis, Window, whole_window

CONTAINERS = program("""
argument x: float64[4, 1, n]
local y: float64[4, 1, n]
local z: float64[4]
body
""").containers


def shown(leaf):
    return text(Program("p", {}, {}, {}, (leaf,)))


def test_axes_of_one_element_have_no_parameter():
    assert shown(fill(CONTAINERS["x"], "1.5", Names(), "")) == "map i0=0:4, i2=0:n:\n  v = 1.5\n  x[i0, 0, i2] = v"


def test_copy_and_sum():
    leaf = assign(CONTAINERS["x"], CONTAINERS["y"], "sum", Names(), "")
    assert shown(leaf) == "map i0=0:4, i2=0:n:\n  v = y[i0, 0, i2]\n  x[i0, 0, i2] += v"


def test_windows():
    column = Window("x", (sympy.Integer(0), sympy.Integer(0), sympy.Integer(2)), (Axis(0, sympy.Integer(1)),))
    z = whole_window("z", CONTAINERS["z"].desc)
    assert shown(moved(z, column, (4,), "set", Names())) == "map i0=0:4:\n  v = x[i0, 0, 2]\n  z[i0] = v"
    assert shown(cleared(column, (4,), Names())) == "map i0=0:4:\n  v = 0\n  x[i0, 0, 2] = v"


def test_boundary_is_an_argument():
    assert str(boundary("gradient_y", CONTAINERS["y"])) == "argument gradient_y: float64[4, 1, n]"
