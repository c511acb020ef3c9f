"""Integrate stiff initial value problems by numerical differentiation formulas of orders 1 to 5, as SciPy does.

Source: Shampine and Reichelt, The MATLAB ODE Suite (1997), section 2. The ``rows`` of a state are the backward
differences of the polynomial through the last states, at the distance of the last step: row 0 is the state. Those above
the order are zero, but for the one after it, which the next step needs if its order is higher.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import polynomial

from sdgrad.solvers.algorithms.adaptive import LEAST, MOST, SAFETY, save
from sdgrad.solvers.algorithms.radau import next_step
from sdgrad.solvers.algorithms.runge_kutta import combination, norm

HIGHEST = 5  # order
ROWS = HIGHEST + 1
ITERATIONS = 4  # of Newton's method for a step
MOST_TRIES = 2 * ITERATIONS + 1
KAPPA = [0.0, -0.1850, -1 / 9, -0.0823, -0.0415, 0.0]
GAMMA = [sum(1 / i for i in range(1, order + 1)) for order in range(ROWS)]
ALPHA = [(1 - kappa) * gamma for kappa, gamma in zip(KAPPA, GAMMA, strict=True)]
ERROR = [kappa * gamma + 1 / (i + 1) for i, (kappa, gamma) in enumerate(zip(KAPPA, GAMMA, strict=True))]


def _change():
    """Return polynomials: of how much row ``j`` gives to row ``i`` at another distance, by how much longer that is."""
    falling = np.zeros((ROWS, ROWS, ROWS))  # of i and j: the product of (m - 1 - j x) / m, for m up to i
    for j in range(ROWS):
        product = np.ones(1)
        for i in range(ROWS):
            product = polynomial.polymul(product, [(i - 1) / i, -j / i]) if i else product
            falling[i, j, : len(product)] = product
    return np.einsum("ijq,jk->ikq", falling, falling.sum(axis=-1)).tolist()


CHANGE = _change()


def integrate(
    slope, jacobian, factors, solve, emit, goes_on, t, y, f, t1, direction, size, longest, rtol, atol, tol, tables
):
    """Integrate as :func:`sdgrad.solvers.algorithms.radau.integrate`; ``tables`` have an order for each step, too."""
    times, saved, written, orders = tables
    count, every, done, times[0] = 0, 1, 0, t
    order, equal, before, h, c, new, failed = 1, 0, f * 0.0, size, size, t, t != t
    state, matrix = first_rows(y, f), jacobian(t, y)
    rows, lu = changed(state, order, size * direction), factors(matrix, size)
    going, rejected, is_new, is_stale, again = t != t1, failed, failed, t == t, failed
    while going and count < times.shape[0] - 1:
        if ~again:
            h, new, failed = next_step(t, t1, direction, size, rejected, longest)
            if (size > longest) | (new != t + size * direction):
                rows, equal, is_stale = changed(rows, order, np.abs(h) / size), 0, t == t
            size, c = np.abs(h), h / pick(ALPHA, order)
        if is_stale:
            lu = factors(matrix, c)
        guess, rest = predicted(rows, order)
        d, iterations, found = corrected(slope, solve, lu, new, guess, c, rest, atol + rtol * np.abs(guess), tol)
        again, going, is_stale = ~found & ~is_new, ~failed, ~found
        if again:
            matrix, is_new = jacobian(new, guess), t == t
        else:
            rejected, error, scale, safety = measured(d, found, iterations, order, atol + rtol * np.abs(guess + d))
            if rejected:
                factor = np.where(found, np.fmax(LEAST, safety * power(error, order + 1)), 0.5)
                rows, size, equal = changed(rows, order, factor), size * factor, 0
            elif ~failed:
                every = save(saved, np.reshape(state, -1), count, every)
                written[count], orders[count], start = done, order, (t, state[0], h)
                state, t, is_new = advanced(rows, order, d), new, t != t
                own = state * 1  # or what is carried were one array in some trips
                order, size, equal, rows = following(own, order, size, equal + 1, d, before, error, scale, safety)
                done = emit(*start, new, state[0], np.stack(up_to(state, order)), done)
                is_stale, before, count = equal == 0, d, count + 1
                times[count], orders[count], going = t, order, (t != t1) & goes_on()
    written[count] = done
    return state[0], count, every, t == t1


def measured(d, found, iterations, order, scale):
    """Return whether a step is rejected, its error, what that is relative to, and how cautious the next step is."""
    error = norm(pick(ERROR, order) * d / scale)
    return ~found | (error > 1.0), error, scale, SAFETY * MOST_TRIES / (2 * ITERATIONS + iterations)


def following(rows, order, size, equal, d, before, error, scale, safety):
    """Choose the order and the length of the next step.

    :param equal: how many steps had this order and this length.
    :param before: the difference of the next order one step before; ``d`` is that of this step.
    :returns: both, how many steps had them, and the differences at that distance.
    """
    if equal > order:
        lower = norm(pick(ERROR, order - 1) * rows[order] / scale)
        higher = norm(pick(ERROR, order + 1) * (d - before) / scale)
        change, longer = best(order, lower, error, higher)
        order, factor, equal = order + change, np.minimum(MOST, safety * longer), 0
        rows, size = changed(rows, order, factor), size * factor
    return order, size, equal, rows


def first_rows(y, f):
    """Return the differences before the first step, at a distance of one: the state and its slope."""
    return np.stack([y, f] + [f * 0.0] * (ROWS - 2))


def up_to(rows, order):
    """Return the rows up to that of the order, and zeros."""
    return [rows[0], rows[1], *(np.where(order >= i, rows[i], 0.0) for i in range(2, ROWS))]


def changed(rows, order, factor):
    """Return the differences at another distance: those of the same polynomial.

    :param factor: how much longer that is.
    """
    given = up_to(rows, order)
    found = [sum(horner(CHANGE[j][i], factor) * given[j] for j in range(i, ROWS)) for i in range(1, ROWS)]
    return np.stack([given[0], *found]).astype(rows.dtype)


def horner(coefficients, x):
    """Return a polynomial whose constant coefficient, the first, is zero."""
    found = coefficients[-1]
    for c in coefficients[-2::-1]:
        found = found * x + c
    return found


def predicted(rows, order):
    """Return what the polynomial predicts, and what its differences add to the equation of a step."""
    given = up_to(rows, order)
    return sum(given), combination(GAMMA, given) / pick(ALPHA, order)


def advanced(rows, order, d):
    """Return the differences after a step.

    :param d: the difference of the next order: of what the step found and what was predicted.
    """
    found, total = [], 0.0
    for i, row in reversed(list(enumerate(up_to(rows, order)))):
        total = total + row + np.where(order + 1 == i, d, 0.0)
        found.append(total + np.where(order == HIGHEST, d, 0.0))
    return np.stack(found[::-1])


def pick(table, order):
    """Return the entry of an order that is computed."""
    found = table[0]
    for k, value in enumerate(table[1:]):
        found = np.where(order == k + 1, value, found)
    return found


def corrected(slope, solve, lu, t, guess, c, rest, scale, tol):
    """Solve the equation of a step by Newton's method with the matrix of an earlier place.

    :returns: how far the solution is from what was predicted, the iterations, and whether it converges.
    """
    d = guess * 0.0
    count, before = 0, 0.0
    found = t != t
    going = t == t
    while going and count < ITERATIONS:
        change = solve(lu, c * slope(t, guess + d) - rest - d)
        length = norm(change / scale)
        rate = np.where(before > 0.0, length / np.where(before > 0.0, before, 1.0), 0.0)
        left = np.where(rate < 1.0, length / np.where(rate < 1.0, 1.0 - rate, 1.0), np.inf)
        fails = (before > 0.0) & ((rate >= 1.0) | (rate ** (ITERATIONS - count) * left > tol))
        going = np.isfinite(length) & ~fails
        if going:
            d = d + change
            found = (length == 0.0) | ((before > 0.0) & (rate * left < tol))
            going = ~found
        before = length
        count += 1
    return d, count, found


def power(error, order):
    """Return how much longer a step of such an error may be."""
    return np.where(error > 0.0, error, 1e-300) ** (-1.0 / order)


def best(order, lower, same, higher):
    """Return by how much the order changes for the longest step, and how much longer that is."""
    below = np.where(order > 1, power(lower, order), 0.0)
    above = np.where(order < HIGHEST, power(higher, order + 2), 0.0)
    stay = power(same, order + 1)
    change = np.where(below >= np.maximum(stay, above), -1, np.where(stay >= above, 0, 1))
    return change, np.maximum(below, np.maximum(stay, above))


def basis(x):
    """Return the functions whose sum the polynomial of a step is, at a part of the step between 0 and 1."""
    found = [x * 0.0 + 1.0]
    for m in range(HIGHEST):
        found.append(found[-1] * (x - 1.0 + m) / (1.0 + m))
    return found
