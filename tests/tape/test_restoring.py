"""Writes that are undone on the way back."""

from treetext import block, program

from sdgrad.program.tree import lines
from sdgrad.tape.restoring import tried_together

DECLARATIONS = """
    local a: float64[8]
    local b: float64[8]
    local c: float64[8]
    body
"""


def test_containers_that_exchange_their_content_are_tried_together():
    of = program(
        DECLARATIONS
        + """
      map i=0:8:
        u = a[i]
        v = b[i]
        a[i] = v
        b[i] = u
        c[i] = u
    """
    )
    found = tried_together(of, {"a", "b", "c"})
    assert found == [frozenset("a"), frozenset("b"), frozenset("c"), frozenset("ab")]


def test_the_old_value_is_kept_where_that_is_less(planned):
    """Each iteration overwrites one element, and reads all of them."""
    found = planned("""
      loop j = 0 .. 7 step 1:
        map i=0:8:
          v = x[i]
          u = v * v
          s[0] += u
        do:
          v = w[j]
          x[j] = v
    """)
    assert found.tape == ["tape_x[j] keeps v_0 = x[j]"]
    assert found.plan.undone == {"x"}
    assert [str(k) for k in found.plan.undo[0, 0, 1]] == found.tape
    assert found.replay(0, 0, 0) == ["v = x[i]"]


def test_integers_are_undone_without_a_tape(planned):
    found = planned("""
      loop j = 0 .. 7 step 1:
        map i=0:8:
          q = idx[i]
          v = x[q]
          s[0] += v
        map i=0:8:
          q = idx[i]
          p = q + 1
          idx[i] = p
    """)
    assert found.tape == ["undo_idx by its inverse"]
    (leaf,) = found.plan.inverses.values()
    assert "\n".join(lines(leaf)) == block("""
        map i=0:8:
          p_0 = idx[i]
          q_0 = p_0 - 1
          idx[i] = q_0
    """)
