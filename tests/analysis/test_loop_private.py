"""Containers that are private to an iteration."""

import pytest
from private_loops import DECLARATIONS, PRIVATE
from treetext import program

from sdgrad.analysis.loop_private import region_locals, within_blocks
from sdgrad.analysis.uses import users


def private(body: str) -> set[str]:
    of = program(DECLARATIONS + body)
    return set(region_locals(of.body[0], users(of.body, of), of))


def test_a_temporary_that_each_iteration_defines_first():
    assert private(PRIVATE) == {"t"}


def test_by_elements():
    """No leaf defines all of ``t``, but each element that is read has been set."""
    assert private(PRIVATE.replace("map j=0:8", "map j=0:5")) == {"t"}


@pytest.mark.parametrize(
    "body",
    [
        PRIVATE.replace("map j=0:8:\n          v", "map j=0:5:\n          v"),  # reads more than it sets
        PRIVATE.replace("t[j] = v", "t[j] += v"),  # goes on from the iteration before
        PRIVATE
        + """
      do:
        v = t[0]
        y[0] = v
    """,  # read after the loop
    ],
)
def test_declines(body):
    assert private(body) == set()


def test_users_count_nodes():
    of = program(DECLARATIONS + PRIVATE)
    assert users(of.body, of) == {"x": 1, "t": 2, "y": 1}


def test_within_blocks():
    of = program(DECLARATIONS + PRIVATE)
    assert within_blocks(of) == {"t"}
    carried = program(DECLARATIONS + PRIVATE.replace("t[j] = v", "t[j] += v"))
    assert within_blocks(carried) == set()
