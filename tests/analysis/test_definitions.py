"""Reads that follow definitions: of elements, leaf by leaf."""

import pytest
from treetext import program

from sdgrad.analysis.access_relations import leaf_relation
from sdgrad.analysis.definitions import Definitions, defines

DECLARATIONS = """
argument x: float64[8]
local t: float64[8]
body
"""


def entered(body):
    """For each leaf of a body, whether it reads only elements of ``t`` that an earlier one has defined."""

    def elements(access, leaf):
        found = leaf_relation(access, leaf, 1)
        return found.elements, found.exact

    definitions = Definitions("t", elements)
    return [definitions.enter(leaf) for leaf in program(DECLARATIONS + body).body], definitions


WRITE = """
  map i=0:{n}:
    v = x[i]
    t[i] = v{guard}
"""
READ = """
  map i=0:8:
    w = t[i]
    x[i] = w
"""


def test_a_read_after_its_definition():
    found, definitions = entered(WRITE.format(n=8, guard="") + READ)
    assert found == [True, True]
    assert str(definitions.known) == "{ [e0] : 0 <= e0 <= 7 }"


@pytest.mark.parametrize(
    "body",
    [READ, WRITE.format(n=7, guard="") + READ, WRITE.format(n=8, guard=" if v") + READ],
    ids=["nothing", "a part", "under a guard"],
)
def test_a_read_of_what_is_not_defined(body):
    assert entered(body)[0][-1] is False


def test_halves_are_the_whole():
    upper = WRITE.format(n=8, guard="").replace("i=0", "i=4")
    assert entered(WRITE.format(n=4, guard="") + upper + READ)[0] == [True, True, True]


def test_a_definition_counts_from_the_next_leaf_on():
    """Instances of one leaf run in any order."""
    both = """
  map i=0:8:
    v = x[i]
    t[i] = v
    w = t[7 - i]
    x[i] = w
"""
    assert entered(both)[0] == [False]


def test_a_relation_that_cannot_be_compared():
    definitions = Definitions("t", lambda access, leaf: None)
    assert not definitions.enter(program(DECLARATIONS + READ).body[0])


def test_what_defines():
    leaf = program(DECLARATIONS + WRITE.format(n=8, guard="") + "  map i=0:8:\n    u = x[i]\n    t[i] += u\n").body
    assert [defines(a) for a in leaf[0].accesses] == [False, True]
    assert [defines(a) for a in leaf[1].accesses] == [False, False]
