"""Loops that overwrite what their bounds are read from."""

from treetext import block, program, text

from sdgrad.canonicalize.loop_bounds import read_bounds_once

DECLARATIONS = """
    argument x: float64[8]
    argument n: int64[1]
    body
"""


def test_a_stop_that_the_loop_changes_is_read_on_entry():
    before = program(
        DECLARATIONS
        + """
      loop i = 0 .. v - 1 with v = n[0] step 1:
        do:
          u = 1
          n[0] = u
    """
    )
    assert text(read_bounds_once(before)) == block("""
        i_stop := v - 1 with v = n[0]
        loop i = 0 .. i_stop step 1:
          do:
            u = 1
            n[0] = u
    """)


def test_a_stop_that_nothing_changes_stays():
    before = program(
        DECLARATIONS
        + """
      loop i = 0 .. v - 1 with v = n[0] step 1:
        do:
          u = 1.0
          x[i] = u
    """
    )
    assert read_bounds_once(before).body == before.body
