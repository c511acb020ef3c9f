"""The leaf that initializes the elements of a reduction."""

from treetext import block, program

from sdgrad.program.tree import Leaf, lines
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.symbolic import code


def started(source: str) -> str:
    (leaf,) = program("argument x: float64[9, 9]\n    argument y: float64[9]\n    body" + source).body
    assert isinstance(leaf, Leaf)
    return "\n".join(lines(begin(leaf.stores[0], leaf, code.constant(0), "zero")))


def test_the_parameters_of_the_element_remain():
    assert started("""
      map i=0:9, j=0:9:
        u = x[i, j]
        y[i] += u
    """) == block("""
        map i=0:9:
          zero = 0
          y[i] = zero
    """)


def test_elements_reached_twice_are_set_once():
    assert started("""
      map i=0:5, j=0:5:
        u = x[i, j]
        y[i + j] += u
    """) == block("""
        map zero_0=0:9:
          zero = 0
          y[zero_0] = zero
    """)


def test_elements_that_are_no_box_keep_their_parameters():
    assert started("""
      map i=0:3, j=0:2:
        u = x[i, j]
        y[3*i + 2*j] += u
    """) == block("""
        map i=0:3, j=0:2:
          zero = 0
          y[3*i + 2*j] = zero
    """)
