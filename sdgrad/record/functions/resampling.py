"""Apply polyphase filters of ``scipy.signal``: upsampling, filtering and downsampling in one sum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal as signal

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import constant, static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.signals import inexact
from sdgrad.record.functions.table import array, known, rule
from sdgrad.record.values import is_recorded

INDEXED = ("symmetric", "reflect", "edge", "wrap")
SLOPED = ("smooth", "line")
ODD = {"antisymmetric": "symmetric", "antireflect": "reflect"}
MODES = ("constant", *INDEXED, *SLOPED, *ODD)
BACKGROUNDS: dict[str, Callable] = {"mean": np.mean, "median": np.median, "minimum": np.min, "maximum": np.max}


# -- what stands beyond the ends
def _before(rows: Any, count: int, mode: str, value: Any) -> Any:
    """Return what a mode puts before the first column: ``count`` columns."""
    n = np.shape(rows)[1]
    if mode == "constant":
        return 0 * rows[:, :1] * known(np.zeros((1, count), rows.dtype)) + value
    if mode in SLOPED:
        first, step = (rows[:, :1], 1) if n > 1 else (rows[:, :1], 0)
        slope = rows[:, step : step + 1] - first if mode == "smooth" else (rows[:, -1:] - first) / max(n - 1, 1)
        return first - slope * known(np.arange(count, 0, -1).astype(np.empty(0, rows.dtype).real.dtype))
    if mode in ODD and count > n - (mode == "antireflect"):
        raise ParseError(f"scipy.signal.upfirdn: mode={mode!r} of a filter longer than the data is not recorded")
    border: Any = ODD.get(mode, mode)
    places = np.pad(np.arange(n), (count, 0), mode=border)[:count]
    inside = rows[:, known(places)]
    return -inside if mode == "antisymmetric" else 2 * rows[:, :1] - inside if mode == "antireflect" else inside


def _continued(rows: Any, before: int, after: int, mode: str, value: Any) -> Any:
    """Return rows continued at both ends."""
    if mode == "constant" and not is_recorded(value) and value == 0:
        return np.pad(rows, ((0, 0), (before, after)))
    left = [_before(rows, before, mode, value)] if before else []
    right = [_before(rows[:, ::-1], after, mode, value)[:, ::-1]] if after else []
    return np.concatenate([*left, rows, *right], axis=1) if left or right else rows


# -- the sum
def _phases(h: Any, up: int, down: int) -> tuple[Any, int, int]:
    """Return for each output of a period its factors of a window, the terms before, and the outputs of a period."""
    terms = -(-np.shape(h)[0] // up)
    count = up // math.gcd(up, down)
    starts = np.arange(count) * down
    window = int(starts[-1] // up) + terms
    power = (starts // up)[:, None] + (terms - 1) - np.arange(window)  # of the delay that a place of the window has
    wanted = (starts % up)[:, None] + power * up
    valid = (power >= 0) & (wanted < np.shape(h)[0])
    factors = h[known(np.where(valid, wanted, 0))]
    return np.where(known(valid), factors, 0) if not valid.all() else factors, terms, count


def _summed(wide: Any, factors: Any, blocks: int, step: int) -> Any:
    """Return ``sum over s of wide[i, q * step + s] * factors[r, s]`` as rows of all ``q`` and ``r``."""
    (count, window), rows = np.shape(factors), np.shape(wide)[0]
    x, f, recorder = tensor_of(array(wide)), tensor_of(array(factors)), array(wide).recorder

    def term(out: tuple, s: tuple) -> Any:
        return x[out[0], out[1] * step + s[0]] * f[out[2], s[0]]

    found = recorder.array(recorder.reduction((rows, blocks, count), (window,), term, "sum", wide.dtype))
    return np.reshape(found, (rows, blocks * count))


@rule(signal.upfirdn)
def upfirdn(h: Any, x: Any, up: Any = 1, down: Any = 1, axis: Any = -1, mode: Any = "constant", cval: Any = 0) -> Any:
    filters, data = array(h), array(x)
    rise, fall, own = static(up), static(down), "constant" if mode is None else mode
    if filters.ndim != 1 or not filters.size:
        raise ValueError("h must be 1-D with non-zero length")
    if rise < 1 or fall < 1:
        raise ValueError("Both up and down must be >= 1")
    if own not in MODES:
        raise ValueError(f"Unknown mode: {own}")
    dtype = np.result_type(filters.dtype, data.dtype, np.float32)
    d = static_axis(axis, data.ndim)
    typed: Any = astype(data, dtype, copy=False)
    last = np.moveaxis(typed, d, -1)
    others, n = np.shape(last)[:-1], np.shape(last)[-1]
    if not n:
        raise ParseError("scipy.signal.upfirdn of no samples is not recorded")
    factors, terms, count = _phases(array(astype(filters, dtype, copy=False)), rise, fall)
    length = (filters.shape[0] - 1 + (n - 1) * rise) // fall + 1
    blocks, step = -(-length // count), fall // math.gcd(rise, fall)
    after = (blocks - 1) * step + np.shape(factors)[1] - (terms - 1) - n
    wide = _continued(np.reshape(last, (math.prod(others), n)), terms - 1, max(after, 0), own, cval)
    found = _summed(wide, factors, blocks, step)[:, :length]
    return np.moveaxis(np.reshape(found, (*others, length)), -1, d)


# -- resampling
def _lowpass(window: Any, up: int, down: int, data: Any) -> Any:
    """Return the filter of a resampling: the user's, or a low pass with a window."""
    if isinstance(window, (list, np.ndarray)) or is_recorded(window):
        own = array(window)
        if own.ndim > 1:
            raise ValueError("window must be 1-D")
        return own
    rate = max(up, down)
    given = signal.firwin(20 * rate + 1, 1.0 / rate, window=constant(window, "scipy.signal.resample_poly: window="))
    return known(given.astype(data.dtype) if data.dtype.kind in "fc" else given)


