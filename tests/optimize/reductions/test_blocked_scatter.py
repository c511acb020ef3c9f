"""Scatters in blocks: the two loops of a block as text, and what is declined."""

from dataclasses import replace

import pytest
from treetext import block, program

from sdgrad.config import config
from sdgrad.optimize.reductions.blocked_scatter import in_blocks
from sdgrad.program.naming import all_names
from sdgrad.program.tree import lines

DECLARATIONS = """
argument x: float64[10]
argument k: int64[10]
argument y: float64[20]
body
"""
SCATTER = """
  map i=0:{n}:
    n = k[i]
    t = x[i]
    u = sin(t)
    y[n] += u
"""


@pytest.fixture(autouse=True)
def small_blocks():
    with config.override(machine=replace(config.machine, scatter_block=4, scatter_instructions=1)):
        yield


def blocked(body):
    found = program(DECLARATIONS + body)
    return in_blocks(found.body[0], found, all_names(found))


def test_blocks():
    scope, buffers = blocked(SCATTER.format(n=8))
    assert "\n".join(lines(scope)) == block("""
        for block=0:2:
          local block_0: int64[4]
          local block_1: float64[4]
          map trip=0:4:
            n = k[4*block + trip]
            t = x[4*block + trip]
            u = sin(t)
            block_0[trip] = n
            block_1[trip] = u
          for trip=0:4:
            n = k[4*block + trip]
            n = block_0[trip]
            u = block_1[trip]
            y[n] += u
    """)
    assert [b.name for b in buffers] == ["block_0", "block_1"]


def test_buffers_of_subscripts_are_in_the_order_of_names():
    """The order of a set would be another one in every process, and the program another one in the cache."""
    found = program("""
        argument x: float64[8]
        argument k: int64[8]
        argument y: float64[20, 20]
        body
          map i=0:8:
            berry = k[i]
            apple = k[7 - i]
            t = x[i]
            u = sin(t)
            y[berry, apple] += u
    """)
    scope, buffers = in_blocks(found.body[0], found, all_names(found))
    text = "\n".join(lines(scope))
    assert "block_0[trip] = apple" in text and "block_1[trip] = berry" in text


def test_a_last_block_is_shorter():
    scope, _ = blocked(SCATTER.format(n=10))
    assert str(scope.params[0]) == "block=0:3"
    assert str(scope.body[0].params[0]) == "trip=0:Min(3, 9 - 4*block) + 1"


@pytest.mark.parametrize(
    "body",
    [
        SCATTER.format(n=4),  # one block
        SCATTER.format(n=8).replace("x[i]", "y[i]"),  # reads what it changes
        SCATTER.format(n=8).replace("y[n]", "y[n + i]"),  # walks along a row
        SCATTER.format(n=8).replace("y[n]", "y[i]"),  # data choose nothing
        SCATTER.format(n=8).replace("    u = sin(t)\n", "").replace("+= u", "+= t"),  # nothing to compute
        SCATTER.format(n=8).replace("+= u", "+= u if n"),  # guarded
    ],
)
def test_declines(body):
    assert blocked(body) is None
