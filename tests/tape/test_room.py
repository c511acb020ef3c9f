"""The memory for states and tapes: little of it unused, and within the bytes that are given."""

import pytest

from sdgrad.tape.room import MOST_UNITS, Room, units_for


@pytest.mark.parametrize("state", [64, 1000, 80_000, 10**9])
def test_units_waste_little(state):
    for ratio in (0.01, 0.3, 1.0, 1.7, 5.0, 11.5, 400.0):
        tape = max(1, int(ratio * state))
        units = units_for(state, tape, 64)
        assert units.size % 64 == 0 and max(units.state, units.tape) <= MOST_UNITS
        assert units.state * units.size >= state and units.tape * units.size >= tape
        if state >= 80_000 and 0.1 < ratio < 10:
            assert units.state * units.size <= 1.13 * state and units.tape * units.size <= 1.13 * tape


@pytest.mark.parametrize("state, tape", [(8, 8), (800, 100), (100, 800), (1000, 3700), (8, 10**7), (10**7, 8)])
@pytest.mark.parametrize("trips", [16, 1000, 100_000])
def test_rooms_keep_to_their_bytes(state, tape, trips):
    for most in (0, state + tape, 10 * (state + tape), 10**8, 10**13):
        room = Room.of(trips, state, tape, most)
        least = MOST_UNITS * (state + tape)  # a state and a tape, of many units each
        assert room.states * state + room.tapes * tape <= max(most, least, trips * state + tape)
        assert 1 <= room.states <= max(trips, room.units) and 1 <= room.tapes <= trips + MOST_UNITS
        if most >= 10**13:
            assert room.tapes >= trips
    assert (Room.of(trips, 8, 10**7, 10**8).state_units == 0) == (trips * 8 <= 10**7)
