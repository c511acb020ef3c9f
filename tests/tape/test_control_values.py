"""Control flow of the reverse sweep: conditions, bounds and symbols on the tape."""

import dace

BRANCH = """
      if c > 0.0 with c = x[0]:
        do:
          v = x[1]
          u = 2.0 * v
          x[0] = u
      do:
        v = x[0]
        s[0] = v
"""


def test_the_arm_of_a_branch(planned):
    found = planned(BRANCH)
    assert found.tape == ["tape_arm[0] keeps an integer"]
    assert found.plan.containers[0].dtype == dace.int8


def test_a_condition_that_survives_is_evaluated_again(planned):
    assert planned(BRANCH.replace("c = x[0]", "c = w[0]")).tape == ["no tape"]


def test_a_branch_in_a_map_keeps_what_it_compares(planned):
    found = planned("""
      scope i=0:8:
        local a: float64[1]
        if c > 0.0 with c = w[i]:
          do:
            v = x[i]
            a[0] = v
        else:
          do:
            v = 1.0
            a[0] = v
        do:
          v = a[0]
          s[0] += v
      map i=0:8:
        v = 0.0
        w[i] = v
    """)
    assert found.tape == ["tape_w[i] keeps c = w[i]"]
    assert not found.plan.decisions


LOOP = """
      loop j = 0 .. m with m = n[0] step 1:
        do:
          v = x[j]
          s[0] += v
"""


def test_bounds_that_are_overwritten(planned):
    overwrite = """
      do:
        a = 0
        n[0] = a
    """
    assert planned(LOOP).tape == ["no tape"]
    assert planned(LOOP + overwrite).tape == ["tape_n[0] keeps m = n[0]"]


def test_a_loop_around_inactive_code_keeps_nothing(planned):
    overwrite = """
      do:
        a = 0
        n[0] = a
    """
    assert planned(LOOP.replace("v = x[j]", "v = w[j]") + overwrite).tape == ["no tape"]
