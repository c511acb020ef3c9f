"""Approach least squares by steps between Gauss and Newton's and the gradient's."""

from __future__ import annotations

import numpy as np


def levenberg_marquardt(residual, jacobian, x, tol, most):
    """Return a point near least squares, by damped steps (Marquardt 1963, with the damping of Nielsen 1999)."""
    r = residual(x)
    f = r @ r
    damping, growth = 1e-3, 2.0
    count = 0
    going = np.isfinite(f) & (f > 0.0)
    while going and count < most:
        J = jacobian(x)
        g, A = J.T @ r, J.T @ J
        sizes = np.diag(A)
        sizes = np.maximum(sizes, 1e-12 * np.max(sizes) + 1e-300)
        s = np.linalg.solve(A + np.diag(damping * sizes), g)
        rest = residual(x - s)
        after = rest @ rest
        falls = after < f
        gain = (f - after) / (s @ (damping * sizes * s + g) + 1e-300)
        length = np.max(np.abs(s))
        going = (length > tol * (np.max(np.abs(x)) + tol)) & (damping < 1e20)
        if falls:
            x, r, f = x - s, rest, after
            damping = damping * np.maximum(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3)
            growth = 2.0
        else:
            damping = damping * growth
            growth = 2.0 * growth
        count += 1
    return x
