"""Shadows: a container beside every container."""

from treetext import program

from sdgrad.autodiff.shadows import Tangents
from sdgrad.program.names import Names

SOURCE = """
argument x: float64[4]
local tangent_x: float64[1]
local part: float64[2] view of x[1:3]
body
"""


def tangents():
    given = program(SOURCE)
    return Tangents(given, Names(given.containers))


def test_made_once_under_a_free_name():
    found = tangents()
    assert str(found.container("x")) == "local tangent_x_0: float64[4]"
    assert found.container("x") is found.container("x")


def test_shadow_of_a_view_is_a_view_of_the_shadow():
    assert str(tangents().container("part")) == "local tangent_part: float64[2] view of tangent_x_0[1:3]"


def test_given_shadow():
    found = tangents()
    given = found.program.containers["tangent_x"]
    found.register("x", given)
    assert found.container("x") is given
