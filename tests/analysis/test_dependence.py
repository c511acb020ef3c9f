"""Dependences that a loop carries."""

import pytest
from treetext import program

from sdgrad.analysis.access_relations import loop_param
from sdgrad.analysis.dependence import defined_first, in_the_way

DECLARATIONS = """
    argument a: float64[9]
    argument b: float64[9]
    argument c: float64[9]
    local t: float64[9]
    body
"""


def obstacle(first: str, second: str, bounds: str = "1 .. 7 step 1") -> str | None:
    """The container in the way of two leaves of a loop: ``first`` and ``second`` are each a load and a store."""
    leaves = "".join(
        f"""
        do:
          v = {load}
          {store} v
    """
        for load, store in (pair.split(" -> ") for pair in (first, second))
    )
    of = program(DECLARATIONS + f"      loop i = {bounds}:{leaves}")
    (loop,) = of.body
    return in_the_way(loop.body, loop_param(loop), of)


@pytest.mark.parametrize(
    "first, second, found",
    [
        ("b[i] -> a[i] =", "a[i] -> c[i] =", None),
        ("b[i] -> a[i] =", "a[i - 1] -> c[i] =", None),  # forward: an earlier iteration has written
        ("b[i] -> a[i] =", "a[i + 1] -> c[i] =", "a"),  # backward: the read comes first
        ("a[i - 1] -> a[i] =", "b[i] -> c[i] =", "a"),  # carried within a leaf
        ("b[i] -> a[0] =", "b[i] -> c[i] =", "a"),
        ("b[i] -> a[0] +=", "b[i] -> a[0] +=", None),  # sums commute
    ],
)
def test_two_leaves(first, second, found):
    assert obstacle(first, second) == found


def test_downwards_the_directions_change():
    downwards = "7 .. 1 step -1"
    assert obstacle("b[i] -> a[i] =", "a[i + 1] -> c[i] =", downwards) is None
    assert obstacle("b[i] -> a[i] =", "a[i - 1] -> c[i] =", downwards) == "a"


@pytest.mark.parametrize("read, answer", [("j", True), ("8 - j", True), ("j + 1", False)])
def test_defined_first(read, answer):
    of = program(
        DECLARATIONS
        + f"""
      loop i = 0 .. 7 step 1:
        map j=0:9:
          v = a[j]
          t[j] = v
        map j=0:9:
          w = t[{read}]
          b[j] += w
    """
    )
    (loop,) = of.body
    assert defined_first("t", loop.body, loop_param(loop), of) is answer
