"""Watch for zeros of functions along an integration, and move them with what they depend on."""

from __future__ import annotations

import numpy as np

from sdgrad.solvers.algorithms.newton import between

NONE = 2.0  # the part of a step where no zero is


def look(events, interpolant, value, t, y, h, new, end, table, counts, stop):
    """Find the zeros within a step, up to the first that ends the integration, and write them down.

    :param events: functions of the time and the state, which sign of their slopes counts (0: both), and whether they
        end the integration.
    :param value: the polynomial of the step, from its coefficients and a time.
    :param table: the times of zeros, a row for each function; ``counts`` are how many there are.
    :param stop: whether the integration ends, and when.
    """
    step = (interpolant, value, t, y, h, new, end)
    found = [part_until_zero(function, direction, *step) for function, direction, _ in events]
    first = NONE
    for at, (_, _, ends) in zip(found, events, strict=True):
        if ends:
            first = np.minimum(first, at)
    for row, at in enumerate(found):
        if (at <= 1.0) & (at <= first):
            if counts[row] < table.shape[1]:
                table[row, counts[row]] = t + at * h
            counts[row] += 1
    if first <= 1.0:
        stop[0] = 1.0
        stop[1] = t + first * h


def part_until_zero(function, direction, interpolant, value, t, y, h, new, end):
    """Return at which part of a step a function is zero."""
    at = NONE
    if crosses(function(t, y), function(new, end), direction):
        coefficients = interpolant()
        at = between(lambda x: function(t + x * h, value(coefficients, t + x * h)), 0.0, 1.0, 1e-15, 200)[0]
    return at


def crosses(before, after, direction):
    """True if a function changes its sign from one end of a step to the other, in the direction that counts."""
    up, down = (before <= 0.0) & (after >= 0.0), (before >= 0.0) & (after <= 0.0)
    if direction > 0:
        return up
    return down if direction < 0 else up | down


def follow(moved, times, states, found_times, found_states):
    """Write where each zero is, as a function of what it depends on, and the state there."""
    for q in range(times.shape[0]):
        found_times[q], found_states[q] = moved(times[q], states[q])
    return found_times, found_states
