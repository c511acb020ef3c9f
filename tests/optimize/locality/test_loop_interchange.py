"""Loop interchange: the innermost loop gets unit stride, where bounds and lengths allow it."""

import pytest
from treetext import block, expression, program, text

from sdgrad.optimize.locality.loop_interchange import cost, exchanged, reduced_last, walk_memory
from sdgrad.program.tree import Param

TRANSPOSED = """
    argument A: float64[50, 40]
    argument B: float64[40, 50]
    body
      {}:
        v = A[j, i]
        w = 2.0 * v
        B[i, j] = w
"""


def interchanged(source):
    return text(walk_memory(program(source)))


def test_the_loop_of_unit_stride_moves_innermost():
    source = """
        argument A: float64[50, 40]
        argument B: float64[50, 40]
        body
          map i=0:40, j=0:50:
            v = A[j, i]
            B[j, i] = v
    """
    assert interchanged(source) == block("""
        map j=0:50, i=0:40:
          v = A[j, i]
          B[j, i] = v
    """)


def test_nests_in_loops_are_reordered():
    source = """
        argument A: float64[50, 40]
        body
          loop k = 0 .. 7 step 1:
            map i=0:40, j=0:50:
              x = 1.0
              A[j, i] = x
    """
    assert interchanged(source) == block("""
        loop k = 0 .. 7 step 1:
          map j=0:50, i=0:40:
            x = 1.0
            A[j, i] = x
    """)


@pytest.mark.parametrize(
    "head",
    [
        "map i=0:40, j=0:50",  # one stride is large in either order
        "for j=0:50, i=0:40",  # sequential
    ],
)
def test_a_nest_without_gain_keeps_its_order(head):
    source = TRANSPOSED.format(head)
    assert interchanged(source) == text(program(source))


@pytest.mark.parametrize("head", ["map i=0:4, j=0:50", "map i=0:40, j=i:50"], ids=["short", "triangular"])
def test_short_loops_and_bounds_of_others_stay_outside(head):
    source = f"""
        argument A: float64[50, 40]
        body
          {head}:
            x = 1.0
            A[j, i] = x
    """
    assert interchanged(source) == text(program(source))


def test_cost_of_an_innermost_parameter():
    given = program(TRANSPOSED.format("map i=0:40, j=0:50"))
    (leaf,) = given.body
    line = cost(leaf, leaf.params[0], given) - 1
    assert line > 1 and cost(leaf, leaf.params[1], given) == 1 + line


def reduction(head):
    return program(f"""
        argument A: float64[50, 40]
        argument s: float64[40]
        body
          {head}:
            v = A[j, i]
            s[i] += v
    """)


def test_reduced_parameters_move_innermost():
    given = reduction("map j=0:50, i=0:40")
    assert [p.name for p in reduced_last(given.body[0]).params] == ["i", "j"]


def test_reduced_parameters_stay_in_triangular_nests():
    (leaf,) = reduction("map j=0:40, i=j:40").body
    assert reduced_last(leaf) is leaf


def param(name, start, stop):
    return Param(name, expression(start), expression(stop), expression("1"))


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        (("0", "i"), ["j=0:10", "i=j:10"]),  # below the diagonal
        (("0", "i - 1"), ["j=0:9", "i=j + 1:10"]),
        (("i", "9"), ["j=0:10", "i=0:j + 1"]),  # above it
        (("0", "2*i"), None),  # another slope
        (("i", "i + 3"), None),  # a band: needs a minimum
    ],
)
def test_interchange_of_a_triangle(inner, found):
    pair = exchanged(param("i", "0", "9"), param("j", *inner))
    assert (pair and [str(p) for p in pair]) == found
