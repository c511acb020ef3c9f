"""The primal program with its stores to the tape."""

from treetext import block

SUM = """
      map i=0:8:
        v = x[i]
        s[0] += v
"""


def test_a_copy_before_the_leaf(planned):
    found = planned(
        """
      loop j = 0 .. 7 step 1:
        do:
          v = x[0]
          u = sin(v)
          x[0] = u
    """
        + SUM,
        rerun=False,
    )
    assert found.recorded == block("""
        loop j = 0 .. 7 step 1:
          do:
            v = x[0]
            tape_x[j] = v
          do:
            v = x[0]
            u = sin(v)
            x[0] = u
        map i=0:8:
          v = x[i]
          s[0] += v
    """)


def test_a_computed_value_is_stored_by_its_leaf(planned):
    found = planned("""
      map i=0:8:
        v = x[i]
        a = w[i]
        u = v + a
        y = sin(u)
        s[0] += y
      map i=0:8:
        v = 0.0
        x[i] = v
        w[i] = v
    """)
    assert found.recorded.startswith(
        block("""
        map i=0:8:
          v = x[i]
          a = w[i]
          u = v + a
          y = sin(u)
          s[0] += y
          tape_u[i] = u
    """)
    )


def test_a_branch_records_its_arm_also_if_it_takes_none(planned):
    found = planned("""
      if c > 0.0 with c = x[0]:
        do:
          v = x[1]
          u = 2.0 * v
          x[0] = u
      do:
        v = x[0]
        s[0] = v
    """)
    assert found.recorded.startswith(
        block("""
        if c > 0.0 with c = x[0]:
          do:
            v_tape_arm = 0
            tape_arm[0] = v_tape_arm
          do:
            v = x[1]
            u = 2.0 * v
            x[0] = u
        else:
          do:
            v_tape_arm = 1
            tape_arm[0] = v_tape_arm
    """)
    )


def test_a_loop_with_a_counter_counts(planned):
    found = planned(
        """
      loop j = 0 ... step 1 while r > 0.5 with r = w[0]:
        do:
          v = x[0]
          u = sin(v)
          x[0] = u
    """
        + SUM,
        rerun=False,
    )
    recorded = found.recorded
    assert "count_j := 0" in recorded and "  count_j := count_j + 1" in recorded
    assert recorded.index("count_j := 0") < recorded.index("tape_x[count_j] = v") < recorded.index("count_j + 1")
