"""Divide the memory for the states and the tapes that a loop with checkpoints keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST_UNITS = 16
"""Of a state or a tape: the table of a schedule grows with the units of the room."""


def rounded(size: int, multiple: int) -> int:
    """Round a size up to a multiple."""
    return -(-size // multiple) * multiple


@dataclass(frozen=True)
class Units:
    """How a room is divided: bytes of a unit, and units of a state and of a tape."""

    size: int
    state: int
    tape: int


def units_for(state: int, tape: int, aligned: int = 1) -> Units:
    """Divide states and tapes of some bytes into units that leave little of them unused.

    More units make the schedule's table longer: they have to save some memory.

    :param aligned: a unit is a multiple of this.
    """

    def waste(units: Units) -> float:
        used = units.state * units.size / state, units.tape * units.size / tape
        return used[0] * used[1] * 1.01 ** (units.state + units.tape)

    counts = [(p, q) for p in range(1, MOST_UNITS + 1) for q in range(1, MOST_UNITS + 1) if math.gcd(p, q) == 1]
    sizes = ((max(-(-state // p), -(-tape // q)), p, q) for p, q in counts)
    return min((Units(rounded(size, aligned), p, q) for size, p, q in sizes), key=waste)


@dataclass(frozen=True)
class Room:
    """The places for states, and for tapes of a trip, in arrays of their own, and what the schedule reckons with.

    States of no units have a place for each trip: all of them take less than one tape.
    """

    states: int
    tapes: int
    state_units: int
    tape_units: int
    units: int

    @staticmethod
    def of(trips: int, state: int, tape: int, most: int) -> Room:
        """Return the room for some bytes; at least that for one state and one tape.

        :param trips: of the loop.
        :param state: bytes of a state.
        :param tape: bytes of the tape of a trip.
        :param most: bytes of all.
        """
        if trips * state <= tape:
            tapes = max(1, min(trips, (most - trips * state) // tape))
            return Room(trips, tapes, 0, 1, tapes)
        found = units_for(state, tape)
        p, q = found.state, found.tape
        units = min(trips * q, int(most / (state / p + tape / q)))
        units = max(p + q, units)
        return Room(units // p, units // q, p, q, units)

    @staticmethod
    def of_states(states: int) -> Room:
        """Return the room for some states, and for the tape of one trip at a time, which takes more than half of it."""
        return Room(states, 1, 1, states + 1, 2 * states + 1)

    @staticmethod
    def of_open(states: int, tapes: int) -> Room:
        """Return the room of a loop that does not know its trips: its states and tapes never share memory."""
        return Room(states, tapes, 1, 1, states + tapes)
