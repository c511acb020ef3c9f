"""Arguments of a call: checked, copied if the program writes them, allocated if they are not given."""

from types import SimpleNamespace

import dace
import numpy as np
import pytest
from dace import data as dt

from sdgrad.errors import ArgumentError
from sdgrad.runtime.call.compiled_program import CompiledProgram, Slot

N = dace.symbol("N")


class Recorded(SimpleNamespace):
    """A library that adds one to ``y`` and records what it is called with."""

    def __call__(self, values):
        self.seen = dict(values)
        values["y"] += 1


def program(shape=(3,), defined=False, symbols=(), spelled=()):
    x = Slot.of("x", dt.Array(dace.float64, shape), False, False)
    y = Slot.of("y", dt.Array(dace.float64, shape), True, defined)
    return CompiledProgram(frozenset(symbols), Recorded(), (x, y), dict(spelled))


def test_slots_know_their_shapes():
    assert Slot.of("x", dt.Array(dace.float32, [2, 3]), False, False).shape == (2, 3)
    assert Slot.of("x", dt.Array(dace.float32, [N]), False, False).shape is None


def test_written_arguments_are_copied_unless_in_place():
    called, y = program(), np.zeros(3)
    x = np.ones(3)
    found = called({"x": x, "y": y})
    assert found["x"] is x and found["y"].tolist() == [1, 1, 1] and not y.any()
    assert called({"x": x, "y": y}, inplace=True)["y"] is y and y.tolist() == [1, 1, 1]


def test_other_arrays_are_allocated():
    assert program()({"x": np.ones(3)})["y"].tolist() == [1, 1, 1]


def test_symbols_come_from_shapes():
    called = program(shape=(N,), symbols=["N"])
    assert called({"x": np.ones(4)})["y"].shape == (4,)
    assert called.library.seen["N"] == 4


def test_reserved_names_are_spelled():
    called = program(spelled={"x": "x_"})
    found = called({"x": np.ones(3)})
    assert set(found) == {"x", "y"} and set(called.library.seen) == {"x_", "y"}


def test_wrong_shapes_are_refused():
    with pytest.raises(ArgumentError, match="'x': expected shape"):
        program()({"x": np.ones(4)})
