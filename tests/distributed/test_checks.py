"""All ranks check a derivative together: right ones pass on all, of wrong ones all say where."""

import re

import pytest

from tests.distributed.ranks import run

TOLD = {
    "right": "passed",
    "a nest": "passed",
    "dot product": "passed",
    "Taylor": "passed",
    "wrong": "GradientCheckError: .* with respect to 'x' is wrong at random direction of rank 1",
    "wrong dot product": "GradientCheckError: <v, J u> = .* by central difference",
    "wrong Taylor": "GradientCheckError: the remainder of wrong_on_rank_1 shrinks",
    "other arguments": "ValueError",
    "alone": "ArgumentError",
}


@pytest.fixture(scope="module")
def told():
    return run("tests.distributed.checks", 2)


@pytest.mark.parametrize("name", TOLD)
def test_all_ranks_say_the_same(told, name):
    first, second = told[name]["told"]
    assert first == second
    assert re.match(TOLD[name], first), first
