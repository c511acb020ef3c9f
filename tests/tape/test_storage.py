"""Entries of the tape: copies before the leaf, in the leaf, and of boxes of elements."""

import pytest
from treetext import program

from sdgrad.tape.storage import varying


def shape(found) -> list[str]:
    (tape,) = found.plan.tape_containers
    return [str(n) for n in tape.shape]


@pytest.mark.parametrize(
    "index, params, inline",
    [
        ("i, j", "i=0:8 j=0:8", False),
        ("j, i", "j=0:8 i=0:8", False),  # in the order of the container's dimensions
        ("i, 0", "i=0:8", False),
        ("i, q", "i=0:8 j=0:8", True),  # only the leaf knows the index
    ],
)
def test_varying(index, params, inline):
    (leaf,) = program(f"""
    argument A: float64[8, 8]
    argument idx: int64[8]
    local b: float64[8, 8]
    body
      map i=0:8, j=0:8:
        q = idx[j]
        v = A[{index}]
        b[i, j] = v
    """).body
    own, inside = varying(leaf.loads[1], leaf)
    assert (" ".join(map(str, own)), inside) == (params, inline)


def test_loops_in_which_the_value_is_invariant_give_no_dimension(planned):
    found = planned("""
      loop j = 0 .. 9 step 1:
        map i=0:8:
          v = x[i]
          u = sin(v)
          s[0] += u
      map i=0:8:
        v = 0.0
        x[i] = v
    """)
    assert found.tape == ["tape_x[i] keeps v = x[i]"]


def test_elements_instead_of_instances(planned):
    """Sixteen instances read seven elements."""
    found = planned("""
      map i=0:4, j=0:4:
        v = x[i + j]
        u = sin(v)
        s[0] += u
      map i=0:8:
        v = 0.0
        x[i] = v
    """)
    assert shape(found) == ["7"]
    assert found.tape == ["tape_x[i + j] keeps v = x[i + j]"]


def test_a_box_of_unknown_size_is_not_kept(planned):
    """Each instance keeps its own element."""
    found = planned("""
      map i=0:4, j=0:m:
        v = x[i + j]
        u = sin(v)
        s[0] += u
      map i=0:8:
        v = 0.0
        x[i] = v
    """)
    assert shape(found) == ["4", "Max(0, m)"]


def test_a_subscript_that_the_leaf_computes_from_a_loop_gives_a_dimension(planned):
    found = planned("""
      loop j = 0 .. 7 step 1:
        do:
          k = 7 - j
          v = x[k]
          u = sin(v)
          s[0] += u
      map i=0:8:
        v = 0.0
        x[i] = v
    """)
    assert shape(found) == ["8"] and found.tape[0].startswith(("tape_x[j]", "tape_v[j]", "tape_x[7 - j]"))
