"""Which instances of a node run after which instances of another one."""

import islpy as isl
import pytest
from treetext import program

from sdgrad.analysis.enclosing import places
from sdgrad.analysis.time_order import follows
from sdgrad.program.tree import Leaf

LEAF = """
          v = 1.0
          A[0] = v
"""


def order(body: str, first: int, second: int, after: bool = False, private=None) -> isl.Map | None:
    """When the second leaf of a program runs after the first."""
    of = program("    argument A: float64[8]\n    body\n" + body, symbols="n")
    leaves = [place for place, node in places(of.body) if isinstance(node, Leaf)]
    return follows(leaves[first], leaves[second], (0, 0), after, private)


LOOP = f"""
      loop i = 0 .. 7 step 1:
        do:{LEAF}
        do:{LEAF}
"""


@pytest.mark.parametrize(
    "body, first, second, relation",
    [
        (LOOP, 0, 1, "{ [x] -> [y] : y >= x }"),
        (LOOP, 1, 0, "{ [x] -> [y] : y > x }"),
        (LOOP.replace("0 .. 7 step 1", "7 .. 0 step -1"), 1, 0, "{ [x] -> [y] : y < x }"),
    ],
)
def test_a_loop_orders_its_iterations(body, first, second, relation):
    assert order(body, first, second).is_equal(isl.Map(relation))


def test_a_map_does_not():
    body = LOOP.replace("loop i = 0 .. 7 step 1", "scope i=0:8")
    assert order(body, 1, 0).is_equal(isl.Map("{ [x] -> [y] : y != x }"))


def test_private_containers_meet_in_one_instance_only():
    body = LOOP.replace("loop i = 0 .. 7 step 1", "scope i=0:8")
    assert order(body, 1, 0, private=(0,)) is None
    assert order(body, 0, 1, private=(0,)).is_equal(isl.Map("{ [x] -> [y] : y = x }"))


def test_a_block_orders_its_nodes():
    body = f"""
      do:{LEAF}
      do:{LEAF}
    """
    assert order(body, 0, 1) is not None
    assert order(body, 1, 0) is None


def test_arms_of_a_branch_exclude_each_other():
    body = f"""
      if n > 2:
        do:{LEAF}
      else:
        do:{LEAF}
    """
    assert order(body, 0, 1) is None and order(body, 1, 0) is None


def test_a_result_does_not_precede_its_own_node():
    body = f"""
      do:{LEAF}
    """
    assert order(body, 0, 0) is not None
    assert order(body, 0, 0, after=True) is None
