"""Iterate a function until its argument stays."""

from __future__ import annotations

import numpy as np


def iterate(function, x, tol, most):
    """Return the point where ``function(x)`` is ``x``, and whether the last step was at most ``tol`` relative to it."""
    count = 0
    done = False
    while ~done and count < most:
        new = function(x)
        length = np.max(np.abs(new - x))
        done = (length <= tol * (np.max(np.abs(new)) + tol)) & (length < np.inf)
        x = new
        count += 1
    return x, done


def accelerate(function, x, tol, most):
    """Iterate a function with the differences of its values made zero, element by element (Steffensen 1933)."""
    count = 0
    done = False
    while ~done and count < most:
        first = function(x)
        second = function(first)
        bend = second - 2.0 * first + x
        new = np.where(bend != 0.0, x - (first - x) ** 2 / np.where(bend != 0.0, bend, 1.0), second)
        length = np.max(np.abs(new - x))
        done = (length <= tol * (np.max(np.abs(new)) + tol)) & (length < np.inf)
        x = new
        count += 1
    return x, done
