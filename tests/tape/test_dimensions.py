"""Dimensions of tapes: loops, counters, ranges from data."""

import pytest

import sdgrad

SINES = """
          v = x[i]
          u = sin(v)
          x[i] = u
"""
SUM = """
      map i=0:8:
        v = x[i]
        s[0] += v
"""


def nest(bounds: str, head: str = "map i=0:8") -> str:
    return f"      loop j = {bounds}:\n        {head}:{SINES}" + SUM


def shape(found) -> list[str]:
    (tape,) = found.plan.tape_containers
    return [str(n) for n in tape.shape]


@pytest.mark.parametrize(
    "bounds, extent, index",
    [
        ("0 .. 9 step 1", "10", "j"),
        ("2 .. 9 step 1", "8", "j - 2"),
        ("9 .. 2 step -1", "8", "j - 2"),
        ("0 .. 9 step 2", "5", "int_floor(j, 2)"),
    ],
)
def test_a_loop_counts_from_its_first_iteration(planned, bounds, extent, index):
    found = planned(nest(bounds), rerun=False)
    assert shape(found) == [extent, "8"]
    assert found.tape == [f"tape_x[{index}, i] keeps v = x[i]"]


def test_a_loop_without_a_known_count_gets_a_counter(planned):
    found = planned(nest("0 ... step 1 while r > 0.5 with r = w[0]"), rerun=False)
    assert found.tape == ["tape_x[count_j, i] keeps v = x[i]"]
    assert shape(found) == ["total_j", "8"]


def test_a_triangle_has_a_rectangle(planned):
    found = planned(nest("0 .. 7 step 1", "map i=j:8"), rerun=False)
    assert shape(found) == ["8", "8"]


def test_a_range_from_data_is_that_of_an_array(planned):
    found = planned("""
      scope i=0:8:
        local a: float64[8]
        m := b with b = n[i]
        map j=0:m:
          v = x[j]
          u = sin(v)
          a[j] = u
        map j=0:m:
          v = a[j]
          s[0] += v
      map i=0:8:
        v = 0.0
        x[i] = v
    """)
    assert found.tape == ["tape_x[i, j] keeps v = x[j]"]
    assert shape(found) == ["8", "8"]


def test_without_an_array_there_is_no_bound(planned):
    with pytest.raises(sdgrad.DifferentiationError, match="what to keep has no bound"):
        planned("""
      scope i=0:8:
        m := b with b = n[i]
        map j=0:m:
          v = x[2 * j]
          y = sin(v)
          s[0] += y
      map i=0:8:
        v = 0.0
        x[i] = v
    """)
