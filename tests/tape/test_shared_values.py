"""One entry of the tape for two leaves that load the same elements."""

import pytest

BODY = """
      map i=0:8:
        v = x[i]
        u = sin(v)
        t[i] = u
      map j=0:8:
        a = x[j]
        b = t[j]
        u = a * b
        w[j] = u
      map i=0:8:
        u = 0.0
        x[i] = u
      map i=0:8:
        v = w[i]
        s[0] += v
"""


def test_the_second_leaf_loads_what_the_first_one_kept(planned):
    found = planned(BODY)
    assert found.tape == ["tape_x[i] keeps v = x[i]"]
    assert found.replay(1) == ["a = tape_x[j]", "b = t[j]"]
    assert found.recorded.count("tape_x[") == 1


@pytest.mark.parametrize(
    "before, after",
    [
        ("a = x[j]", "a = x[7 - j]"),  # other elements
        ("map j=0:8", "map j=0:7"),  # another range
        ("      map j", "      do:\n        c = 1.0\n        x[3] = c\n      map j"),  # a write in between
    ],
)
def test_declines(planned, before, after):
    assert len(planned(BODY.replace(before, after)).tape) == 2
