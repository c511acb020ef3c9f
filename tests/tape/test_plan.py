"""Checkpoints and entries of a plan, as data."""

import pytest
import sympy
from treetext import expression

from sdgrad.program.tree import Param
from sdgrad.tape.plan import Checkpoint, Level


def levels(*sizes: tuple[int, int]) -> tuple[Level, ...]:
    return tuple(Level(f"seg_{k}", length, count, ()) for k, (length, count) in enumerate(sizes))


def loop(start: int, stop: int, step: int = 1) -> Param:
    return Param("t", *map(sympy.Integer, (start, stop, step)))


@pytest.mark.parametrize(
    "trips, sizes, first, last",
    [
        (loop(0, 19), [(5, 4)], "5*seg_0", "5*seg_0 + 4"),
        (loop(3, 22), [(5, 4)], "5*seg_0 + 3", "5*seg_0 + 7"),
        (loop(19, 0, -1), [(5, 4)], "19 - 5*seg_0", "15 - 5*seg_0"),
        (loop(0, 19), [(10, 2), (5, 2)], "10*seg_0 + 5*seg_1", "10*seg_0 + 5*seg_1 + 4"),
    ],
)
def test_segments(trips, sizes, first, last):
    found = Checkpoint(trips, levels(*sizes), ())
    assert found.first(len(sizes)) == expression(first)
    assert found.last(len(sizes)) == expression(last)


def test_the_last_segment_may_be_shorter():
    found = Checkpoint(loop(0, 17), levels((5, 4)), ())
    assert found.last(1) == sympy.Min(expression("5*seg_0 + 4"), 17)


def test_the_place_in_a_segment():
    assert Checkpoint(loop(3, 22), levels((5, 4)), ()).place == expression("t - 5*seg_0 - 3")


def test_an_entry_is_kept_and_loaded_back(planned):
    found = planned("""
      map i=0:8:
        v = x[i]
        u = sin(v)
        x[i] = u
      map i=0:8:
        v = x[i]
        s[0] += v
    """)
    (kept,) = found.plan.all_kept()
    assert str(kept.back()) == "v = tape_x[i]"
    assert str(kept.store) == "tape_x[i] = v"
    assert kept.leaf.loads == (kept.load,)
