"""Schedules of checkpoints: held against a simulation, the package ``checkpoint-schedules``, and closed forms."""

import ctypes

import checkpoint_schedules as reference
import numpy as np
import pytest
from compiled_header import loaded

from sdgrad.runtime.libraries.checkpoint_schedule import BEFORE_ITEMS, NO_DISK, PARTS, Disk, count_of_numbers
from sdgrad.tape.schedule_counts import divisions, runs_in_blocks, runs_of_states

SOURCE = """
#include "../native/checkpoint_tables.cpp"
extern "C" {
int64_t items(int64_t trips, int64_t state, int64_t room, int64_t block, int64_t places) {
    return sdgrad::schedule_items(trips, state, room, block, places);
}
int start(int64_t trips, int64_t state, int64_t tape, int64_t room, int64_t block, int64_t places, int mixed, int apart,
          int64_t *numbers) {
    try {
        sdgrad::start_schedule(trips, state, tape, room, apart, block, places, numbers, mixed);
    } catch (...) {
        return 0;
    }
    return 1;
}
void next(int64_t *numbers, int backwards) {
    reinterpret_cast<sdgrad::CheckpointSchedule *>(numbers)->next(backwards != 0);
}
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    found = loaded(SOURCE, tmp_path_factory.mktemp("schedules"))
    found.items.restype = ctypes.c_int64
    found.items.argtypes = [ctypes.c_int64] * 5
    address = np.ctypeslib.ndpointer(np.int64)
    found.start.argtypes = [*[ctypes.c_int64] * 6, *[ctypes.c_int] * 2, address]
    found.next.argtypes = [address, ctypes.c_int]
    return found


class Machine:
    """Run a schedule on a room, or on arrays of places, that know what is in them; count trips that run forwards."""

    def __init__(self, library, trips, state, tape, room, mixed=True, apart=False, disk=NO_DISK):
        self.library, self.state, self.tape, self.trips = library, state, tape, trips
        count = count_of_numbers(trips, state, room, disk)
        assert count == BEFORE_ITEMS + 4 * library.items(trips, state, room, disk.block, disk.places)
        self.numbers = np.full(count + 1, -7, np.int64)
        begun = library.start(trips, state, tape, room, disk.block, disk.places, mixed, apart, self.numbers)
        self.is_possible, self.disk = bool(begun), [None] * disk.places
        shared = [None] * room
        self.states = [None] * trips if state == 0 else [None] * (room // state) if apart else shared
        self.tapes = [None] * (room // tape) if apart else shared
        self.sizes = (1, 1) if apart else (state or 1, tape)
        self.at, self.left, self.ran = 0, trips, 0

    def put(self, array, place, size, what):
        assert place >= 0 and place + size <= len(array), "outside of the room"
        array[place : place + size] = [what] * size

    def has(self, array, place, size, what):
        assert place >= 0 and array[place : place + size] == [what] * size, f"no {what} at {place}"

    def states_at(self, place):
        """The array of a place for a state, the place in it, and its size: places of the disk are -2, -3, .."""
        return (self.disk, -2 - place, 1) if place <= -2 else (self.states, place, self.sizes[0])

    def part(self, backwards):
        self.library.next(self.numbers, backwards)
        now = dict(zip(PARTS, map(int, self.numbers), strict=False))
        tape = self.sizes[1]
        if now["restore"] != -1:
            self.at = now["first"]
            self.has(*self.states_at(now["restore"]), ("state", self.at))
        if now["save"] != -1:
            self.put(*self.states_at(now["save"]), ("state", self.at))
        assert now["first"] == self.at and now["first"] <= now["taped"] <= now["last"]
        self.ran += now["last"] - now["first"]
        for k in range(now["last"] - now["taped"]):
            self.put(self.tapes, (now["into"] + k) * tape + now["into_unit"], tape, ("tape", now["taped"] + k))
        self.at = now["last"]
        for trip in range(now["back"] - 1, now["until"] - 1, -1):
            assert trip == self.left - 1 and self.at == self.left
            place = (now["out_of"] + trip - now["until"]) * tape + now["out_of_unit"]
            self.has(self.tapes, place, tape, ("tape", trip))
            self.left -= 1
            self.at -= 1
        assert self.numbers[-1] == -7, "more items than counted"
        return now["left" if backwards else "ahead"]

    def forwards(self):
        while self.numbers[0]:
            assert self.part(0) in (0, 1)
        assert self.at == self.trips

    def backwards(self):
        while self.left:
            assert self.part(1) == (self.left > 0)

    def run(self):
        self.forwards()
        self.backwards()
        return self.ran


def counted(schedule, trips):
    """The trips that a schedule of the reference runs forwards."""
    ran = 0
    for action in schedule:
        if isinstance(action, reference.Forward):
            ran += min(action.n1, trips) - action.n0
        if isinstance(action, reference.EndForward):
            schedule.finalize(trips)
        if isinstance(action, reference.EndReverse):
            return ran


@pytest.mark.filterwarnings("ignore:Numba not available")
@pytest.mark.parametrize("trips, slots", [(1, 1), (2, 1), (7, 1), (10, 3), (64, 5), (100, 10), (100, 99), (200, 40)])
def test_least_counts(library, trips, slots):
    """A state in use where its trip is taped has a slot of the reference's, and none of ours."""
    mixed = counted(reference.MixedCheckpointSchedule(trips, slots, storage=reference.StorageType.RAM), trips)
    assert Machine(library, trips, 1, 1, slots + 1).run() == mixed
    if trips > 1:
        states = counted(reference.Revolve(trips, slots), trips)
        assert Machine(library, trips, 1, 1, slots + 1, mixed=False).run() == states


