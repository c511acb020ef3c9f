"""Integrate initial value problems with steps that keep the error within a tolerance, and write down the steps."""

from __future__ import annotations

import numpy as np

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0  # factors between one step and the next


def first_step(slope, norm, t, y, f, t1, direction, longest, order, rtol, atol):
    """Return the length of a first step (Hairer, Nørsett and Wanner 1993, II.4), as SciPy chooses it."""
    span = np.abs(t1 - t)
    scale = atol + np.abs(y) * rtol
    d0, d1 = norm(y / scale), norm(f / scale)
    h0 = np.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / np.where(d1 == 0.0, 1.0, d1))
    h0 = np.minimum(h0, span)
    there = slope(t + h0 * direction, y + h0 * direction * f)
    d2 = norm((there - f) / scale) / np.where(h0 == 0.0, 1.0, h0)
    largest = np.maximum(d1, d2)
    h1 = (0.01 / np.where(largest == 0.0, 1.0, largest)) ** (1.0 / (order + 1))
    h1 = np.where((d1 <= 1e-15) & (d2 <= 1e-15), np.maximum(1e-6, h0 * 1e-3), h1)
    return np.minimum(np.minimum(100.0 * h0, h1), np.minimum(span, longest))


def integrate(take, emit, goes_on, t, y, f, t1, direction, size, longest, order, times, saved, written):
    """Integrate from ``t`` to ``t1``.

    :param take: takes a step: ``take(t, y, f, h)`` is where it ends, the slope there, and its error.
    :param emit: writes what is asked for within a step, from the number of those written, and returns that number.
    :param goes_on: false where the integration ends before ``t1``.
    :param times: where the steps begin and end, of as many as there may be; ``written`` are the results before each.
    :param saved: states where every ``every``-th step begins.
    :returns: the last state, the number of steps, ``every``, and whether ``t1`` is reached.
    """
    count, every, done = 0, 1, 0
    times[0] = t
    going = t != t1
    rejected = t1 != t1
    while going and count < times.shape[0] - 1:
        least = 2e-15 * np.abs(t) + 1e-300
        wanted = np.where(rejected, size, np.minimum(np.maximum(size, least), longest))
        new = t + wanted * direction
        new = np.where(direction * (new - t1) > 0.0, t1, new)
        h = new - t
        end, slopes, wrong = take(t, y, f, h)
        accepted = wrong < 1.0
        failed = ~(wanted >= least)
        size = np.abs(h) * growth(wrong, rejected, order)
        rejected = ~accepted
        going = ~failed
        if accepted & ~failed:
            every = save(saved, y, count, every)
            written[count] = done
            done = emit(t, y, h, new, end, slopes, done)
            t, y, f = new, end, slopes[-1]
            count += 1
            times[count] = t
            going = (t != t1) & goes_on()
    written[count] = done
    return y, count, every, t == t1


def growth(wrong, rejected, order):
    """Return how much longer the next step is, after one with such an error."""
    factor = np.fmax(LEAST, SAFETY * np.where(wrong == 0.0, 1e-30, wrong) ** (-1.0 / (order + 1)))
    return np.where(rejected, np.minimum(factor, 1.0), np.minimum(factor, MOST))


def save(saved, y, count, every):
    """Save a state if it is one of every ``every``-th. Where there is no room, every other one goes."""
    if count == saved.shape[0] * every:
        for k in range(saved.shape[0] // 2):
            saved[k] = saved[2 * k]
        every = 2 * every
    if count % every == 0:
        saved[count // every] = y
    return every


def emit_within(interpolant, value, at, out, direction, new, done):
    """Write the results up to where a step ends, and return how many are written by then."""
    if direction * (at[done] - new) <= 0.0 if done < at.shape[0] else False:
        coefficients = interpolant()
        while direction * (at[done] - new) <= 0.0 if done < at.shape[0] else False:
            out[done] = value(coefficients, at[done])
            done += 1
    return done


def walk_back(again, pull, state, count, every, saved, states):
    """Walk through the steps in reverse, from states that were saved before every ``every``-th of them.

    :param again: takes step ``k`` from its state again.
    :param pull: takes the cotangents through step ``k``, from its state to the one before.
    :param states: room for the states between two that were saved.
    """
    segments = (count + every - 1) // every
    for s in range(segments):
        low = (segments - 1 - s) * every
        high = np.minimum(low + every, count)
        y = saved[segments - 1 - s]
        for k in range(low, high - 1):
            states[k - low] = y
            y = again(k, y)
        states[high - 1 - low] = y
        for j in range(high - low):
            k = high - 1 - j
            state = pull(k, states[k - low], state)
    return state


def walk_intervals(pull, state, count):
    """Walk through the intervals before each of some times in reverse."""
    for k in range(count):
        state = pull(count - 1 - k, state)
    return state


def pull_results(pull_one, written, k, sums):
    """Take the cotangents of the results within step ``k`` to those of its polynomial."""
    for q in range(written[k], written[k + 1]):
        sums = pull_one(q, sums)
    return sums


def pull_times(seeds, count, begin, end):
    """Take the cotangents of the times to those of the begin, with which all but the last move, and of the end."""
    for k in range(count):
        begin = begin + seeds[k]
    return begin, end + seeds[count]


def walk_forward(push, tangent, count, every, saved, moved):
    """Take tangents through the steps, and write those of the states that were saved."""
    y = saved[0]
    for k in range(count):
        if k % every == 0:
            y = saved[k // every]
            moved[k // every] = tangent
        y, tangent = push(k, y, tangent)
    return tangent


def push_results(push_one, written, k):
    """Take tangents to the results within step ``k``."""
    for q in range(written[k], written[k + 1]):
        push_one(q)


def push_times(times, count, begin, end):
    """Write the tangents of the times: all but the last move with the begin."""
    for k in range(count):
        times[k] = begin
    times[count] = end
