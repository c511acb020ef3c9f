"""Integrate over the range from 0 to 1, in parts that are halved where the error is largest.

Points, errors of parts and the order of halving are those of QUADPACK (Piessens et al. 1983). Where halving goes on
towards an end, the integrand is singular there: the search begins again with a variable of which the old one is a
smooth step, flat at both ends (Davis and Rabinowitz 1984, 2.9), in place of QUADPACK's extrapolation.
"""

from __future__ import annotations

import numpy as np

EPS = 2.220446049250313e-16
DEEPEST = 50  # halvings that a place still tells apart
TOWARDS_END = 8  # halvings at an end after which it is taken for singular
FINER = 1.0 / 64.0  # of the errors that are allowed: what is aimed at
WORTH = 0.9  # of errors that are small enough: what is worth another halving


def search(density, allowed, excess, points, tables):
    """Halve parts until the errors together are small.

    :param density: the integrand, a vector: takes a variable and how far it is from 1.
    :param allowed: the errors that are, of an integral; ``excess`` is a norm of quotients of errors.
    :param tables: of parts: their places in units of their lengths, how often they were halved, their integrals, errors
        and rounding errors; and the integrand at the points of one.
    :returns: the integral, its errors, and these relative to what is allowed.
    """
    places, _, values, errors, rounding, at_points = tables
    way, count = 0, 0
    going = True
    total, wrong = at_points[0] * 0.0, errors[0] + np.inf
    relative = wrong
    begin(tables)
    while going:
        worst = np.argmax(np.max(errors / allowed(total), axis=1))
        place, level = halve(density, points, tables, way, worst, count)
        count += 1
        found, left = np.sum(values, axis=0), np.sum(errors, axis=0)
        limit, least = allowed(found), 2.0 * np.sum(rounding, axis=0)
        share = left / np.maximum(limit, least)
        enough = excess(relative) <= 1.0
        worse = enough & ~(excess(share) < WORTH * excess(relative))  # rounding, of the integrand too
        total, wrong = np.where(worse, total, found), np.where(worse, wrong, left)
        relative = np.where(worse, relative, share)
        enough = excess(relative) <= 1.0
        done = worse | (excess(left / np.maximum(limit * FINER, least)) <= 1.0)
        at_end = (place == 0) | (place * 2 + 2 == 2**level)
        full = (level >= DEEPEST) | (count >= places.shape[0])
        again = ~done & ~enough & (way == 0) & (full | (at_end & (level >= TOWARDS_END)))
        going = ~done & (again | ~full)
        if again:
            way, count = 1, 0
            begin(tables)
    return total, wrong, relative


def begin(tables):
    """Begin with the whole range, as if it were a half."""
    places, levels, values, errors, rounding, _ = tables
    places[0] = 0
    levels[0] = -1
    values[:] = 0.0
    errors[:] = 0.0
    rounding[:] = 0.0


def halve(density, points, tables, way, worst, count):
    """Put the halves of a part in its place, and at the end; return its place, and how often they are halved."""
    places, levels, values, errors, rounding, at_points = tables
    place, level = places[worst], levels[worst] + 1
    halves = np.where(count == 0, 1, 2)
    for c in range(halves):
        k = np.where(c == 0, worst, count)
        places[k] = place * halves + c
        levels[k] = level
        values[k], errors[k], rounding[k] = part(density, points, at_points, way, place * halves + c, level)
    return place, level


def part(density, points, at_points, way, place, level):
    """Return the integral over a part, and its errors as QUADPACK estimates them, also those of rounding."""
    width = 0.5**level
    for j in range(points.shape[1]):
        u = (place + 0.5 + 0.5 * points[0, j]) * width
        v = (2.0**level - place - 0.5 - 0.5 * points[0, j]) * width
        q, r, slope = variable(way, u, v)
        at_points[j] = density(q, r) * slope
    fine = points[1] @ at_points
    rough = np.abs(fine - points[2] @ at_points)
    spread = points[1] @ np.abs(at_points - 0.5 * fine)
    rounding = 25.0 * EPS * width * (points[1] @ np.abs(at_points))
    ratio = 200.0 * rough / np.where(spread > 0.0, spread, 1.0)
    error = np.where(spread > 0.0, spread * np.minimum(1.0, ratio**1.5), rough)
    error = np.maximum(0.5 * width * error, rounding)
    return 0.5 * width * fine, np.where(np.isfinite(error), error, np.inf), rounding


def smooth_step(u, v):
    """Return a step from 0 to 1, as exact near 0 as ``u``: three derivatives vanish at the ends. ``v`` is ``1 - u``."""
    return u**4 * (35.0 * v**3 + u * (21.0 * v**2 + u * (7.0 * v + u)))


def variable(way, u, v):
    """Return the variable of the range, how far it is from 1, and its derivative."""
    stepped = way == 1
    q = np.where(stepped, smooth_step(u, v), u)
    r = np.where(stepped, smooth_step(v, u), v)
    return q, r, np.where(stepped, 140.0 * (u * v) ** 3, 1.0)


def visit(check, nodes):
    """Check what an integrand says has to hold, at points of the whole range."""
    for j in range(nodes.shape[0]):
        check(0.5 + 0.5 * nodes[j], 0.5 - 0.5 * nodes[j])