@pytest.mark.filterwarnings("ignore:Numba not available")
@pytest.mark.parametrize("trips, places", [(1, 1), (2, 1), (7, 1), (9, 3), (64, 5), (100, 10), (100, 99), (2000, 12)])
def test_one_tape_at_a_time(library, trips, places):
    """The counts of Revolve, where the tape takes more than half of the room and has one place."""
    machine = Machine(library, trips, 1, places + 1, 2 * places + 1, mixed=False, apart=True)
    assert len(machine.tapes) == 1
    ran = machine.run()
    if 1 < trips <= 100:
        assert ran == counted(reference.Revolve(trips, places), trips)
    assert ran == runs_of_states(trips, places)


@pytest.mark.parametrize("slots, wanted", [(5, 6.85), (10, 3.92), (20, 2.82), (40, 2.14), (60, 1.96)])
def test_a_thousand_trips(library, slots, wanted):
    assert Machine(library, 1000, 1, 1, slots + 1).run() / 1000 == pytest.approx(wanted, rel=5e-3)


def test_random_schedules(library):
    """Each trip runs backwards once, from its own tape; nothing is read that was not written; all within the room."""
    rng = np.random.default_rng(3)
    possible = 0
    for _ in range(10_000):
        trips, state, tape = (int(rng.integers(low, high)) for low, high in ((1, 40), (0, 4), (1, 4)))
        room = int(rng.integers(0, 60))
        mixed, apart = bool(rng.integers(2)), bool(state == 0 or rng.integers(2))
        machine = Machine(library, trips, state, tape, room, mixed, apart)
        assert machine.is_possible == (room >= tape + (state if trips > 1 else 0) or mixed and room >= trips * tape)
        if machine.is_possible:
            ran = machine.run()
            assert ran == trips if room >= trips * tape and mixed else ran >= trips
            possible += 1
    assert possible > 8_000


def test_random_schedules_with_states_on_the_disk(library):
    """As above; and blocks are passed as often as the trips of Revolve, each of them runs as it does alone."""
    rng = np.random.default_rng(4)
    for _ in range(3_000):
        trips, state, tape = (int(rng.integers(low, high)) for low, high in ((1, 60), (1, 4), (1, 4)))
        room, disk = int(rng.integers(state + tape, 60)), Disk(int(rng.integers(1, 12)), int(rng.integers(1, 41)))
        mixed, apart = (bool(rng.integers(2)) for _ in range(2))
        ran = Machine(library, trips, state, tape, room, mixed, apart, disk).run()
        blocks = -(-trips // disk.block)
        alone = runs_in_blocks(trips, disk, lambda n: Machine(library, n, state, tape, room, mixed).run())  # noqa: B023
        if trips % disk.block == 0 or disk.places >= blocks - 1:
            assert ran == alone
        else:  # the last block is shorter
            assert alone - (runs_of_states(blocks, disk.places) - blocks) * disk.block <= ran <= alone


@pytest.mark.parametrize("trips, ram, disk, at_most", [(300, 1, 3, 1.15), (300, 2, 10, 1.1), (300, 5, 30, 1.04)])
def test_close_to_h_revolve(trips, ram, disk, at_most):
    """Runs, and half a run for each state that is written to the disk or read, with the tape of one trip at a time."""
    cost = 0.0
    for action in reference.HRevolve(trips, ram, disk, wd=0.5, rd=0.5):
        if isinstance(action, reference.Forward):
            on_disk = action.write_ics and action.storage == reference.StorageType.DISK
            cost += action.n1 - action.n0 + 0.5 * on_disk
        if isinstance(action, reference.Copy | reference.Move):
            cost += 0.5 * (action.from_storage == reference.StorageType.DISK)
        if isinstance(action, reference.EndReverse):
            break
    found = min(
        runs_in_blocks(trips, d, lambda n: runs_of_states(n, ram)) + trips / d.block for d in divisions(trips, disk)
    )
    assert found <= at_most * cost


def test_a_copy_starts_again_where_the_first_one_was(library):
    machine = Machine(library, 30, 2, 1, 12)
    machine.forwards()
    again = Machine(library, 30, 2, 1, 12)
    again.numbers, again.at = machine.numbers.copy(), machine.at
    again.states = again.tapes = list(machine.states)
    machine.backwards()
    again.backwards()


@pytest.mark.parametrize("trips, at_most", [(10_000, 4), (100_000, 5)])
def test_many_trips(library, trips, at_most):
    """Ranges that the table does not have are split as Revolve splits them: counts grow with the logarithm."""
    machine = Machine(library, trips, 1, 1, 40)
    assert machine.run() / trips < at_most


@pytest.mark.parametrize("room", [300, 30_000, 100_000])
def test_much_room(library, room):
    """More than a table has, up to enough for all tapes: less runs again than without it."""
    ran = Machine(library, 30_000, 1, 1, room).run() / 30_000
    assert ran == 1 if room >= 30_000 else ran < 2.0


def test_less_than_a_state_and_a_tape(library):
    assert not Machine(library, 5, 3, 2, 4).is_possible
    assert Machine(library, 5, 3, 2, 5, mixed=False).run() == 15
    assert Machine(library, 5, 3, 2, 5).run() == 14  # the room of the last state takes a second tape
    assert Machine(library, 0, 3, 2, 4).run() == 0


@pytest.mark.parametrize("trips", [1, 30, 20_000])
def test_states_that_take_no_room(library, trips):
    """Each trip but those with a tape of the first time runs twice."""
    assert Machine(library, trips, 0, 1, 3, apart=True).run() == 2 * trips - min(3, trips)
