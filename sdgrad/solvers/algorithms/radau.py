"""Integrate stiff initial value problems by the implicit Runge-Kutta method of order 5 of Radau IIA, as SciPy does.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections IV.5 and IV.8. The constants of
the transformed equations are those of SciPy's class. A step needs the ``jacobian``, the derivative of the slope by the
state, the ``factors`` of ``REAL / h - J`` and of ``COMPLEX / h - J``, with which ``solve`` solves, and ``tol``: how far
its equations are solved, relative to the allowed error.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate._ivp import radau as constants

from sdgrad.solvers.algorithms.adaptive import LEAST, MOST, SAFETY, save
from sdgrad.solvers.algorithms.runge_kutta import combination, norm

ROOT6 = 6**0.5
A = [
    [(88 - 7 * ROOT6) / 360, (296 - 169 * ROOT6) / 1800, (-2 + 3 * ROOT6) / 225],
    [(296 + 169 * ROOT6) / 1800, (88 + 7 * ROOT6) / 360, (-2 - 3 * ROOT6) / 225],
    [(16 - ROOT6) / 36, (16 + ROOT6) / 36, 1 / 9],
]
C, E, POWERS = constants.C.tolist(), constants.E.tolist(), constants.P.T.tolist()
T, INVERSE = constants.T.tolist(), constants.TI.tolist()
REAL, COMPLEX = float(constants.MU_REAL), complex(constants.MU_COMPLEX)
ITERATIONS = 6  # of Newton's method for a step
MOST_TRIES = 2 * ITERATIONS + 1


def integrate(
    slope, jacobian, factors, solve, emit, goes_on, t, y, f, t1, direction, size, longest, rtol, atol, tol, tables
):
    """Integrate from ``t`` to ``t1``; see :func:`sdgrad.solvers.algorithms.adaptive.integrate`, and above."""
    times, saved, written = tables
    count, every, done, times[0] = 0, 1, 0, t
    going, rejected, is_new, is_stale = t != t1, t1 != t1, t == t, t != t
    matrix = jacobian(t, y)
    of_real, of_complex = factors(matrix, size * direction)
    begun, before = size, (0.0, 0.0)
    rows, length = np.zeros((3, y.shape[0])), 1.0
    while going and count < times.shape[0] - 1:
        h, new, failed = next_step(t, t1, direction, size, rejected, longest)
        if is_stale:
            of_real, of_complex = factors(matrix, h)
        guess, scale = extrapolated(rows, h / length), atol + np.abs(y) * rtol
        z, iterations, rate, found = collocate(slope, solve, of_real, of_complex, t, y, h, guess, scale, tol)
        going, is_stale = ~failed, ~found
        if ~found:
            size = np.where(is_new, 0.5 * np.abs(h), size)
            matrix, is_new = jacobian(t, y), t == t
        else:
            error = estimated(slope, solve, of_real, t, y, f, z, h, rejected, rtol, atol)
            longer = predicted(np.abs(h), before, error) * SAFETY * MOST_TRIES / (2 * ITERATIONS + iterations)
            is_stale = rejected = error > 1.0
            size = np.where(rejected, np.abs(h) * np.fmax(LEAST, longer), size)
            if ~rejected & ~failed:
                every, done = noted(emit, t, y, h, new, z, count, every, done, saved, written)
                t, y, rows, length, count = new, y + z[2], coefficients(z), h, count + 1
                f, times[count], going = slope(t, y), t, (t != t1) & goes_on()
                is_new = (iterations > 2) & (rate > 1e-3)
                is_stale = is_new | (longer >= 1.2)
                before, size = (begun, error), np.abs(h) * np.where(is_stale, np.minimum(longer, MOST), 1.0)
                begun = size
                if is_new:
                    matrix = jacobian(t, y)
    written[count] = done
    return y, count, every, t == t1


def next_step(t, t1, direction, size, rejected, longest):
    """Return the length of a step, where it ends, and whether it is too short."""
    least = 2e-15 * np.abs(t) + 1e-300
    wanted = np.where(rejected, size, np.minimum(np.maximum(size, least), longest))
    new = t + wanted * direction
    new = np.where(direction * (new - t1) > 0.0, t1, new)
    return new - t, new, ~(wanted >= least)


def estimated(slope, solve, of_real, t, y, f, z, h, rejected, rtol, atol):
    """Return the norm of the estimated error, relative to what is allowed."""
    rest = combination(E, (z[0], z[1], z[2])) / h
    wrong = solve(of_real, f + rest)
    scale = atol + np.maximum(np.abs(y), np.abs(y + z[2])) * rtol
    error = norm(wrong / scale)
    if rejected & (error > 1.0):
        error = norm(solve(of_real, slope(t, y + wrong) + rest) / scale)
    return error


def noted(emit, t, y, h, new, z, count, every, done, saved, written):
    """Write down a step, and what is asked for within it."""
    every = save(saved, y, count, every)
    written[count] = done
    return every, emit(t, y, h, new, y + z[2], z, done)


def collocate(slope, solve, of_real, of_complex, t, y, h, z, scale, tol):
    """Solve the equations of a step by Newton's method with the transformed matrix of an earlier place.

    :returns: the stages relative to ``y``, the iterations, the last rate of convergence, and whether it converges.
    """
    w = mixed(INVERSE, z)
    count, rate, before = 0, 0.0, 0.0
    found = h != h
    going = h == h
    while going and count < ITERATIONS:
        of = [slope(t + h * C[i], y + z[i]) for i in range(3)]
        real = solve(of_real, combination(INVERSE[0], of) - REAL / h * w[0])
        right = combination(INVERSE[1], of) + 1j * combination(INVERSE[2], of)
        both = solve(of_complex, right - COMPLEX / h * (w[1] + 1j * w[2]))
        change = np.stack([real, np.real(both), np.imag(both)])
        length = norm(change / scale)
        rate = np.where(before > 0.0, length / np.where(before > 0.0, before, 1.0), 0.0)
        left = rate ** (ITERATIONS - count) / np.where(rate < 1.0, 1.0 - rate, 1.0) * length
        going = np.isfinite(length) & ~((rate >= 1.0) | ((before > 0.0) & (left > tol)))
        if going:
            w = w + change
            z = mixed(T, w)
            ends = (before > 0.0) & (rate / np.where(rate < 1.0, 1.0 - rate, 1.0) * length < tol)
            found = (length == 0.0) | ends
            going = ~found
        before = length
        count += 1
    return z, count, rate, found


def coefficients(z):
    """Return the polynomial of a step from its stages: rows for the first, second and third power."""
    return mixed(POWERS, z)


def extrapolated(rows, part):
    """Return how far the polynomial of the last step rises beyond its end, at the stages of the next."""
    x = [1.0 + part * c for c in C]
    return np.stack([combination_of((u - 1.0, u**2 - 1.0, u**3 - 1.0), rows) for u in x])


def combination_of(weights, rows):
    """Return the sum of three rows with weights that are computed."""
    return weights[0] * rows[0] + weights[1] * rows[1] + weights[2] * rows[2]


def mixed(matrix, rows):
    """Return a matrix of constants times a matrix of three rows."""
    return np.stack([combination(weights, (rows[0], rows[1], rows[2])) for weights in matrix])


def predicted(size, before, error):
    """Return how much longer a step may be (Gustafsson's predictive controller).

    :param before: the length and the error of the last step; zeros at the first.
    """
    known = (before[0] > 0.0) & (before[1] > 0.0) & (error > 0.0)
    ratio = np.where(known, before[1] / np.where(error > 0.0, error, 1.0), 1.0)
    many = np.where(known, size / np.where(known, before[0], 1.0) * ratio**0.25, 1.0)
    return np.minimum(1.0, many) * np.where(error > 0.0, error, 1e-40) ** -0.25
