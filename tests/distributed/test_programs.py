"""Programs for several ranks have the gradients of the same programs for one."""

import pytest

from tests.distributed.ranks import run

NAMES = ("heat", "shallow_water", "summa", "conjugate_gradients", "training", "estimation")


@pytest.fixture(scope="module")
def two():
    return run("tests.distributed.programs", 2)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_is_that_of_one_rank(two, name):
    assert {k: v for k, v in two[name].items() if not v <= 1e-12} == {}


def test_no_program_is_left_out(two):
    assert set(two) == set(NAMES)
