"""Stores to temporaries that nothing reads before the next store."""

from treetext import block, program, text

from sdgrad.optimize.dataflow.dead_stores import drop_unread

DECLARATIONS = """
    argument x: float64[8]
    argument y: float64[8]
    local t: float64[8]
    body
"""


def test_a_store_behind_the_last_read_is_removed():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        u = x[i]
        t[i] = u
      map i=0:8:
        w = t[i]
        y[i] = w
      map i=0:8:
        u = y[i]
        t[i] = u
        x[i] = u
    """
    )
    assert text(drop_unread(before)) == block("""
        map i=0:8:
          u = x[i]
          t[i] = u
        map i=0:8:
          w = t[i]
          y[i] = w
        map i=0:8:
          u = y[i]
          x[i] = u
    """)


def test_a_leaf_without_other_stores_is_removed():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        u = x[i]
        t[i] = u
      map i=0:8:
        u = x[i]
        y[i] = u
    """
    )
    assert text(drop_unread(before)) == block("""
        map i=0:8:
          u = x[i]
          y[i] = u
    """)


def test_a_value_that_the_next_iteration_reads_is_kept():
    before = program(
        DECLARATIONS
        + """
      loop k = 0 .. 3 step 1:
        map i=0:8:
          w = t[i]
          y[i] = w
        map i=0:8:
          u = x[i]
          t[i] = u
    """
    )
    assert drop_unread(before).body == before.body
