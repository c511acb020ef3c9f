"""Symbols that come from an array by way of a scalar."""

import pytest

BODY = """
      loop j = 0 .. 7 step 1:
        do:
          a = idx[j]
          k[0] = a
        m := b with b = k[0]
        map i=0:m:
          v = x[i]
          s[0] += v
"""


def test_the_element_is_read_instead_of_the_scalar(planned):
    found = planned(BODY)
    assert found.tape == ["no tape"]
    ((load, original),) = found.plan.originals[0, 0, 1].items()
    assert (str(load), str(original)) == ("b = k[0]", "a = idx[j]")


@pytest.mark.parametrize(
    "before, after",
    [
        ("a = idx[j]\n          k[0] = a", "c = idx[j]\n          a = c * 2\n          k[0] = a"),  # no copy
        ("k[0] = a", "k[0] += a"),
        ("s[0] += v", "s[0] += v\n        do:\n          a = 0\n          idx[j] = a"),  # overwritten later
        ("        m :=", "        j := 3\n        m :="),  # the index is another one now
    ],
)
def test_declines(planned, before, after):
    assert before in BODY
    found = planned(BODY.replace(before, after))
    assert not found.plan.originals
    assert "tape_m" in found.tape[0]
