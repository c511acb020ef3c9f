"""Output dependences between the instances of a map."""

import pytest
from treetext import program

from sdgrad.analysis.conflicts import overwrites_itself, scope_overwrites_itself

DECLARATIONS = """
    argument A: float64[8]
    argument B: float64[8]
    argument idx: int64[8]
    body
"""


@pytest.mark.parametrize("store, answer", [("B[i] = v", False), ("B[k] = v", True), ("B[k] += v", False)])
def test_leaf(store, answer):
    (leaf,) = program(
        DECLARATIONS
        + f"""
      map i=0:8:
        v = A[i]
        k = idx[i]
        {store}
    """
    ).body
    assert overwrites_itself(leaf) is answer


@pytest.mark.parametrize("index, answer", [("i", False), ("0", True), ("j", True)])
def test_scope(index, answer):
    (scope,) = program(
        DECLARATIONS
        + f"""
      scope i=0:8:
        local t: float64[1]
        do:
          v = A[i]
          t[0] = v
        map j=0:8:
          w = t[0]
          B[{index}] = w
    """
    ).body
    assert scope_overwrites_itself(scope) is answer


def test_locals_of_a_scope_are_private_to_an_instance():
    (scope,) = program(
        DECLARATIONS
        + """
      scope i=0:8:
        local t: float64[1]
        do:
          v = A[i]
          t[0] = v
    """
    ).body
    assert not scope_overwrites_itself(scope)
