"""Find minima between bounds, and of functions of one variable."""

from __future__ import annotations

import numpy as np

GOLDEN = 0.3819660112501051  # the smaller part of a golden section


def projected_newton(value, gradient, hessian, x, low, high, tol, most):
    """Minimise between bounds, by Newton steps of what is not at one (Bertsekas 1982, Projected Newton methods).

    :returns: the point, and whether the last step was at most ``tol`` relative to it. Where rounding stops the search
        earlier, the root of that is enough.
    """
    x = np.clip(x, low, high)
    f = value(x)
    count = 0
    done = False
    going = np.isfinite(f)
    while going and count < most:
        g = gradient(x)
        near = np.minimum(1e-3, np.max(np.abs(x - np.clip(x - g, low, high))))
        held = ((x <= low + near) & (g > 0.0)) | ((x >= high - near) & (g < 0.0))
        s = direction(hessian(x), g, held)
        step = 1.0
        full = np.clip(x - s, low, high)
        new = full
        after = value(new)
        length = np.max(np.abs(new - x))
        slope = g @ (x - new)
        while ~(after <= f - 1e-4 * (g @ (x - new))) and step > 1e-9:
            step = step * 0.5
            new = np.clip(x - step * s, low, high)
            after = value(new)
        scale = np.max(np.abs(x)) + tol
        falls = after <= f
        flat = ~falls | (slope <= 1e-15 * np.abs(f))
        done = (length <= tol * scale) | (flat & (length <= np.sqrt(tol) * scale))
        going = ~done & falls
        if falls:
            x, f = new, after
        x = np.where(done, full, x)  # values are too rounded to tell which is lower
        count += 1
    return x, done


def direction(h, g, held):
    """Return a Newton step that goes down in every eigenvector, and along each variable that is held by itself."""
    diagonal = np.abs(np.diag(h))
    apart = held[:, None] | held[None, :]
    w, v = np.linalg.eigh(np.where(apart, 0.0, h) + np.diag(np.where(held, np.maximum(diagonal, 1e-6), 0.0)))
    sizes = np.maximum(np.abs(w), 1e-10 * np.max(np.abs(w)) + 1e-300)
    return v @ ((v.T @ g) / sizes)


def valley(value, a, b, most):
    """Return three places of which the middle one is lowest, from two: steps that grow downhill.

    :returns: the places, and whether there are such.
    """
    fa, fb = value(a), value(b)
    a, b = np.where(fa < fb, b, a), np.where(fa < fb, a, b)
    fb = np.minimum(fa, fb)
    c = b + 1.618034 * (b - a)
    fc = value(c)
    count = 0
    while fc < fb and count < most:
        a, b, fb = b, c, fc
        c = b + 1.618034 * (b - a)
        fc = value(c)
        count += 1
    return a, b, c, fc >= fb


def golden_section(value, a, b, c, width):
    """Return the lowest place that golden sections find between ``a`` and ``c``, from ``b`` on (Kiefer 1953)."""
    fb = value(b)
    while np.abs(c - a) > width:
        right = np.abs(c - b) > np.abs(b - a)
        other = np.where(right, b + GOLDEN * (c - b), b - GOLDEN * (b - a))
        f = value(other)
        lower = f < fb
        a = np.where(lower, np.where(right, b, a), np.where(right, a, other))
        c = np.where(lower, np.where(right, c, b), np.where(right, other, c))
        b, fb = np.where(lower, other, b), np.minimum(f, fb)
    return b
