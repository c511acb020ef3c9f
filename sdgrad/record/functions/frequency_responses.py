"""Apply frequency responses of filters, and periodograms of samples at any times, of ``scipy.signal``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.signal as signal

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import require, static
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.table import array, operand, rule
from sdgrad.record.values import is_recorded


def _coefficients(values: Any, name: str) -> Any:
    """Return coefficients in floating point."""
    found = np.atleast_1d(array(values))
    if found.ndim != 1:
        raise ParseError(f"scipy.signal.{name} of several filters is not recorded: write a loop over them")
    return found if found.dtype.kind in "fc" else astype(found, np.float64)


def _angles(places: Any, whole: Any, endpoint: bool, fs: Any, dtype: Any) -> Any:
    """Return frequencies in radians for each sample: so many, or those that are given."""
    count = 512 if places is None else places
    if np.ndim(count) == 0 and (isinstance(count, int) or getattr(count, "dtype", np.dtype(float)).kind in "iu"):
        if static(count) < 0:
            raise ValueError(f"worN must be nonnegative, got {static(count)}")
        return np.linspace(0, 2 * math.pi if whole else math.pi, static(count), endpoint=endpoint, dtype=dtype)
    return 2 * math.pi * np.atleast_1d(array(places)) / fs


def _real(*parts: Any) -> np.dtype:
    """Return the real type that frequencies of some coefficients have."""
    return np.empty(0, common(list(parts))).real.dtype


def _plotted(plot: Any, name: str) -> None:
    if plot is not None:
        raise ParseError(f"scipy.signal.{name}: plot= is not recorded: plot what it returns")


def _of_powers(c: Any, x: Any) -> Any:
    """Return polynomials with coefficients from the lowest power on, at numbers of magnitude 1."""
    return astype(x[:, None] ** np.arange(np.shape(c)[0]), x.dtype) @ c


@rule(signal.freqz)
def freqz(
    b: Any,
    a: Any = 1,
    worN: Any = 512,  # noqa: N803 (SciPy's names)
    whole: Any = False,
    plot: Any = None,
    fs: Any = 2 * math.pi,
    include_nyquist: Any = False,
) -> tuple[Any, Any]:
    _plotted(plot, "freqz")
    above, below = _coefficients(b, "freqz"), _coefficients(a, "freqz")
    w = _angles(worN, whole, bool(include_nyquist and not whole), fs, _real(above, below))
    turned = np.exp(-1j * w)
    return w * (fs / (2 * math.pi)), _of_powers(above, turned) / _of_powers(below, turned)


@rule(signal.freqz_sos, signal.sosfreqz)
def freqz_sos(
    sos: Any,
    worN: Any = 512,  # noqa: N803
    whole: Any = False,
    fs: Any = 2 * math.pi,
) -> tuple[Any, Any]:
    rows = array(sos)
    if rows.ndim != 2 or np.shape(rows)[1] != 6 or not np.shape(rows)[0]:
        raise ValueError("sos array must be shape (n_sections, 6), of one section at least")
    require(np.all(rows[:, 3] == 1), "sos[:, 3] should be all ones")
    parts = [freqz(row[:3], row[3:], worN, whole, None, fs) for row in rows]
    found = parts[0][1]
    for _, factor in parts[1:]:
        found = found * factor
    return parts[0][0], found


@rule(signal.freqz_zpk)
def freqz_zpk(
    z: Any,
    p: Any,
    k: Any,
    worN: Any = 512,  # noqa: N803
    whole: Any = False,
    fs: Any = 2 * math.pi,
) -> tuple[Any, Any]:
    zeros, poles = _coefficients(z, "freqz_zpk"), _coefficients(p, "freqz_zpk")
    w = _angles(worN, whole, False, fs, _real(zeros, poles))
    turned = np.exp(1j * w)
    found = np.real(operand(k))
    for root in zeros:
        found = found * (turned - root)
    for root in poles:
        found = found / (turned - root)
    return w * (fs / (2 * math.pi)), found


@rule(signal.freqs)
def freqs(b: Any, a: Any, worN: Any = 200, plot: Any = None) -> tuple[Any, Any]:  # noqa: N803
    _plotted(plot, "freqs")
    if worN is None or np.ndim(worN) == 0 and not is_recorded(worN) and isinstance(worN, int):
        raise ParseError("scipy.signal.freqs chooses its places by roots that only a run knows: pass them as worN=")
    w = np.atleast_1d(array(worN))
    s = 1j * w
    return w, np.polyval(array(b), s) / np.polyval(array(a), s)


# -- samples at any times
NORMALIZED = {False: "power", True: "normalize"}


@rule(signal.lombscargle)
def lombscargle(
    x: Any,
    y: Any,
    freqs: Any,
    precenter: Any = None,
    normalize: Any = False,
    *,
    weights: Any = None,
    floating_mean: bool = False,
) -> Any:
    """Return the power of least-squares fits of sine waves (Zechmeister and Kuerster 2009)."""
    form = NORMALIZED.get(normalize, normalize)
    if form not in ("power", "normalize", "amplitude"):
        raise ValueError("Normalize must be: False (or 'power'), True (or 'normalize'), or 'amplitude'.")
    x, y, freqs = (array(astype(array(v), np.float64)) for v in (x, y, freqs))
    weights = array(np.ones(y.shape) if weights is None else astype(array(weights), np.float64))
    if x.ndim != 1 or not x.size or not x.shape == y.shape == weights.shape:
        raise ValueError("Parameters x, y, weights must be 1-D arrays of equal non-zero length!")
    if freqs.ndim != 1 or not freqs.size:
        raise ValueError("Parameter freqs must be a 1-D array of non-zero length!")
    told = "Parameter weights must have only non-negative entries which sum to a positive value!"
    require(np.logical_and(np.all(np.greater_equal(weights, 0)), np.greater(np.sum(weights), 0)), told)
    w = weights / np.sum(weights)
    y = y - np.mean(y) if precenter is True else y
    return _fitted(w, y, np.outer(x, freqs), form, floating_mean)


def _fitted(w: Any, y: Any, angle: Any, form: str, floating: bool) -> Any:
    """Return the periodogram for weights of the sum 1, and angles of samples and frequencies."""
    mean, cosines, sines = np.dot(w, y), np.cos(angle), np.sin(angle)
    cc, ss, cs = _moments(w, cosines, sines, floating)
    tau = 0.5 * np.arctan2(2.0 * cs, cc - ss)
    cosines, sines = np.cos(angle - tau), np.sin(angle - tau)
    cc, ss, _ = _moments(w, cosines, sines, floating)
    yc, ys = (w * y) @ cosines, (w * y) @ sines
    if floating:
        yc, ys = yc - mean * (w @ cosines), ys - mean * (w @ sines)
    least = np.finfo(float).epsneg
    a, b = yc / np.where(cc < least, least, cc), ys / np.where(ss < least, least, ss)
    if form == "amplitude":
        return (a + 1j * b) * np.exp(1j * tau)
    power = 2.0 * (a * yc + b * ys)
    if form == "power":
        return power * (y.shape[0] / 4.0)
    whole = np.dot(w * y, y)
    return power * (0.5 / (whole - mean * mean if floating else whole))


def _moments(w: Any, cosines: Any, sines: Any, floating: bool) -> tuple[Any, Any, Any]:
    """Return weighted means of the squares of cosines and sines, and of their product."""
    cc, cs = w @ (cosines * cosines), w @ (cosines * sines)
    ss = 1.0 - cc
    if not floating:
        return cc, ss, cs
    c, s = w @ cosines, w @ sines
    return cc - c * c, ss - s * s, cs - c * s
