"""Stores to temporaries that nothing reads before the next store."""

from dataclasses import replace

from treetext import block, program, text

from sdgrad.optimize.dataflow.dead_stores import drop_unread
from sdgrad.program.tree import NodeCall, whole_region
from sdgrad.runtime.libraries.lapack import LapackCall

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


def test_calls_that_nobody_reads_are_removed():
    """What only they read goes with them, and the loop around them."""
    before = program(
        """
        argument x: float64[4, 4]
        argument y: float64[4]
        local a: float64[4, 4]
        local q: float64[4, 4]
        local r: float64[4, 4]
        local w: float64[4]
        local v: float64[4, 4]
        body
          for k=0:3:
            map i=0:4, j=0:4:
              u = x[i, j]
              a[i, j] = u
          map i=0:4:
            u = w[i]
            y[i] = u
        """
    )
    copy, read = before.body

    def decompose(kind, source, *results):
        made = {f"_{n}": whole_region(n, before.containers[n].shape) for n in results}
        return NodeCall(LapackCall(kind), {"_a": whole_region(source, (4, 4))}, made)

    unread = replace(copy, body=(*copy.body, decompose("qr", "a", "q", "r")))
    kept = decompose("eigh", "x", "w", "v")
    assert drop_unread(replace(before, body=(unread, kept, read))).body == (kept, read)
    unread = replace(unread, body=(*unread.body, decompose("eigh", "q", "w", "v")))
    assert drop_unread(replace(before, body=(unread, read))).body == (unread, read)
