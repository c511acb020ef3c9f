"""Derivatives without the engine: differences of NumPy's function, mpmath's to 1000 digits, and JAX."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import jax
import mpmath as mp
import numpy as np

from .cells import Cell
from .lines import Line

STEP = 2e-3
WEIGHTS = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
"""Central differences of sixth order."""

DIGITS = 900
"""Enough that the square of the smallest double is no rounding error beside one."""


def along(f: Callable[[float], list[np.ndarray]]) -> list[np.ndarray]:
    """The derivative at zero of a function of a step."""
    sums: list = []
    for k, weight in WEIGHTS:
        high, low = f(k * STEP), f(-k * STEP)
        terms = [weight * (h - l) / STEP for h, l in zip(high, low, strict=True)]
        sums = [s + t for s, t in zip(sums, terms, strict=True)] if sums else terms
    return sums


def wide(value: np.ndarray) -> np.ndarray:
    """Floating-point numbers in double precision."""
    kind = value.dtype.kind
    return value.astype(np.complex128 if kind == "c" else np.float64) if kind in "fc" else value


def moved(cell: Cell, ways: dict[str, np.ndarray], step: float) -> list[np.ndarray]:
    """NumPy's smooth results with some operands moved."""
    values = {n: wide(v) + step * ways[n] if n in ways else wide(v) for n, v in cell.values.items()}
    found = cell.run(values)
    return [wide(found[k]) for k in cell.smooth]


def tangents(cell: Cell, ways: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The derivative of the smooth results in a direction."""
    return along(lambda step: moved(cell, ways, step))


def gradients(cell: Cell, seeds: list[np.ndarray]) -> dict[str, np.ndarray]:
    """The gradient of the smooth results' product with the seeds, in the direction of steepest ascent."""

    def total(ways: dict[str, np.ndarray]) -> Callable[[float], list[np.ndarray]]:
        def at(step: float) -> list[np.ndarray]:
            results = moved(cell, ways, step)
            return [np.real(sum(np.sum(np.conj(s) * r) for s, r in zip(seeds, results, strict=True)))]

        return at

    found = {}
    for name in cell.by:
        gradient = np.zeros(cell.values[name].shape, wide(cell.values[name]).dtype)
        for index in np.ndindex(gradient.shape):
            for unit in (1, 1j) if gradient.dtype.kind == "c" else (1,):
                way = np.zeros_like(gradient)
                way[index] = unit
                gradient[index] += along(total({name: way}))[0] * unit
        found[name] = gradient
    return found


# At single points --------------------------------------------------------------------------------------


def exact_slope(line: Line, point: tuple[float, ...], k: int, order: int = 1) -> float:
    """A partial derivative by mpmath; infinity at a pole, at a kink and at an end of the domain; NaN at infinity."""
    if line.exact is None or not all(map(np.isfinite, point)):
        return np.nan
    with mp.workdps(DIGITS):
        at = [mp.mpf(float(p)) for p in point]
        step = min(abs(at[k]), 1) * mp.mpf(10) ** -30 or mp.mpf(10) ** (-400 if order == 1 else -250)
        low, middle, high = (_value(line, (*at[:k], at[k] + by, *at[k + 1 :])) for by in (-step, 0, step))
        if low is None or middle is None or high is None:
            return np.inf
        left, right = (middle - low) / step, (high - middle) / step
        if abs(left - right) > mp.mpf(10) ** -12 * (abs(left) + abs(right)) + mp.mpf(10) ** -25:
            return np.inf
        if point[k] == 0 and abs(left) > mp.mpf(10) ** 100:
            return np.inf
        return float((left + right) / 2 if order == 1 else (right - left) / step)


def _value(line: Line, at: tuple) -> mp.mpf | None:
    """The function, if it is real and finite."""
    try:
        found = mp.mpmathify(line.exact(*at))
    except (ValueError, ZeroDivisionError, OverflowError, TypeError, mp.libmp.NoConvergence):
        return None
    return None if mp.im(found) != 0 or not mp.isfinite(found) else mp.re(found)


def exact_slopes(cell: Cell, name: str, order: int = 1) -> np.ndarray:
    """The partial derivatives at all points; see :func:`exact_slope`."""
    columns = [cell.values[n].ravel() for n in cell.line.letters]
    k = cell.line.letters.index(name)
    slopes = [exact_slope(cell.line, point, k, order) for point in zip(*columns, strict=True)]
    return np.array(slopes).reshape(cell.values[name].shape)


@cache
def names() -> dict[str, object]:
    """JAX under the names of lines."""
    import jax.numpy as jnp
    import jax.scipy.special as special

    return {"np": jnp, "special": special}


def jax_slopes(cell: Cell) -> list[np.ndarray] | None:
    """The gradients of the sum of an element-wise function by JAX; None where it has none."""
    operands = {n: wide(v) for n, v in cell.values.items()}
    fixed = {n: v for n, v in operands.items() if n not in cell.by}

    def total(*values):
        return eval(cell.text, names(), {**fixed, **dict(zip(cell.by, values, strict=True))}).sum()  # noqa: S307

    try:
        return [np.asarray(g) for g in jax.grad(total, tuple(range(len(cell.by))))(*(operands[n] for n in cell.by))]
    except Exception:  # noqa: BLE001 (a function that JAX lacks)
        return None


def crossed(points: list[np.ndarray]) -> list[np.ndarray]:
    """All pairs of points, as two columns."""
    pairs = list(itertools.product(*points))
    return [np.array([p[k] for p in pairs], points[k].dtype) for k in range(len(points))]
