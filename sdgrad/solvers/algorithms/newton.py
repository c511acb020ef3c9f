"""Find roots: of systems by Newton's method, and of functions of one variable between two signs."""

from __future__ import annotations

import numpy as np


def newton(function, direction, x, tol, most):
    """Find a root by Newton's method, with steps halved until the residual decreases (Deuflhard 2011, 3.1).

    :param direction: solves for a step: ``J(x) s = r``.
    :returns: the root, and whether the last step was at most ``tol`` relative to it. Where rounding stops the search
        earlier, the root of that is enough.
    """
    r = function(x)
    size = r @ r
    count = 0
    done = size == 0.0
    going = np.isfinite(size) & ~done
    while going and count < most:
        s = direction(x, r)
        step = 1.0
        new = x - s
        rest = function(new)
        after = rest @ rest
        while ~(after <= (1.0 - 1e-4 * step) * size) and step > 1e-9:
            step = step * 0.5
            new = x - step * s
            rest = function(new)
            after = rest @ rest
        scale = np.max(np.abs(x)) + tol
        length = np.max(np.abs(s))
        falls = after < size
        done = (after == 0.0) | (length <= tol * scale) | (~falls & (length <= np.sqrt(tol) * scale))
        going = ~done & falls
        if falls:
            x, r, size = new, rest, after
        count += 1
    return x, done


def between(function, low, high, tol, most):
    """Find where a function of one variable changes its sign, by quadratic steps and halving (Chandrupatla 1997).

    :returns: the place, and whether the signs differ and the bracket became small.
    """
    a, b = high, low
    fa, fb = function(a), function(b)
    c, fc = a, fa
    t = 0.5
    count = 0
    differ = ((fa <= 0.0) & (fb >= 0.0)) | ((fa >= 0.0) & (fb <= 0.0))
    done = False
    x, fx = np.where(np.abs(fa) < np.abs(fb), a, b), np.where(np.abs(fa) < np.abs(fb), fa, fb)
    while ~done and count < most and differ:
        at = a + t * (b - a)
        value = function(at)
        same = (value > 0.0) == (fa > 0.0)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = at, value
        closer = np.abs(fa) < np.abs(fb)
        x, fx = np.where(closer, a, b), np.where(closer, fa, fb)
        width = np.abs(b - a)
        least = tol * (np.abs(x) + tol) / np.where(width > 0.0, width, 1.0)
        done = (least > 0.5) | (fx == 0.0) | (width == 0.0)
        xi = (a - b) / np.where(c != b, c - b, 1.0)
        phi = (fa - fb) / np.where(fc != fb, fc - fb, 1.0)
        smooth = (phi * phi < xi) & ((1.0 - phi) * (1.0 - phi) < 1.0 - xi) & (fc != fa) & (fc != fb)
        ab, cb = np.where(fb != fa, fb - fa, 1.0), np.where(fc != fb, fc - fb, 1.0)
        ca = np.where(fc != fa, fc - fa, 1.0)
        outer = (c - a) / np.where(b != a, b - a, 1.0) * (fa / ca) * (fb / cb)
        quadratic = outer - (fa / ab) * (fc / cb)
        t = np.where(smooth, quadratic, 0.5)
        t = np.minimum(np.maximum(t, np.minimum(least, 0.5)), 1.0 - np.minimum(least, 0.5))
        count += 1
    return x, done & differ
