"""Values that a leaf stored, loaded back from there."""

import pytest

READ = """
      map i=0:8:
        v = t[i]
        s[0] += v
"""
EXPONENTIAL = """
      map i=0:8:
        v = x[i]
        u = exp(v)
        t[i] = u
"""


def test_a_stored_result_is_loaded_back(planned):
    found = planned(EXPONENTIAL + READ)
    assert found.tape == ["no tape"]
    assert found.replay(0) == ["u = t[i]"]


@pytest.mark.parametrize(
    "before, after",
    [
        ("t[i] = u", "t[0] = u"),  # one element for all instances
        ("t[i] = u", "t[i] += u"),  # not the value itself
    ],
)
def test_declines(planned, before, after):
    found = planned(EXPONENTIAL.replace(before, after) + READ)
    assert found.replay(0) == ["v = x[i]", "u = exp(v)"]


def test_an_overwritten_result_is_recomputed(planned):
    found = planned(EXPONENTIAL + READ + EXPONENTIAL.replace("exp", "cos"))
    assert found.replay(0) == ["v = x[i]", "u = exp(v)"]


MAXIMUM = """
      map i=0:8:
        v = x[i]
        s[0] max= v
"""


def test_a_maximum_is_read_where_it_is(planned):
    found = planned(MAXIMUM)
    assert found.plan.leaves[0,].results == {"s": ("s", (0,))}
    assert found.tape == ["tape_s[0] keeps x0 = s[0]"]


def test_an_overwritten_maximum_is_kept_after_its_leaf(planned):
    found = planned(
        MAXIMUM
        + """
      do:
        v = s[0]
        u = v * 2.0
        s[0] = u
    """
    )
    (kept,) = found.plan.leaves[0,].after
    assert str(kept) == "tape_s[0] keeps y = s[0]"
    assert found.plan.leaves[0,].results == {"s": ("tape_s", (0,))}
