"""Checkpoints and entries of a plan, as data."""

import dace
import pytest
import sympy
from treetext import expression

from sdgrad.program.descriptors import dense
from sdgrad.program.tree import Container, Param
from sdgrad.symbolic.expr import sym
from sdgrad.tape.plan import Checkpoint
from sdgrad.tape.room import Room


def loop(start: int, stop: int, step: int = 1) -> Param:
    return Param("t", *map(sympy.Integer, (start, stop, step)))


def scheduled(trips: Param) -> Checkpoint:
    numbers = Container("schedule", dense(dace.int64, [sympy.Integer(60)], True))
    return Checkpoint(trips, Room.of(20, 8, 8, 80), (), (), numbers, {}, "base", "unit")


@pytest.mark.parametrize(
    "trips, at, place",
    [
        (loop(0, 19), "k", "base + t"),
        (loop(3, 22), "k + 3", "base + t - 3"),
        (loop(19, 0, -1), "19 - k", "base - t + 19"),
    ],
)
def test_places_of_trips(trips, at, place):
    found = scheduled(trips)
    assert found.at(sym("k")) == expression(at)
    assert found.place == expression(place)
    assert str(found) == "checkpoints of  along t: room for 5 states and 5 tapes of 20 trips"


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
