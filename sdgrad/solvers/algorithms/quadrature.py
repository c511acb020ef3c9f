"""Integrate over the range from 0 to 1, in parts that are halved where the error is largest.

Points, errors of parts and the order of halving are those of QUADPACK (Piessens et al. 1983). Where halving goes on
towards an end, the integrand is singular there: the search begins again with a variable of which the old one is a
smooth step, flat at both ends, in place of the extrapolation there (Davis and Rabinowitz 1984, 2.9).
"""

from __future__ import annotations

import numpy as np

EPS = 2.220446049250313e-16
DEEPEST = 50  # halvings that a place still tells apart
TOWARDS_END = 8  # halvings at an end after which it is taken for singular


def search(integrand, norm, points, tables, epsabs, epsrel):
    """Halve parts until the errors together are small.

    :param integrand: takes a variable and how far it is from 1, and returns a vector.
    :param tables: of parts: their places in units of their lengths, how often they were halved, their integrals, errors
        and rounding errors; and the integrand at the points of one.
    :returns: the integral, its error, the variable, the number of parts, and whether that is as exact as asked for.
    """
    places, levels, values, errors, rounding, at_points = tables
    most = places.shape[0]
    way, count = 0, 0
    going, done = True, False
    error = 0.0
    total = at_points[0] * 0.0
    places[0] = 0
    levels[0] = -1
    while going:
        worst = np.argmax(errors)
        place, level = places[worst], levels[worst] + 1
        halves = np.where(count == 0, 1, 2)
        for c in range(halves):
            k = np.where(c == 0, worst, count)
            places[k] = place * halves + c
            levels[k] = level
            values[k], errors[k], rounding[k] = part(integrand, norm, points, at_points, way, place * halves + c, level)
        count += 1
        total = np.sum(values, axis=0)
        error = np.sum(errors)
        done = error <= np.maximum(np.maximum(epsabs, epsrel * norm(total)), 2.0 * np.sum(rounding))
        at_end = (place == 0) | (place * 2 + 2 == 2**level)
        full = (level >= DEEPEST) | (count >= most)
        again = ~done & (way == 0) & (full | (at_end & (level >= TOWARDS_END)))
        going = ~done & (again | ~full)
        if again:
            way, count = 1, 0
            places[0] = 0
            levels[0] = -1
            values[:] = 0.0
            errors[:] = 0.0
            rounding[:] = 0.0
    return total, error, way, count, done


def part(integrand, norm, points, at_points, way, place, level):
    """Return the integral over a part, and its error as QUADPACK estimates it, also that of rounding."""
    width = 0.5**level
    for j in range(points.nodes.shape[0]):
        at_points[j] = at(integrand, way, place, level, width, points.nodes[j])
    fine = points.fine @ at_points
    rough = norm(fine - points.coarse @ at_points)
    spread = norm(points.fine @ np.abs(at_points - 0.5 * fine))
    rounding = 25.0 * EPS * width * norm(points.fine @ np.abs(at_points))
    ratio = np.where(spread > 0.0, 200.0 * rough / np.where(spread > 0.0, spread, 1.0), 0.0)
    error = np.where(spread > 0.0, spread * np.minimum(1.0, ratio**1.5), rough)
    error = np.maximum(0.5 * width * error, rounding)
    return 0.5 * width * fine, np.where(np.isfinite(error), error, np.inf), rounding


def at(integrand, way, place, level, width, node):
    """Return the integrand at a point of a part."""
    u = (place + 0.5 + 0.5 * node) * width
    v = (2.0**level - place - 0.5 - 0.5 * node) * width
    return integrand(way, u, v)


def smooth_step(u, v):
    """Return a step from 0 to 1, as exact near 0 as ``u``, with ``v = 1 - u``: five derivatives vanish at both ends."""
    return u**6 * (462.0 * v**5 + u * (330.0 * v**4 + u * (165.0 * v**3 + u * (55.0 * v**2 + u * (11.0 * v + u)))))


def variable(way, u, v):
    """Return the variable of the range, how far it is from 1, and its derivative."""
    stepped = way == 1
    q = np.where(stepped, smooth_step(u, v), u)
    r = np.where(stepped, smooth_step(v, u), v)
    return q, r, np.where(stepped, 2772.0 * (u * v) ** 5, 1.0)


def over_parts(integrand, nodes, weights, way, places, levels, count, total):
    """Return the sum over the points of all parts."""
    for k in range(count):
        width = 0.5 ** levels[k]
        for j in range(nodes.shape[0]):
            weight = 0.5 * width * weights[j]
            total = total + weight * at(integrand, way, places[k], levels[k], width, nodes[j])
    return total
