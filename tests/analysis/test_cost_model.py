"""Estimates of instances and instructions."""

from treetext import program

from sdgrad.analysis.cost_model import instances, instructions, trips
from sdgrad.config import config

DECLARATIONS = """
    argument A: float64[8]
    body
"""


def body(text: str):
    return program(DECLARATIONS + text, symbols="n").body


LEAF = """
          v = A[0]
          w = v * v
          A[0] = w
"""


def test_nested_loops_multiply():
    found = body(f"""
      loop i = 0 .. 9 step 1:
        map j=0:5:{LEAF}
    """)
    assert instances(found) == 50
    assert instructions(found) == 150


def test_a_triangle_is_half_of_its_square():
    found = body(f"""
      loop i = 0 .. 9 step 1:
        map j=0:i:{LEAF}
    """)
    assert instances(found) == 45


def test_an_unknown_size_is_guessed():
    found = body(f"""
      map j=0:n:{LEAF}
    """)
    assert instances(found) == config.machine.unknown_size
    assert trips(found[0].params) == config.machine.unknown_size


def test_a_function_counts_as_several_instructions():
    found = body("""
      do:
          v = A[0]
          w = sin(v)
          A[0] = w
    """)
    assert instructions(found) == 2 + config.machine.function_cost
