"""Leaves that run again before the adjoint that needs their results."""

import pytest
from treetext import block

from sdgrad.program.tree import lines

BODY = """
      loop j = 0 .. 7 step 1:
        map i=0:8:
          v = w[i]
          u = v + j
          t[i] = u
        map i=0:8:
          v = x[i]
          a = t[i]
          u = v * a
          s[0] += u
"""


def test_a_temporary_is_computed_again(planned):
    found = planned(BODY)
    assert found.tape == ["no tape"]
    (leaf,) = found.plan.reruns[0, 0, 1]
    assert "\n".join(lines(leaf)) == block("""
        map i=0:8:
          v = w[i]
          u = v + j
          t[i] = u
    """)


@pytest.mark.parametrize(
    "before, after",
    [
        ("u = v + j\n          t[i] = u", "u = v + j\n          t[i] += u"),  # not defined anew
        ("map i=0:8:\n          v = w[i]", "map i=0:7:\n          v = w[i]"),  # not all that is read
        ("s[0] += u", "s[0] += u\n        map i=0:8:\n          v = 0.5\n          w[i] = v"),  # operand overwritten
    ],
)
def test_declines(planned, before, after):
    assert before in BODY
    assert not planned(BODY.replace(before, after)).plan.reruns


def test_switched_off(planned):
    found = planned(BODY, rerun=False)
    assert not found.plan.reruns
    assert found.tape == ["tape_t[j, i] keeps a = t[i]"]