@rule(signal.resample_poly)
def resample_poly(
    x: Any,
    up: Any,
    down: Any,
    axis: Any = 0,
    window: Any = ("kaiser", 5.0),
    padtype: Any = "constant",
    cval: Any = None,
) -> Any:
    data, rise, fall = array(x), int(up), int(down)
    if rise != up or fall != down:
        raise ValueError("up and down must be integers")
    if rise < 1 or fall < 1:
        raise ValueError("up and down must be >= 1")
    if cval is not None and padtype != "constant":
        raise ValueError("cval has no effect when padtype is ", padtype)
    if padtype not in (*MODES, *BACKGROUNDS):
        raise ValueError(f"padtype must be one of: maximum, mean, median, minimum, {', '.join(MODES)}")
    rise, fall = rise // math.gcd(rise, fall), fall // math.gcd(rise, fall)
    if rise == fall == 1:
        return data.copy()
    d = static_axis(axis, data.ndim)
    h = _lowpass(window, rise, fall, data)
    half, count = (h.shape[0] - 1) // 2, -(-data.shape[d] * rise // fall)
    before = fall - half % fall
    first = (half + before) // fall
    missing = (first + count - 1) * fall - (h.shape[0] + before - 1 + (data.shape[d] - 1) * rise)
    wide = np.pad(h * rise, (before, max(missing, 0)))
    background = BACKGROUNDS[padtype](data, axis=d, keepdims=True) if padtype in BACKGROUNDS else None
    own = data if background is None else data - background
    mode, value = ("constant", 0) if padtype in BACKGROUNDS else (padtype, 0 if cval is None else cval)
    found = upfirdn(wide, own, rise, fall, d, mode, value)[(slice(None),) * d + (slice(first, first + count),)]
    return found if background is None else astype(found + background, found.dtype, copy=False)


def decimated(x: Any, factor: int, n: Any, axis: Any, zero_phase: bool) -> Any:
    """Return every so many samples of data that a filter of finite length has smoothed."""
    data = inexact(x)
    taps = 20 * factor if n is None else static(n)
    h = signal.firwin(taps + 1, 1.0 / factor, window="hamming").astype(data.dtype)
    if zero_phase:
        return resample_poly(data, 1, factor, axis, known(h))
    d = static_axis(axis, data.ndim)
    return upfirdn(known(h), data, 1, factor, d)[(slice(None),) * d + (slice(-(-data.shape[d] // factor)),)]
