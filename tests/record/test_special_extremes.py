"""Every special function of real numbers against mpmath, at small and at large arguments: values and derivatives.

The value is allowed SciPy's own error, where that is more than 1e-13: most values are SciPy's. The derivative is to be
right to 1e-12, or to the error that the rounding of an argument makes. Reverse mode is compared; forward mode has the
same partial derivatives, and ``test_special_functions.py`` compares both.
"""

from functools import cache

import mpmath as mp
import numpy as np
import pytest
import scipy.special as special
from special_references import OF_ONE
from special_references_of_several import SEVERAL

import sdgrad

EPS = np.finfo(float).eps
DIGITS, STEP = 70, 20
ROWS = {**OF_ONE, **SEVERAL}
NAMES = tuple(ROWS)
TOGETHER = 24
"""How many functions one program has."""
CHUNKS = [NAMES[k : k + TOGETHER] for k in range(0, len(NAMES), TOGETHER)]


def function_of(name):
    return ROWS[name].call or (np.sinc if name == "sinc" else getattr(special, name))


def columns_of(name):
    return [np.array(column) for column in zip(*ROWS[name].points, strict=True)]


@cache
def exact(name, point, k):
    """The value, and the first two derivatives by an argument."""
    f = ROWS[name].exact
    with mp.workdps(DIGITS):
        at = [p if isinstance(p, int) else mp.mpf(p) for p in point]
        h = abs(at[k]) * mp.mpf(10) ** -STEP
        low, middle, high = (mp.re(f(*at[:k], at[k] + by, *at[k + 1 :])) for by in (-h, 0, h))
        return float(middle), float((high - low) / (2 * h)), float((high - 2 * middle + low) / h**2)


@cache
def computed(names):
    """The values of some functions, and the derivatives of each by its arguments, from one program."""
    columns = {n: columns_of(n) for n in names}
    moved = {n: tuple(columns[n][k] for k in ROWS[n].places) for n in names}

    def values_of(moved):
        found = []
        for n in names:
            given = list(columns[n])
            for k, value in zip(ROWS[n].places, moved[n], strict=True):
                given[k] = value
            found.append(function_of(n)(*given))
        return found

    with sdgrad.config.override(optimization_level=0, verify="never"):
        values, pull = sdgrad.vjp(values_of, moved)
        (slopes,) = pull([np.ones_like(v) for v in values])
    return dict(zip(names, values, strict=True)), slopes


def worst(error, allowed, points):
    """The point with the largest error beside the allowed one, if it is too large."""
    share = np.nan_to_num(error / allowed, nan=np.inf)
    k = int(np.argmax(share))
    return f"at {points[k]}: {error[k]:.1e}, allowed {allowed[k]:.1e}" if share[k] > 1 else None


@pytest.mark.parametrize("names", CHUNKS, ids=lambda names: f"{names[0]}..{names[-1]}")
def test_values_and_derivatives(names):
    values, slopes = computed(names)
    wrong = []
    for name in names:
        row, columns = ROWS[name], columns_of(name)
        for place, k in enumerate(row.places):
            value, slope, second = np.array([exact(name, p, k) for p in row.points]).T
            with np.errstate(all="ignore"):
                theirs = np.asarray(function_of(name)(*columns))
            size = np.abs(value) + 1e-300
            least = np.maximum(1e-13 * size, 2 * np.abs(theirs - value))
            told = worst(np.abs(values[name] - value), least, row.points)
            wrong += [f"{name}: {told}"] if told else []
            rounding = 8 * EPS * np.abs(columns[k] * second)
            scipy = 4 * np.abs(theirs - value) / size * np.abs(slope)
            # derivatives that are nothing beside the value: mpmath's differences have no digits there
            blind = 1e-36 * size / np.abs(columns[k]) + 1e-300
            told = worst(
                np.abs(slopes[name][place] - slope), row.slope * np.abs(slope) + rounding + scipy + blind, row.points
            )
            wrong += [f"{name} by argument {k + 1}: {told}"] if told else []
    assert not wrong, "\n".join(wrong)
