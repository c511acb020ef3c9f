"""Schedules of loops with any number of trips: held against a simulation and the least number of repetitions."""

import ctypes
import math

import numpy as np
import pytest
from compiled_header import loaded

from sdgrad.runtime.libraries.checkpoint_schedule import PARTS, count_of_online_numbers
from sdgrad.tape.schedule_counts import online_runs

SOURCE = """
#include "sdgrad_online_schedule.h"
#include "../native/checkpoint_tables.cpp"
using Online = sdgrad::OnlineSchedule;
extern "C" {
void start(int64_t places, int64_t block, int disk, int64_t *n) {
    sdgrad::start_online_schedule(places, block, disk, n);
}
void trip(int64_t *n) { reinterpret_cast<Online *>(n)->trip(); }
void end(int64_t *n) { reinterpret_cast<Online *>(n)->end(); }
void next(int64_t *n) { reinterpret_cast<Online *>(n)->next(); }
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    found = loaded(SOURCE, tmp_path_factory.mktemp("online_schedules"))
    address = np.ctypeslib.ndpointer(np.int64)
    found.start.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_int, address]
    found.trip.argtypes = found.end.argtypes = found.next.argtypes = [address]
    return found


class Machine:
    """Run a schedule on arrays of places that know what is in them; count how often each trip runs forwards."""

    def __init__(self, library, trips, places, block):
        self.library, self.trips, self.block = library, trips, block
        self.numbers = np.full(count_of_online_numbers(places) + 1, -7, np.int64)
        library.start(places, block, 0, self.numbers)
        self.states, self.tapes = [None] * places, [None] * block
        self.ran = np.zeros(trips, int)

    def number(self, part):
        return int(self.numbers[PARTS.index(part)])

    def forwards(self):
        for trip in range(self.trips):
            self.library.trip(self.numbers)
            if self.number("save") >= 0:
                self.states[self.number("save")] = trip
            self.ran[trip] += 1
        self.library.end(self.numbers)

    def backwards(self):
        at, left = self.trips, self.trips
        while self.number("left"):
            self.library.next(self.numbers)
            now = dict(zip(PARTS, map(int, self.numbers), strict=False))
            if now["restore"] >= 0:
                at = self.states[now["restore"]]
            assert at == now["first"] <= now["taped"] <= now["last"] <= left
            if now["save"] >= 0:
                self.states[now["save"]] = at
            self.ran[at : now["last"]] += 1
            for k in range(now["last"] - now["taped"]):
                self.tapes[now["into"] + k] = now["taped"] + k
            at = now["last"]
            for trip in range(now["back"] - 1, now["until"] - 1, -1):
                assert trip == left - 1 == self.tapes[now["out_of"] + trip - now["until"]]
                left, at = left - 1, None
            assert now["into_unit"] == now["out_of_unit"] == 0
        assert left == 0
        assert self.numbers[-1] == -7, "more states than there are places"

    def run(self):
        self.forwards()
        self.backwards()
        return self.ran


def most(places, again):
    """Blocks that are passed no more often than that: one place has the state of the block at hand (Wang et al.)."""
    return math.comb(places - 1 + again, again)


def test_random_schedules(library):
    """Each trip runs backwards once, from its own tape; nothing is read that was not kept; all within the places."""
    rng = np.random.default_rng(5)
    for _ in range(5_000):
        trips, places, block = (int(rng.integers(low, high)) for low, high in ((0, 60), (1, 12), (1, 7)))
        ran = Machine(library, trips, places, block).run()
        assert trips == 0 or ran.min() >= 2


@pytest.mark.parametrize("places", [2, 3, 5, 12])
def test_no_block_runs_more_often_than_it_has_to(library, places):
    """Each is passed as often as that number of blocks asks for, and runs once more with a tape."""
    for trips in range(1, min(300, most(places, 4))):
        again = next(t for t in range(trips + 1) if most(places, t) >= trips)
        assert Machine(library, trips, places, 1).run().max() <= max(1, again) + 1


def test_estimates(library):
    for trips, places, block in [(50, 7, 9), (1000, 20, 5), (1000, 40, 1), (1000, 5, 1), (3000, 40, 1), (777, 3, 30)]:
        ran = Machine(library, trips, places, block).run().sum()
        assert online_runs(trips, places, block) == pytest.approx(ran, rel=0.2)


def test_one_place(library):
    """Only the state before the first trip is kept: the number of runs is a square."""
    assert Machine(library, 10, 1, 1).run().sum() == 10 + sum(range(1, 11))
