"""Threads: maps with little work become sequential."""

from dataclasses import replace

import dace
import pytest
from treetext import program

from sdgrad.config import config
from sdgrad.optimize.locality.threads import choose_threads, work
from sdgrad.program.tree import Leaf, walk

SEQUENTIAL, DEFAULT = dace.ScheduleType.Sequential, dace.ScheduleType.Default


@pytest.fixture(autouse=True)
def thresholds(monkeypatch):
    monkeypatch.setattr(config, "machine", replace(config.machine, parallel_instructions=1000, parallel_trips=16))


def schedules(source, symbols=""):
    found = choose_threads(program(source, symbols=symbols))
    return [n.schedule for n in walk(found.body) if isinstance(n, Leaf)]


def scaled(head):
    return f"""
        argument A: float64[100, 100]
        argument b: float64[n]
        body
          {head}:
            v = A[i, 0]
            w = 2.0 * v
            A[i, 1] = w
    """


def test_small_maps_are_sequential():
    assert schedules(scaled("map i=0:100")) == [SEQUENTIAL]  # 300 instructions


@pytest.mark.parametrize("head", ["map i=0:100, j=0:100", "do"], ids=["large", "no loop"])
def test_large_maps_keep_their_threads(head):
    assert schedules(scaled(head), "i") == [DEFAULT]


def test_maps_of_symbolic_size_keep_their_threads():
    source = """
        argument b: float64[n]
        body
          map i=0:n:
            x = 1.0
            b[i] = x
    """
    assert schedules(source) == [DEFAULT]


def in_a_loop(stop):
    return f"""
        argument A: float64[n, n]
        body
          loop k = 0 .. {stop} step 1:
            map i=0:k:
              x = 1.0
              A[k, i] = x
    """


@pytest.mark.parametrize(("stop", "found"), [("99", SEQUENTIAL), ("9999", DEFAULT)])
def test_bounds_in_a_loop_variable_count_at_their_largest(stop, found):
    assert schedules(in_a_loop(stop)) == [found]


def test_rows_of_a_sparse_matrix_count_by_their_mean():
    """4000 elements in 100 rows: 40 elements of a row, though their number is known at run time only."""
    source = """
        argument row: int64[101]
        argument value: float64[{}]
        argument y: float64[100]
        body
          loop k = 0 .. 99 step 1:
            first := a with a = row[k]
            last := a with a = row[k + 1]
            map j=0:last - first:
              v = value[first + j]
              y[k] += v
    """
    assert schedules(source.format(4000), "first last") == [SEQUENTIAL]
    assert schedules(source.format(4000000), "first last") == [DEFAULT]


def test_work_is_instructions_times_iterations():
    given = program(scaled("map i=0:100"))
    assert work(given.body[0], {}, given) == 300
