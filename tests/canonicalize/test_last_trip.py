"""Loops that may stop early record their last iteration."""

from treetext import block, program, text

from sdgrad.canonicalize.last_trip import remember_trips

DECLARATIONS = """
    argument x: float64[8]
    body
"""


def test_a_loop_with_a_condition_stores_its_variable():
    before = program(
        DECLARATIONS
        + """
      loop k = 0 ... step 1 while v > 0 with v = x[0]:
        do:
          u = x[k]
          x[0] = u
    """
    )
    after = remember_trips(before)
    assert text(after) == block("""
        do:
          v = 0 - 1
          last_k[0] = v
        loop k = 0 ... step 1 while v > 0 with v = x[0]:
          do:
            v_0 = k
            last_k[0] = v_0
          do:
            u = x[k]
            x[0] = u
    """)
    assert str(after.containers["last_k"]) == "local last_k: int64[1]"
    assert after.body[1].last == "last_k"


def test_a_counted_loop_stays():
    before = program(
        DECLARATIONS
        + """
      loop k = 0 .. 7 step 1:
        do:
          u = 1.0
          x[k] = u
    """
    )
    assert remember_trips(before) == before
