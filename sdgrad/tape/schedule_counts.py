"""Estimate how many trips a loop with checkpoints runs, by its room, before the program runs.

``c(m, t)`` trips run backwards in ``m`` free units if none of them runs forwards more than ``t`` times. Either all of
them are taped, or the first one is, which leaves its tape, or the state at their start is kept. With that state, some
first trips run once to be passed, and again at most ``t - 1`` times::

    c(m, t) = max(m // tape, 1 + c(m - tape, t), k(m - state, t))       k: the state at the start is kept
    k(m, t) = max((m + state) // tape, k(m, t - 1) + c(m, t))

For states alone these are the binomial coefficients of Revolve (Griewank & Walther 2000). Of ``n`` trips at most
``c(m, t)`` run no more than ``t`` times, so that all run about ``t * n - c(m, 1) - .. - c(m, t - 1)`` times, with the
least ``t`` that reverses them: up to a twelfth less than the schedule's own count, by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from sdgrad.runtime.libraries.checkpoint_schedule import Disk


@lru_cache(maxsize=256)
def _reversible(trips: int, state: int, tape: int, room: int) -> np.ndarray:
    """Return ``c(room, 1)``, ``c(room, 2)``, .. up to the first one that is no less than the trips."""
    found, kept = [0], [0] * (room + 1)
    while found[-1] < trips and len(found) <= trips + 1:
        free = [0] * (room + 1)
        for m in range(room + 1):
            if m >= state:
                before = kept[m - state]  # k(m - state, t - 1), and from here k(m - state, t)
                kept_now = max(m // tape, before + free[m - state] if len(found) > 1 else 0)
                kept[m - state] = min(kept_now, trips)
            free[m] = max(m // tape, 1 + free[m - tape] if m >= tape else 0, kept[m - state] if m >= state else 0)
        found.append(free[room])
    return np.array(found[1:])


LARGEST_TABLE, SPLITS_TRIED = 1 << 17, 1 << 27
"""As in ``checkpoint_tables.cpp``: entries of a table, and splits tried to fill it."""


def table_bytes(trips: int, state: int, tape: int, room: int, mixed: bool = True) -> int:
    """Return the bytes of the table by which a schedule decides, with that for longer ranges.

    :param mixed: tapes may stay until their trips run backwards.
    """
    if state == 0 and room >= trips * tape:
        room = trips * tape
    most = trips
    while True:
        width = min(room, most * max(state, tape) + tape) + 1
        if most <= 16 or (most * most // 2 * width <= SPLITS_TRIED and most * width <= LARGEST_TABLE):
            break
        most -= max(1, most // 8)
    own = 16 * (most + 1) * width
    if most == trips or state == 0 or not mixed:
        return own
    longer = min(room, trips * tape)
    return own + 16 * (longer + 1) * (len(_reversible(trips, state, tape, longer)) + 2)


def runs(trips: int, state: int, tape: int, room: int, longest: int | None = None) -> float:
    """Estimate how many trips run forwards, those with a tape among them; infinite if they do not fit.

    :param state: units of a state.
    :param tape: units of the tape of one trip.
    :param room: units for all states and tapes.
    :param longest: trips of the longest range that is asked for with this room; None: only this one is.
    """
    if room >= trips * tape:
        return trips
    if state == 0:
        return 2 * trips - room // tape if room >= tape else np.inf
    if room < state + tape:
        return np.inf
    most = _reversible(longest or trips, state, tape, room)
    again = int(np.searchsorted(most, trips))
    return float((again + 1) * trips - most[:again].sum())


def runs_in_blocks(trips: int, disk: Disk, of_block: Callable[[int], float]) -> float:
    """Estimate how many trips run forwards where states at the start of blocks are on the disk.

    Blocks are passed as often as the trips of Revolve, and then run backwards one by one.

    :param of_block: how many trips run of so many alone.
    """
    if not disk.block:
        return of_block(trips)
    blocks = -(-trips // disk.block)
    passed = runs_of_states(blocks, disk.places) - blocks
    return disk.block * passed + (blocks - 1) * of_block(disk.block) + of_block(trips - (blocks - 1) * disk.block)


def divisions(trips: int, most: int) -> list[Disk]:
    """Return places on the disk, and blocks for them, that are worth trying.

    :param most: places on the disk.
    """
    counts = growing(1, min(trips - 1, most))
    return [Disk(places, block) for places in counts for block in growing(1, -(-trips // (places + 1)))]


def growing(least: int, most: int, by: float = 1.5) -> list[int]:
    """Return numbers from one to another, each some times the one before."""
    found = [least]
    while found[-1] < most:
        found.append(min(most, max(found[-1] + 1, int(found[-1] * by))))
    return found if least <= most else []


def runs_of_states(trips: int, places: int) -> int:
    """Count how many trips run forwards with the tape of one trip at a time (Griewank & Walther 2000, theorem 2.1).

    :param places: for states.
    """
    again, most = 0, 1
    while most < trips:
        again += 1
        most = most * (places + again) // again
    return trips + again * trips - (math.comb(places + again, again - 1) if again else 0)


def online_runs(trips: int, places: int, block: int) -> float:
    """Estimate how many trips run forwards in a loop that ends when it does, those with a tape among them.

    Blocks of trips are passed about as often as with Revolve, and taped once. The estimate is up to a fifth too low: a
    schedule that does not know the number of trips has one state less (Wang, Moin & Iaccarino 2009).

    :param places: for states.
    :param block: trips with a tape at a time.
    """
    blocks = -(-trips // block)
    if places == 1:
        return trips + block * blocks * (blocks + 1) / 2
    again, most = 1, places + 1
    while most < blocks:
        again += 1
        most = most * (places + again) // again
    return float(trips + block * max(blocks, again * blocks - math.comb(places + again, again - 1)))
