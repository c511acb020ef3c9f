"""Assignments of zeros before a stencil: which the gather nests absorb."""

import pytest
from treetext import block, program, text

from sdgrad.optimize.reductions.scatter_to_gather import gather_neighbours

ZEROS_AND_STENCIL = """
argument x: float64[20]
argument a: float64[20]
argument b: float64[20]
body
  map i=0:20:
    z = 0.0
    a[i] = z
  map i=0:19:
    t = x[i]
    a[i] += t
    a[i + 1] += t
"""
ABSORBED = """
map i=1:19:
  t_0 = x[i]
  t_1 = x[i - 1]
  v = t_0 + t_1
  a[i] = v
map i=0:1:
  t_2 = x[i]
  v_0 = t_2
  a[i] = v_0
map i=19:20:
  t_3 = x[i - 1]
  v_1 = t_3
  a[i] = v_1
"""
ADDED = ABSORBED.replace("a[i] =", "a[i] +=")


def test_zeros_are_absorbed():
    assert text(gather_neighbours(program(ZEROS_AND_STENCIL))) == block(ABSORBED)


def test_other_stores_of_the_leaf_stay():
    source = ZEROS_AND_STENCIL.replace("    a[i] = z\n", "    a[i] = z\n    b[i] = z\n")
    zeros = "map i=0:20:\n  z = 0.0\n  b[i] = z\n"
    assert text(gather_neighbours(program(source))) == zeros + block(ABSORBED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("z = 0.0", "z = 1.0"),
        ("a[i] = z", "a[i] = z if z"),  # guarded
        ("a[i] = z", "a[i] += z"),
        ("map i=0:20:", "map i=0:10:"),  # not all of the interior
        ("map i=0:20:", "map i=0:20:2:"),  # with gaps
        ("z = 0.0", "z = a[i]"),
        ("    a[i] = z\n", "    a[i] = z\n  do:\n    u = a[3]\n    b[0] = u\n"),  # read in between
        ("map i=0:20:\n", "map i=k:20:\n"),  # from an unknown element on
    ],
)
def test_declines(old, new):
    source = ZEROS_AND_STENCIL.replace(old, new, 1)
    assert source != ZEROS_AND_STENCIL
    before = text(program(source)).partition("map i=0:19:")[0]
    assert text(gather_neighbours(program(source))) == before + block(ADDED)
