"""Simulations on periodic grids, for NumPy and for what has its functions: Burgers' equation, Gray and Scott's."""

from __future__ import annotations

from typing import Any

import numpy as np

NU, DT = 0.02, 0.05
FEED, KILL, DU, DV = 0.04, 0.06, 0.16, 0.08


def burgers_step(u: Any, v: Any, xp: Any) -> tuple[Any, Any]:
    """One step of two velocities on a periodic grid, by central differences."""
    steps = []
    for q in (u, v):
        left, right = xp.roll(q, 1, 0), xp.roll(q, -1, 0)
        below, above = xp.roll(q, 1, 1), xp.roll(q, -1, 1)
        flow = u * (right - left) + v * (above - below)
        steps.append(q + DT * (NU * (left + right + below + above - 4 * q) - 0.5 * flow))
    return steps[0], steps[1]


def gray_scott_step(u: Any, v: Any, xp: Any) -> tuple[Any, Any]:
    """One step of two substances on a periodic grid."""
    spread = [xp.roll(q, 1, 0) + xp.roll(q, -1, 0) + xp.roll(q, 1, 1) + xp.roll(q, -1, 1) - 4 * q for q in (u, v)]
    made = u * v * v
    return u + DU * spread[0] - made + FEED * (1 - u), v + DV * spread[1] + made - (FEED + KILL) * v


STEPS = {"burgers": burgers_step, "gray_scott": gray_scott_step}


def burgers(u, v, steps):
    for _ in range(steps):
        u, v = burgers_step(u, v, np)
    return np.sum(u * u) + np.sum(v * v)


def gray_scott(u, v, steps):
    for _ in range(steps):
        u, v = gray_scott_step(u, v, np)
    return np.sum(u * u) + np.sum(v * v)


PROGRAMS = {"burgers": burgers, "gray_scott": gray_scott}
