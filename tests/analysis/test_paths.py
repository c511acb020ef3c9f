"""Paths of nodes: position, then arm and position for every node around."""

from treetext import program

from sdgrad.analysis.paths import nodes_with_paths

SOURCE = """
    argument A: float64[8]
    body
      do:
        v = 1.0
        A[0] = v
      if n > 2:
        do:
          v = 2.0
          A[0] = v
      else:
        loop k = 0 .. 7 step 1:
          do:
            v = 3.0
            A[k] = v
"""


def test_program_order_parents_first():
    found = [(path, type(node).__name__) for path, node in nodes_with_paths(program(SOURCE, symbols="n").body)]
    assert found == [
        ((0,), "Leaf"),
        ((1,), "Branch"),
        ((1, 0, 0), "Leaf"),
        ((1, 1, 0), "Loop"),
        ((1, 1, 0, 0, 0), "Leaf"),
    ]
