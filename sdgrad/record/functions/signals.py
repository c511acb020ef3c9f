"""Apply further functions of signals: trends, smoothing, resampling, the analytic signal, and waveforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.fft
import scipy.signal as signal

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import static, static_axis
from sdgrad.record.functions.borders import extended
from sdgrad.record.functions.convolutions import slid
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.image_filters import per_axis
from sdgrad.record.functions.rank_filters import of_rank
from sdgrad.record.functions.table import array, fixed, known, operand, rule
from sdgrad.record.functions.undefined import undefined_where


def inexact(x: Any) -> Any:
    """Return data in floating point; other types in double precision."""
    a = array(x)
    return a if a.dtype.kind in "fc" and a.dtype != np.float16 else array(astype(a, np.float64))


def _place(t: Any, name: str) -> Any:
    """Return places of a waveform; complex ones are refused."""
    x = operand(t)
    if common([x]).kind == "c":
        raise ParseError(f"scipy.signal.{name} of complex numbers is not recorded")
    return x


def _transformed(x: Any) -> Any:
    """Return data in the type in which SciPy transforms them: there are no transforms of halves."""
    data = array(x)
    return array(astype(data, np.float32)) if data.dtype == np.float16 else inexact(data)


def _constants(values: np.ndarray, like: Any) -> Any:
    """Return known factors in the precision of some data."""
    return known(values.astype(np.empty(0, like.dtype).real.dtype))


# -- trends
@rule(signal.detrend)
def detrend(data: Any, axis: Any = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:
    """Subtract the projection on lines, or on constants."""
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    x = inexact(data)
    d = static_axis(axis, x.ndim)
    if type in ("constant", "c"):
        return x - np.mean(x, axis=d, keepdims=True)
    n, rows = x.shape[d], np.moveaxis(x, d, -1)
    breaks = sorted({0, n, *np.atleast_1d(np.asarray(fixed(bp))).tolist()})
    if breaks[-1] > n:
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    parts = []
    for first, end in zip(breaks, breaks[1:], strict=False):
        size = end - first
        basis = np.stack([np.ones(size), np.arange(1, size + 1) / size], axis=1)
        q = _constants(np.linalg.qr(basis)[0] if size > 1 else np.ones((1, 1)), x)
        own = rows[..., first:end]
        parts.append(own - (own @ q) @ q.T)
    return np.moveaxis(parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1), -1, d)


# -- smoothing
@rule(signal.savgol_filter)
def savgol_filter(
    x: Any,
    window_length: Any,
    polyorder: Any,
    deriv: Any = 0,
    delta: Any = 1.0,
    axis: Any = -1,
    mode: str = "interp",
    cval: Any = 0.0,
) -> Any:
    """Fit polynomials to windows: sums with known factors, at the ends those of the first and the last window."""
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    data = inexact(_place(array(x), "savgol_filter"))
    d, size = static_axis(axis, data.ndim), static(window_length)
    spacing = fixed(delta)
    if spacing is None:
        raise ParseError("scipy.signal.savgol_filter: delta= must be known; divide the result by it")
    options = (size, static(polyorder), static(deriv), float(spacing))
    factors = signal.savgol_coeffs(*options, use="dot")
    rows, before = np.moveaxis(data, d, -1), (size - 1) // 2
    if mode != "interp":
        wide = extended(rows, rows.ndim - 1, before, size - 1 - before, mode, cval)
        return np.moveaxis(_correlated(wide, factors), -1, d)
    if size > data.shape[d]:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    ends = signal.savgol_filter(np.eye(size), *options, axis=0, mode="interp")
    half = size // 2
    left = rows[..., :size] @ _constants(ends[:half].T, data)
    right = rows[..., -size:] @ _constants(ends[size - half :].T, data)
    first = half - before
    middle = _correlated(rows, factors)[..., first : first + rows.shape[-1] - 2 * half]
    return np.moveaxis(np.concatenate([left, middle, right], axis=-1), -1, d)


def _correlated(rows: Any, factors: np.ndarray) -> Any:
    kernel = factors.reshape([1] * (np.ndim(rows) - 1) + [-1])
    return slid(rows, _constants(kernel, rows), rows.dtype)


def _median(volume: Any, kernel_size: Any, name: str) -> Any:
    a = array(volume)
    if a.dtype.kind not in "iuf" or a.dtype == np.float16:
        raise ValueError(f"dtype={a.dtype} is not supported by {name}")
    sizes = [3] * a.ndim if kernel_size is None else [static(n) for n in per_axis(kernel_size, a.ndim)]
    if any(n % 2 != 1 for n in sizes):
        raise ValueError("Each element of kernel_size should be odd.")
    return of_rank(a, lambda count: count // 2, sizes, None, "constant", 0, 0, None, name)


@rule(signal.medfilt)
def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    return _median(np.atleast_1d(array(volume)), kernel_size, "medfilt")


@rule(signal.medfilt2d)
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    a = array(input)
    if a.ndim != 2:
        raise ValueError("expected 2-D array")
    if a.dtype not in (np.float32, np.float64):
        raise ParseError(f"scipy.signal.medfilt2d of {a.dtype} is not recorded: convert the input to floating point")
    return _median(a, kernel_size, "medfilt2d")


# -- by Fourier transforms
@rule(signal.hilbert)
def hilbert(x: Any, N: Any = None, axis: Any = -1) -> Any:  # noqa: N803 (SciPy's name)
    data = _transformed(x)
    if data.dtype.kind == "c":
        raise ValueError("x must be real.")
    d = static_axis(axis, data.ndim)
    n = data.shape[d] if N is None else static(N)
    if n <= 0:
        raise ValueError("N must be positive.")
    factors = np.zeros(n)
    factors[0] = factors[n // 2] = 1.0
    factors[1 : (n + 1) // 2] = 2.0
    if n % 2 and n > 1:
        factors[n // 2] = 2.0
    spectrum = np.fft.fft(np.moveaxis(data, d, -1), n)
    return np.moveaxis(np.fft.ifft(spectrum * _constants(factors, data)), -1, d)


def _spectral_window(window: Any, n: int) -> np.ndarray:
    if callable(window):
        return np.asarray(window(scipy.fft.fftfreq(n)))
    own = fixed(window) if not isinstance(window, (str, tuple, float)) else None
    if own is None:
        return scipy.fft.fftshift(signal.get_window(window, n))
    if np.shape(own) != (n,):
        raise ValueError(f"window.shape={np.shape(own)} != ({n},)")
    return np.array(own)


@rule(signal.resample)
def resample(x: Any, num: Any, t: Any = None, axis: Any = 0, window: Any = None, domain: str = "time") -> Any:
    if domain != "time":
        raise ParseError("scipy.signal.resample: domain='freq' is not recorded: transform back first")
    data = _transformed(x)
    if data.dtype.kind == "c":
        raise ParseError("scipy.signal.resample of complex numbers is not recorded: resample both parts")
    d, count = static_axis(axis, data.ndim), static(num)
    n = data.shape[d]
    factors, kept = np.ones(n // 2 + 1), min(count, n)
    if window is not None:
        w = _spectral_window(window, n)
        w[1:] = (w[1:] + np.flip(w[1:])) / 2
        factors = w[: n // 2 + 1]
    factors = factors[: kept // 2 + 1].copy()
    if kept % 2 == 0 and count != n:
        factors[kept // 2] *= 2.0 if count < n else 0.5
    spectrum = np.fft.rfft(np.moveaxis(data, d, -1))[..., : kept // 2 + 1] * _constants(factors * count / n, data)
    found = np.moveaxis(np.fft.irfft(spectrum, count), -1, d)
    if t is None:
        return found
    places = array(t)
    return found, places[0] + (places[1] - places[0]) * (n / count) * known(np.arange(count))


# -- waveforms
@rule(signal.square)
def square(t: Any, duty: Any = 0.5) -> Any:
    x, share = _place(t, "square") * 1.0, _place(duty, "square") * 1.0
    found = np.where(np.mod(x, 2 * math.pi) < 2 * math.pi * share, 1.0, -1.0)
    return undefined_where((share > 1) | (share < 0), found, x, share)


@rule(signal.sawtooth)
def sawtooth(t: Any, width: Any = 1) -> Any:
    x, share = _place(t, "sawtooth") * 1.0, _place(width, "sawtooth") * 1.0
    at = np.mod(x, 2 * math.pi)
    rises = at < 2 * math.pi * share
    up = at / np.where(rises, math.pi * share, 1.0) - 1.0
    down = (math.pi * (share + 1.0) - at) / np.where(rises | (share == 1), 1.0, math.pi * (1.0 - share))
    found = undefined_where((share > 1) | (share < 0), np.where(rises, up, down), x, share)
    return inexact(astype(found, np.float64))[()]  # in double precision, as SciPy's


def _chirp_phase(t: Any, f0: Any, t1: Any, f1: Any, method: str, vertex_zero: bool) -> Any:
    if method in ("linear", "lin", "li"):
        return f0 * t + 0.5 * (f1 - f0) / t1 * t * t
    if method in ("quadratic", "quad", "q"):
        rate = (f1 - f0) / t1**2
        return f0 * t + rate * t**3 / 3 if vertex_zero else f1 * t + rate * ((t1 - t) ** 3 - t1**3) / 3
    if method in ("hyperbolic", "hyp"):
        singular = -f1 * t1 / (f0 - f1)
        return -singular * f0 * np.log(np.abs(1 - t / singular))
    if method in ("logarithmic", "log", "lo"):
        rate = t1 / np.log(f1 / f0)
        return rate * f0 * ((f1 / f0) ** (t / t1) - 1.0)
    raise ValueError(
        f"method must be 'linear', 'quadratic', 'logarithmic', or 'hyperbolic', but a value of {method!r} was given."
    )


@rule(signal.chirp)
def chirp(
    t: Any,
    f0: Any,
    t1: Any,
    f1: Any,
    method: str = "linear",
    phi: Any = 0,
    vertex_zero: bool = True,
    *,
    complex: bool = False,
) -> Any:
    given = [_place(v, "chirp") for v in (f0, f1)]
    if method[:1] == "l" and method[:3] == "log" or method[:1] == "h":
        if fixed(given[0]) is None or fixed(given[1]) is None or given[0] == given[1]:
            raise ParseError(f"scipy.signal.chirp: method={method!r} needs two different known frequencies")
        if method[:1] != "h" and given[0] * given[1] <= 0:
            raise ValueError("For a logarithmic chirp, f0 and f1 must be nonzero and have the same sign.")
    phase = 2 * math.pi * _chirp_phase(_place(t, "chirp"), given[0], _place(t1, "chirp"), given[1], method, vertex_zero)
    whole = phase + np.deg2rad(operand(phi))  # in double precision, as SciPy
    return np.cos(whole) + 1j * np.sin(whole) if complex else np.cos(whole)


@rule(signal.gausspulse)
def gausspulse(
    t: Any, fc: Any = 1000, bw: Any = 0.5, bwr: Any = -6, tpr: Any = -60, retquad: bool = False, retenv: bool = False
) -> Any:
    if isinstance(t, str):
        raise ParseError("scipy.signal.gausspulse: 'cutoff' is not recorded")
    x, centre, width = (_place(v, "gausspulse") for v in (t, fc, bw))
    reference = -np.log(10.0) * operand(bwr) / 20  # in double precision, as SciPy
    envelope = np.exp(-((math.pi * centre * width) ** 2 / (4.0 * reference)) * x * x)
    phase = 2 * math.pi * centre * x
    found = [envelope * np.cos(phase)]
    found += [envelope * np.sin(phase)] if retquad else []
    found += [envelope] if retenv else []
    return tuple(found) if len(found) > 1 else found[0]
