"""Integrate stiff initial value problems by the implicit Runge-Kutta method of order 5 of Radau IIA, as SciPy does.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections IV.5 and IV.8. The constants of
the transformed equations are those of SciPy's class.
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


def integrate(
    slope, jacobian, factors, solve, emit, t, y, f, t1, direction, size, longest, rtol, atol, tol, times, saved, written
):
    """Integrate from ``t`` to ``t1``; see :func:`sdgrad.solvers.algorithms.adaptive.integrate`.

    :param jacobian: the derivative of the slope by the state.
    :param factors: the factors of ``REAL / h - J`` and of ``COMPLEX / h - J``, with which ``solve`` solves.
    :param tol: how far the equations of a step are solved, relative to the allowed error.
    """
    count, every, done = 0, 1, 0
    times[0] = t
    going = t != t1
    rejected = t1 != t1
    matrix = jacobian(t, y)
    is_new, is_stale = t == t, t != t
    of_real, of_complex = factors(matrix, size * direction)
    begun, size_before, error_before = size, 0.0, 0.0
    rows, length = np.zeros((3, y.shape[0])), 1.0
    while going and count < times.shape[0] - 1:
        least = 2e-15 * np.abs(t) + 1e-300
        wanted = np.where(rejected, size, np.minimum(np.maximum(size, least), longest))
        new = t + wanted * direction
        new = np.where(direction * (new - t1) > 0.0, t1, new)
        h = new - t
        failed = ~(wanted >= least)
        if is_stale:
            of_real, of_complex = factors(matrix, h)
            is_stale = ~is_new & is_new
        scale = atol + np.abs(y) * rtol
        guess = extrapolated(rows, h / length)
        z, iterations, rate, found = collocate(slope, solve, of_real, of_complex, t, y, h, guess, scale, tol)
        if ~found:
            if is_new:
                size = 0.5 * np.abs(h)
            else:
                matrix = jacobian(t, y)
                is_new = found | ~found
            is_stale = found | ~found
            going = ~failed
        else:
            end = y + z[2]
            rest = combination(E, (z[0], z[1], z[2])) / h
            wrong = solve(of_real, f + rest)
            scale = atol + np.maximum(np.abs(y), np.abs(end)) * rtol
            error = norm(wrong / scale)
            if rejected & (error > 1.0):
                error = norm(solve(of_real, slope(t, y + wrong) + rest) / scale)
            accepted = error <= 1.0
            longer = predicted(np.abs(h), size_before, error, error_before)
            longer = longer * SAFETY * (2 * ITERATIONS + 1) / (2 * ITERATIONS + iterations)
            going = ~failed
            if ~accepted:
                size = np.abs(h) * np.fmax(LEAST, longer)
                is_stale = found
                rejected = found
            if accepted & ~failed:
                every = save(saved, y, count, every)
                written[count] = done
                done = emit(t, y, h, new, end, z, done)
                rows, length = coefficients(z), h
                t, y, f = new, end, slope(new, end)
                count += 1
                times[count] = t
                going = t != t1
                slow = (iterations > 2) & (rate > 1e-3)
                longer = np.minimum(longer, MOST)
                is_stale = slow | (longer >= 1.2)
                size_before, error_before = begun, error
                size = np.abs(h) * np.where(is_stale, longer, 1.0)
                begun = size
                rejected = ~found
                is_new = slow
                if slow:
                    matrix = jacobian(t, y)
    written[count] = done
    return y, count, every, t == t1


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


def predicted(size, before, error, error_before):
    """Return how much longer a step may be (Gustafsson's predictive controller)."""
    known = (before > 0.0) & (error_before > 0.0) & (error > 0.0)
    ratio = np.where(known, error_before / np.where(error > 0.0, error, 1.0), 1.0)
    many = np.where(known, size / np.where(known, before, 1.0) * ratio**0.25, 1.0)
    return np.minimum(1.0, many) * np.where(error > 0.0, error, 1e-40) ** -0.25
