"""Apply spectra of ``scipy.signal``: Fourier transforms of segments under a window, which may be recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.signal as signal

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.signals import detrend as without_trend
from sdgrad.record.functions.table import array, fixed, known, rule
from sdgrad.record.values import is_recorded


@dataclass(frozen=True)
class Segments:
    """Say how data are cut: lengths of a segment, of what two share, and of the transform."""

    window: Any
    overlap: int
    nfft: int
    fs: float

    @property
    def size(self) -> int:
        return int(np.shape(self.window)[0])

    @property
    def step(self) -> int:
        return self.size - self.overlap


def _constant(value: Any, what: str) -> Any:
    found = fixed(value)
    if found is None:
        raise ParseError(f"scipy.signal: {what} must be known when recording")
    return found


def segments(window: Any, nperseg: Any, noverlap: Any, nfft: Any, fs: Any, n: int | None) -> Segments:
    """Return how data are cut.

    :param n: the length of the data, which a named window does not exceed; None for what is put together again.
    :raises ValueError: as SciPy.
    """
    if isinstance(window, (str, tuple)):
        size = 256 if nperseg is None else static(nperseg)
        if size < 1:
            raise ValueError("nperseg must be a positive integer")
        own = signal.get_window(window, size if n is None else min(size, n))
    else:
        found = fixed(array(window))
        own = array(window) if found is None else np.asarray(found)
        if own.dtype.kind == "c":
            raise ParseError("scipy.signal: a complex window is not recorded: multiply data by it, and use np.fft")
        if own.ndim != 1 or n is not None and n < own.shape[0]:
            raise ValueError("window must be 1-D, and not longer than the input")
        if nperseg is not None and static(nperseg) != own.shape[0]:
            raise ValueError("value specified for nperseg is different from length of window")
    size = int(own.shape[0])
    length = size if nfft is None else static(nfft)
    overlap = size // 2 if noverlap is None else static(noverlap)
    if length < size:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    if overlap >= size:
        raise ValueError("noverlap must be less than nperseg.")
    return Segments(own, overlap, length, float(_constant(fs, "fs")))


def _of_type(factors: Any, dtype: Any) -> Any:
    """Return factors, known or recorded, in the precision of data."""
    real = np.empty(0, dtype).real.dtype
    return astype(array(factors), real, copy=False) if is_recorded(factors) else known(np.asarray(factors).astype(real))


def _scale(s: Segments, scaling: str) -> Any:
    """Return the factor of a power spectrum."""
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling!r}")
    return 1.0 / (s.fs * np.sum(s.window * s.window)) if scaling == "density" else 1.0 / np.sum(s.window) ** 2


def _working(dtype: Any) -> Any:
    return np.float32 if dtype == np.float16 else np.float64


def _data(x: Any, axis: Any) -> tuple[Any, int]:
    """Return inexact data with the axis to transform as the last one, and which that was."""
    a = array(x)
    d = static_axis(axis, a.ndim)
    own: Any = a if a.dtype.kind in "fc" and a.dtype != np.float16 else array(astype(a, _working(a.dtype)))
    return np.moveaxis(own, d, -1), d


def transforms(x: Any, s: Segments, detrend: Any, onesided: bool) -> Any:
    """Return the transforms of segments along the last axis: it becomes one of segments, and one of frequencies."""
    count = (np.shape(x)[-1] - s.overlap) // s.step
    places = np.arange(count)[:, None] * s.step + np.arange(s.size)
    parts = x[..., known(places)]
    if callable(detrend):
        raise ParseError("scipy.signal: a function as detrend= is not recorded")
    if detrend:
        parts = without_trend(parts, -1, detrend)
    windowed = parts * _of_type(s.window, x.dtype)
    return np.fft.rfft(windowed, s.nfft) if onesided else np.fft.fft(windowed, s.nfft)


def _frequencies(s: Segments, onesided: bool) -> Any:
    return known((np.fft.rfftfreq if onesided else np.fft.fftfreq)(s.nfft, 1 / s.fs))


def _times(s: Segments, n: int, extended: bool) -> Any:
    found = np.arange(s.size / 2, n - s.size / 2 + 1, s.step) / s.fs
    return known(found - (s.size / 2) / s.fs if extended else found)


def _turned(found: Any, axis: int) -> Any:
    """Return segments by frequencies with frequencies where the data had their axis, and segments last."""
    return np.moveaxis(np.swapaxes(found, -1, -2), -2, axis)


def _doubled(s: Segments, onesided: bool) -> np.ndarray:
    """Return how often each frequency counts."""
    factors = np.full(s.nfft // 2 + 1 if onesided else s.nfft, 2.0 if onesided else 1.0)
    factors[0] = 1.0
    if onesided and s.nfft % 2 == 0:
        factors[-1] = 1.0
    return factors


def _powers(x: Any, y: Any, s: Segments, detrend: Any, onesided: bool, scaling: str) -> Any:
    """Return the products of the spectra of segments; real ones where both are the same."""
    first = transforms(x, s, detrend, onesided)
    factors = _scale(s, scaling) * _doubled(s, onesided)
    if y is None:
        return (np.real(first) ** 2 + np.imag(first) ** 2) * _of_type(factors, first.dtype)
    second = transforms(y, s, detrend, onesided)
    return np.conj(first) * second * _of_type(factors, second.dtype)


def _is_onesided(onesided: bool, *data: Any) -> bool:
    return onesided and common([array(d) for d in data]).kind != "c"


@rule(signal.csd)
def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: Any = -1,
    average: str = "mean",
) -> Any:
    if average != "mean":
        raise ParseError(f"scipy.signal.welch: average={average!r} is not recorded: use 'mean'")
    first, d = _data(x, axis)
    second = None if y is None or y is x else _data(y, axis)[0]
    if second is not None and second.shape[-1] != first.shape[-1]:
        raise ParseError("scipy.signal.csd of data of different lengths is not recorded: pad the shorter one")
    onesided = _is_onesided(return_onesided, *([first] if second is None else [first, second]))
    s = segments(window, nperseg, noverlap, nfft, fs, np.shape(first)[-1])
    found = np.mean(_powers(first, second, s, detrend, onesided, scaling), axis=-2)
    return _frequencies(s, onesided), np.moveaxis(found, -1, d)


@rule(signal.welch)
def welch(x: Any, *args: Any, **kwargs: Any) -> Any:
    return csd(x, None, *args, **kwargs)


@rule(signal.periodogram)
def periodogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = "boxcar",
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: Any = -1,
) -> Any:
    data, length = array(x), None if nfft is None else static(nfft)
    d = static_axis(axis, data.ndim)
    size = data.shape[d]
    if length is not None and length < size:
        data, size, length = data[(slice(None),) * d + (slice(length),)], length, None
    own = "boxcar" if window is None else window
    return csd(data, None, fs, own, size, 0, length, detrend, return_onesided, scaling, d)


@rule(signal.coherence)
def coherence(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    axis: Any = -1,
) -> Any:
    options = {"nperseg": nperseg, "noverlap": noverlap, "nfft": nfft, "detrend": detrend, "axis": axis}
    places, first = welch(x, fs, window, **options)
    across = csd(x, y, fs, window, **options)[1]
    power = np.real(across) ** 2 + np.imag(across) ** 2  # smooth at zero, unlike the square of a magnitude
    return places, power / first / welch(y, fs, window, **options)[1]


@rule(signal.spectrogram)
def spectrogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: Any = -1,
    mode: str = "psd",
) -> Any:
    if mode not in ("psd", "complex", "magnitude"):
        raise ParseError(f"scipy.signal.spectrogram: mode={mode!r} is not recorded")
    data, d = _data(x, axis)
    onesided = _is_onesided(return_onesided, data)
    s = segments(window, nperseg, 0, nfft, fs, np.shape(data)[-1])
    s = Segments(s.window, s.size // 8 if noverlap is None else static(noverlap), s.nfft, s.fs)
    if s.overlap >= s.size:
        raise ValueError("noverlap must be less than nperseg.")
    if mode == "psd":
        found = _powers(data, None, s, detrend, onesided, scaling)
    else:
        found = transforms(data, s, detrend, onesided) * _of_type(np.sqrt(_scale(s, scaling)), data.dtype)
        found = np.abs(found) if mode == "magnitude" else found
    return _frequencies(s, onesided), _times(s, np.shape(data)[-1], False), _turned(found, d)


def _continued(x: Any, boundary: Any, by: int) -> Any:
    """Return data continued at both ends of the last axis."""
    if boundary is None or not by:
        return x
    n = np.shape(x)[-1]
    if boundary == "zeros":
        return np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(by, by)])
    if boundary not in ("even", "odd", "constant"):
        raise ValueError(f"Unknown boundary option '{boundary}'")
    before, after = np.arange(by, 0, -1), np.arange(n - 2, n - 2 - by, -1)
    if boundary == "constant":
        before, after = 0 * before, 0 * after + n - 1
    left, right = x[..., known(before)], x[..., known(after)]
    if boundary == "odd":
        left, right = 2 * x[..., :1] - left, 2 * x[..., -1:] - right
    return np.concatenate([left, x, right], axis=-1)


@rule(signal.stft)
def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = 256,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: Any = "zeros",
    padded: bool = True,
    axis: Any = -1,
    scaling: str = "spectrum",
) -> Any:
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    data, d = _data(x, axis)
    s = segments(window, nperseg, noverlap, nfft, fs, np.shape(data)[-1])
    wide = _continued(data, boundary, s.size // 2)
    more = (-(np.shape(wide)[-1] - s.size) % s.step) % s.size if padded else 0
    if more:
        wide = np.pad(wide, [(0, 0)] * (np.ndim(wide) - 1) + [(0, more)])
    onesided = _is_onesided(return_onesided, data)
    factor = np.sqrt(_scale(s, "density" if scaling == "psd" else scaling))
    found = transforms(wide, s, detrend, onesided) * _of_type(factor, data.dtype)
    return _frequencies(s, onesided), _times(s, np.shape(wide)[-1], boundary is not None), _turned(found, d)


@rule(signal.istft)
def istft(
    Zxx: Any,  # noqa: N803 (SciPy's name)
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    input_onesided: bool = True,
    boundary: Any = True,
    time_axis: Any = -1,
    freq_axis: Any = -2,
    scaling: str = "spectrum",
) -> Any:
    """Add up windowed segments, divided by the sum of the squares of their windows."""
    z: Any = array(Zxx)
    d, e = static_axis(time_axis, z.ndim), static_axis(freq_axis, z.ndim)
    if d == e:
        raise ValueError("Must specify differing time and frequency axes!")
    z = np.moveaxis(z, (d, e), (-2, -1))
    default = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    size = default if nperseg is None else static(nperseg)
    length = nfft
    if nfft is None:
        length = size if input_onesided and size == default + 1 else default
    s = segments(window, size, noverlap, length, fs, None)
    parts = (np.fft.irfft if input_onesided else np.fft.ifft)(z, s.nfft)[..., : s.size]
    factor = np.sum(s.window) if scaling == "spectrum" else np.sqrt(s.fs * np.sum(s.window**2))
    whole, norm = _overlapping(parts * _of_type(factor * s.window, parts.dtype), s)
    if boundary:
        half = s.size // 2
        whole, norm = whole[..., half:-half], norm[half:-half]
    whole = whole / _of_type(np.where(norm > 1e-10, norm, 1.0), parts.dtype)
    times = known(np.arange(whole.shape[0]) / s.fs)  # as SciPy: of the first axis
    place = d - (1 if e < d else 0)
    return times, np.moveaxis(whole, -1, place)


def _overlapping(parts: Any, s: Segments) -> tuple[Any, Any]:
    """Return the sum of segments at their places, and that of the squares of their windows."""
    count = np.shape(parts)[-2]
    total = s.size + (count - 1) * s.step
    places = np.arange(count)[:, None] * s.step + np.arange(s.size)
    norm = np.zeros_like(s.window, shape=(total,), dtype=float)
    np.add.at(norm, places.ravel(), np.tile(s.window**2, count))
    others = np.shape(parts)[:-2]
    rows = np.moveaxis(np.reshape(parts, (-1, count * s.size)), -1, 0)
    found = np.zeros_like(rows, shape=(total, rows.shape[1]))
    np.add.at(found, known(places.ravel()), rows)
    return np.reshape(np.moveaxis(found, 0, -1), (*others, total)), norm
