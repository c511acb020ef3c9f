"""Each communication on two and on three ranks: both modes agree with each other and with differences, twice."""

import pytest

from tests.distributed.ranks import run

LIMITS = {
    "value": 1e-12,
    "modes": 1e-13,
    "differences": 1e-7,
    "second modes": 1e-13,
    "second differences": 1e-3,
}
TWICE = (
    *("messages_with_tags", "messages_out_of_order", "whoever_sends", "ring", "halo", "halo_that_is_computed_again"),
    *("checks_in_what_is_computed_again", "overlap", "broadcasts", "sums", "extremes", "products"),
    *("products_of_complex_numbers", "scatters_and_gathers", "parts_of_several_lengths", "gathers_for_all"),
    *("transposes", "sums_over_the_ranks_before", "results_in_place_of_buffers", "some_of_the_ranks"),
    *("loop_until_all_agree", "loop_that_never_runs", "a_value_that_one_rank_only_has"),
)
ONCE = ("messages_out_of_order", "whoever_sends", "halo", "extremes", "products", "parts_of_several_lengths")
SCANS = "sums_over_the_ranks_before"


@pytest.fixture(scope="module")
def two():
    return run("tests.distributed.cases", 2, "--second")


@pytest.fixture(scope="module")
def three():
    return run("tests.distributed.cases", 3, *ONCE)


@pytest.fixture(scope="module")
def scans():
    return {ranks: run("tests.distributed.cases", ranks, SCANS, "--second") for ranks in (3, 4)}


@pytest.mark.parametrize("name", TWICE)
def test_on_two_ranks(two, name):
    assert {k: v for k, v in two[name].items() if not v <= LIMITS[k]} == {}


@pytest.mark.parametrize("name", ONCE)
def test_on_three_ranks(three, name):
    assert {k: v for k, v in three[name].items() if not v <= LIMITS[k]} == {}


@pytest.mark.parametrize("ranks", [3, 4])
def test_sums_over_the_ranks_before(scans, ranks):
    assert {k: v for k, v in scans[ranks][SCANS].items() if not v <= LIMITS[k]} == {}


def test_no_case_is_left_out(two):
    assert set(two) == set(TWICE)
