"""Bytes of tapes."""

import pytest
from treetext import program

from sdgrad.config import config
from sdgrad.tape.cost_model import bytes_in, bytes_of, guess, worth_rerunning, worth_undoing

LOOP = """
      loop j = 0 .. 9 step 1:
        map i=0:8:
          v = x[i]
          u = sin(v)
          x[i] = u
      map i=0:8:
        v = x[i]
        u = sin(v)
        s[0] += u
      map i=0:8:
        v = 0.0
        x[i] = v
"""


def test_bytes_of_a_plan(planned):
    found = planned(LOOP, rerun=False)
    assert bytes_of(found.plan, found.program) == 8 * (10 * 8 + 8)
    assert bytes_in((0,), found.plan) == 8 * 10 * 8
    assert bytes_in((2,), found.plan) == 0


def test_symbols_are_guessed():
    containers = program("    local a: float32[n, 2]\n    body\n").containers
    assert guess(containers["a"]) == 4 * 2 * config.machine.unknown_size


def test_single_numbers_are_not_worth_undoing():
    of = program("    local a: float64[1]\n    local b: float64[8]\n    body\n")
    assert not worth_undoing("a", of) and worth_undoing("b", of)


@pytest.mark.parametrize("terms, answer", [(2, True), (100_000, False)])
def test_long_sums_do_not_run_again(terms, answer):
    of = program(f"""
    argument A: float64[8]
    local b: float64[8]
    body
      map i=0:8, j=0:{terms}:
        v = A[i]
        b[i] += v (fresh)
      map i=0:8:
        v = A[i]
        b[i] = v
    """)
    assert worth_rerunning(of.body[0]) is answer
    assert worth_rerunning(of.body[1])
