"""Leaves that define what an access reads, in the same iteration."""

import pytest
from treetext import program

from sdgrad.analysis.survival import Memory
from sdgrad.tape.definitions import Definitions

DECLARATIONS = """
    argument x: float64[8]
    argument z: float64[8]
    local t: float64[8]
    body
"""
BODY = """
      loop i = 0 .. 7 step 1:
        map j=0:8:
          v = x[j]
          t[j] = v
        map j=0:8:
          w = t[j]
          z[j] += w
"""


def reaching(body: str) -> tuple[int, ...] | None:
    """The leaf that defines what the last leaf of the loop loads."""
    memory = Memory.of(program(DECLARATIONS + body))
    path = max(p for p in memory.nodes if len(p) == 3)
    leaf = memory.nodes[path]
    return Definitions(memory).reaching(memory.element(leaf.loads[0], leaf, memory.places[path]))


def test_the_leaf_before():
    assert reaching(BODY) == (0, 0, 0)


@pytest.mark.parametrize(
    "before, after",
    [
        ("t[j] = v", "t[j] += v"),  # an accumulation
        ("map j=0:8:\n          v", "map j=0:7:\n          v"),  # not all elements
        ("w = t[j]", "w = x[j]"),  # an argument
        ("v = x[j]", "v = t[7 - j]"),  # reads what it defines
        ("loop i = 0 .. 7 step 1", "scope i=0:8"),  # not in a loop
    ],
)
def test_declines(before, after):
    assert before in BODY
    assert reaching(BODY.replace(before, after)) is None


def test_per_iteration():
    def answer(body: str) -> bool:
        return Definitions(Memory.of(program(DECLARATIONS + body))).is_per_iteration("t")

    assert answer(BODY)
    assert not answer(BODY + "      do:\n        v = t[0]\n        z[0] = v\n")  # read after the loop
    assert not answer(BODY.replace("t[j] = v", "t[j] += v"))
