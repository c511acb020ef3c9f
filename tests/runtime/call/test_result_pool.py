"""The pool of large results: memory is used again when its array is garbage."""

import numpy as np
import pytest

from sdgrad.runtime.call import result_pool
from sdgrad.runtime.call.result_pool import LEAST, Spare, copy_of, free_memory, fresh

LARGE = LEAST // 8


@pytest.fixture(autouse=True)
def empty_pool():
    free_memory()
    yield
    free_memory()


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again():
    first = fresh((LARGE,), np.float64, False)
    place = address(first)
    del first
    assert address(fresh((LARGE // 2, 2), np.float64, False)) == place


def test_memory_in_use_is_not_shared():
    first = fresh((LARGE,), np.float64, False)
    view = first[1:]
    del first
    assert address(fresh((LARGE,), np.float64, False)) + 8 != address(view)


def test_zeros_are_zeros_in_used_memory():
    fresh((LARGE,), np.float64, False).fill(1.0)
    assert not fresh((LARGE,), np.float64, True).any()


def test_small_arrays_are_not_pooled():
    fresh((4,), np.float64, False)
    assert not result_pool._free


def test_a_full_pool_is_emptied(monkeypatch):
    monkeypatch.setattr(result_pool, "MOST", 2 * LEAST)
    first, second, third = (fresh((LARGE,), np.float64, False) for _ in range(3))
    del first, second
    assert len(result_pool._free[LEAST]) == 2
    del third
    assert len(result_pool._free[LEAST]) == 1


def test_memory_is_aligned_and_a_copy_is_a_copy():
    array = np.arange(float(LARGE))
    copy = copy_of(array)
    assert address(copy) % result_pool.ALIGNMENT == 0
    np.testing.assert_array_equal(copy, array)


def test_memory_of_an_owner_is_given_back_with_the_pool():
    spare = Spare()
    assert spare.take() is None
    memory = np.ones(3)
    spare.leave(memory)
    assert spare.take() is memory and spare.take() is None
    spare.leave(memory)
    free_memory()
    assert spare.take() is None
