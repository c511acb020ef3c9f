"""Find minima: by Newton's method where the Hessian is small, by past gradients where it is large."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

ROUNDING = 4096  # units in the last place of values: slopes tell what is lower (Hager and Zhang 2005)


def newton_descent(value, gradient, hessian, x, tol, most):
    """Minimise by Newton steps that go down in every eigenvector (Nocedal and Wright 2006, 3.4).

    :returns: the point, and whether the last step was at most ``tol`` relative to it. Where rounding stops the search
        earlier, the root of that is enough.
    """
    f = value(x)
    count = 0
    done = False
    going = np.isfinite(f)
    while going and count < most:
        g = gradient(x)
        s = newton_step(hessian(x), g)
        slope = s @ g
        step = 1.0
        full = x - s
        new = full
        after = value(new)
        while ~(after <= f - 1e-4 * step * slope) and step > 1e-9:
            step = step * 0.5
            new = x - step * s
            after = value(new)
        scale = np.max(np.abs(x)) + tol
        length = np.max(np.abs(s))
        falls = after <= f
        near = ~falls | (slope <= 1e-15 * np.abs(f))
        done = (slope == 0.0) | (length <= tol * scale) | (near & (length <= np.sqrt(tol) * scale))
        going = ~done & falls
        if falls:
            x, f = new, after
        x = np.where(done, full, x)  # values are too rounded to tell which is lower
        count += 1
    return x, done


def newton_step(hessian, g):
    """Return the step that goes down in every eigenvector: by Cholesky's factor where the Hessian is positive."""
    s = cho_solve((np.linalg.cholesky(hessian), True), g)
    if ~np.isfinite(np.sum(s)):
        w, v = np.linalg.eigh(hessian)
        sizes = np.maximum(np.abs(w), 1e-10 * np.max(np.abs(w)) + 1e-300)
        s = v @ ((v.T @ g) / sizes)
    return s


def lbfgs(value, gradient, x, tol, most, memory):
    """Minimise by limited-memory BFGS (Liu and Nocedal 1989), with steps that satisfy the weak Wolfe conditions.

    :returns: the point, and whether the largest element of the gradient is at most ``tol``, relative to the first one
        if that is above 1.
    """
    n = x.shape[0]
    moves, changes, scales = np.zeros((memory, n)), np.zeros((memory, n)), np.zeros(memory)
    f, g = value(x), gradient(x)
    size = np.max(np.abs(g))
    limit = tol * np.maximum(1.0, size)
    kept, count = 0, 0
    factor = 1.0 / np.maximum(1.0, np.sqrt(g @ g))
    going = np.isfinite(f)
    while size > limit and going and count < most:
        d = downhill(g, moves, changes, scales, kept, factor, memory)
        if ~(d @ g < 0.0):
            d = -g
            scales[:] = 0.0
        new, after, there = along(value, gradient, x, f, g, d)
        move, change = new - x, there - g
        curved = move @ change
        going = after <= f + ROUNDING * np.finfo(f.dtype).eps * np.abs(f)
        if going:
            x, f, g = new, after, there
            size = np.max(np.abs(g))
        if curved > 1e-300:
            at = kept % memory
            moves[at], changes[at], scales[at] = move, change, 1.0 / curved
            factor = curved / (change @ change)
            kept += 1
        count += 1
    return x, size <= limit


def downhill(g, moves, changes, scales, kept, factor, memory):
    """Return minus the product of the approximate inverse Hessian and the gradient: the two loops over what is kept."""
    d = -g
    weights = np.zeros(memory)
    for j in range(memory):
        at = (kept - 1 - j) % memory
        weights[at] = scales[at] * (moves[at] @ d)
        d = d - weights[at] * changes[at]
    d = d * factor
    for j in range(memory):
        at = (kept + j) % memory
        d = d + (weights[at] - scales[at] * (changes[at] @ d)) * moves[at]
    return d


def is_low(f, slope, step, after, slope_after):
    """True where a value has decreased enough: by itself, or, where it is rounded, by the slopes at both ends."""
    rounded = after <= f + ROUNDING * np.finfo(f.dtype).eps * np.abs(f)
    return (after <= f + 1e-4 * step * slope) | (rounded & (slope_after <= -0.9998 * slope))


def along(value, gradient, x, f, g, d):
    """Return a point in a direction that is low and flat enough, its value and its gradient."""
    slope = d @ g
    least, greatest, step = 0.0, np.inf, 1.0
    new = x + d
    after, there = value(new), gradient(new)
    tried = 0
    low, flat = is_low(f, slope, step, after, there @ d), there @ d >= 0.9 * slope
    while ~(low & flat) and tried < 60:
        if ~low:
            greatest = step
            step = 0.5 * (least + greatest)
        else:
            least = step
            step = np.where(np.isfinite(greatest), 0.5 * (least + greatest), 2.0 * step)
        new = x + step * d
        after, there = value(new), gradient(new)
        low, flat = is_low(f, slope, step, after, there @ d), there @ d >= 0.9 * slope
        tried += 1
    return new, after, there
