"""Watch for zeros of functions along an integration, and move them with what they depend on."""

from __future__ import annotations

import numpy as np

from sdgrad.program.custom_rule import custom_jvp, custom_vjp
from sdgrad.solvers.algorithms.newton import between

NONE = 2.0  # the part of a step where no zero is


def look(events, interpolant, value, t, y, h, new, end, table, counts, stop):
    """Find the zeros within a step, up to the first that ends the integration, and write them down.

    :param events: functions of the time and the state, which sign of their slopes counts (0: both), and which of their
        zeros ends the integration (0: none).
    :param value: the polynomial of the step, from its coefficients and a time.
    :param table: the times of zeros, a row for each function; ``counts`` are how many there are.
    :param stop: whether the integration ends, and when.
    """
    step = (interpolant, value, t, y, h, new, end)
    found = [part_until_zero(function, direction, *step) for function, direction, _ in events]
    first = NONE
    for row, (_, _, last) in enumerate(events):
        if last:
            first = np.minimum(first, np.where(counts[row] + 1 >= last, found[row], NONE))
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


@custom_jvp
@custom_vjp
def if_there(value, is_there):
    """Return values where there are some, and else NaN: with derivatives that are NaN, which zeros would hide."""
    return np.where(is_there, value, np.nan)


@if_there.defvjp
def _if_there_cotangent(is_there, grad_out):
    return np.where(is_there, grad_out, np.where(grad_out == 0.0, 0.0, np.nan))


@if_there.defjvp
def _if_there_tangent(is_there, tangent_value):
    return np.where(is_there, tangent_value, np.nan)
