"""Places of nodes: paths, dimensions of the iteration space, owners of locals."""

import sympy
from treetext import program

from sdgrad.analysis.enclosing import extent, places
from sdgrad.program.tree import Leaf

SOURCE = """
    argument A: float64[8]
    argument n: int64[1]
    body
      scope i=0:8:
        local t: float64[1]
        loop j = 7 .. i step -1:
          do:
            v = A[j]
            t[0] = v
      loop k = 0 .. m with m = n[0] step 1:
        do:
          v = 1.0
          A[k] = v
"""


def leaf_places():
    return [place for place, node in places(program(SOURCE).body) if isinstance(node, Leaf)]


def test_dimensions():
    first, second = leaf_places()
    assert [(d.name, d.direction) for d in first.dims] == [("i", 0), ("j", -1)]
    assert str(first.dims[0].param) == "i=0:8"
    assert [(d.name, d.param, d.direction) for d in second.dims] == [("k", None, 1)]


def test_paths_and_owners():
    first, second = leaf_places()
    assert first.path == (0, 0, 0, 0, 0)
    assert first.loops == ((0, 0, 0),)
    assert first.owner("t") == (0,)
    assert first.owner("A") is None and second.owner("t") is None


def test_extent_of_a_triangle():
    (first, _) = leaf_places()
    params = tuple(d.param for d in first.dims)
    assert extent(params, 1) == (sympy.Integer(0), sympy.Integer(7))
