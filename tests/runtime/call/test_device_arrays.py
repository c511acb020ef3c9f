"""Calls with arrays in device memory, here of a class that stands for CuPy's."""

from types import SimpleNamespace

import dace
import numpy as np
import pytest
from dace import data as dt

from sdgrad.errors import ArgumentError
from sdgrad.runtime.call import device_arrays
from sdgrad.runtime.call.compiled_program import CompiledProgram, Slot
from sdgrad.runtime.call.device_arrays import dtype_of, is_resident, matching, placed, run, stand_in


class Resident(np.ndarray):
    """An array as CuPy's: ``get`` copies it to the host."""

    __module__ = "cupy"

    def get(self):
        return np.array(self)


def resident(*numbers):
    return np.array(numbers, np.float64).view(Resident)


class Memory:
    def array(self, value, dtype):
        return np.ascontiguousarray(value).view(Resident)

    def full(self, shape, dtype, value):
        return np.full(shape, np.nan if value is None else value, dtype).view(Resident)

    def copy(self, array):
        return array.copy()

    def address(self, array):
        return array.__array_interface__["data"][0]


class Library(SimpleNamespace):
    initial = ()

    def at(self, values):
        self.seen = values


def program(defined=False, shape=(2,)):
    descs = {n: dt.Array(dace.float64, shape) for n in "xy"}
    slots = [Slot.of("x", descs["x"], True, False), Slot.of("y", descs["y"], False, defined)]
    scale = dt.Scalar(dace.float64)
    library = Library(arguments={**descs, "s": scale})
    return CompiledProgram(frozenset(), library, (*slots, Slot.of("s", scale, False, False)))


def test_residence():
    assert is_resident(resident(1)) and not is_resident(np.ones(1)) and not is_resident(1.0)
    assert dtype_of(resident(1)) == np.float64 and dtype_of(1) == np.int64


def test_stand_ins_have_shape_and_dtype():
    found = stand_in(resident(1, 2))
    assert type(found) is np.ndarray and found.shape == (2,)
    assert stand_in(3) == 3


def test_arguments_of_a_program_on_a_cpu_are_not_placed():
    given = {"x": resident(1, 2)}
    assert placed(given) == (None, given)


def test_written_arguments_are_copied_and_others_allocated():
    x, called = resident(1, 2), program()
    found = run(called, {"x": x, "s": 2.0}, Memory())
    assert found["x"] is not x and found["x"].tolist() == [1, 2] and found["y"].tolist() == [0, 0]
    first, second, number = called.library.seen
    assert (first, second, number.value) == (*(Memory().address(found[n]) for n in "xy"), 2.0)


def test_in_place_calls_use_the_callers_memory():
    x, called = resident(1, 2), program(defined=True)
    found = run(called, {"x": x, "s": 2.0}, Memory(), inplace=True)
    assert Memory().address(found["x"]) == Memory().address(x) and np.isnan(found["y"]).all()


def test_shapes_are_checked():
    with pytest.raises(ArgumentError, match=r"'x': expected a float64 array of shape \(2,\), found .* \(3,\)"):
        run(program(), {"x": resident(1, 2, 3), "s": 2.0}, Memory())
    with pytest.raises(ArgumentError, match="sizes that are known"):
        run(program(shape=(dace.symbol("N"),)), {"x": resident(1), "s": 2.0}, Memory())


def test_cotangents_are_moved():
    assert type(matching(np.ones(2), resident(1, 2), "cotangent", Memory())) is Resident
    with pytest.raises(ArgumentError, match=r"cotangent: expected shape \(2,\)"):
        matching(np.ones(3), resident(1, 2), "cotangent", Memory())


def test_saved_values_are_copies():
    x = np.ones(2)
    found = device_arrays.saved(x)
    x[0] = 5
    assert found.tolist() == [1, 1] and device_arrays.saved(2) == 2
