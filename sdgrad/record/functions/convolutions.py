"""Apply convolutions and correlations of ``scipy.signal``: sums by element, or Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.fft
import scipy.signal as signal

from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import axes_of
from sdgrad.record.functions.borders import extended
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import array, rule
from sdgrad.record.values import Array

DIRECT = 2_000_000
"""Products up to which ``convolve`` adds them up one by one."""


def slid(a: Any, v: Any, dtype: Any) -> Array:
    """Return the sums of an array's elements times a kernel of the same rank, at all places where it lies inside."""
    x, w = (astype(array(p), dtype, copy=False) for p in (a, v))
    wide, factors, rank = tensor_of(array(x)), tensor_of(array(w)), np.ndim(x)
    shape = [m - n + 1 for m, n in zip(np.shape(x), np.shape(w), strict=True)]

    def term(out: tuple, k: tuple) -> Any:
        return wide[tuple(out[d] + k[d] for d in range(rank))] * factors[k]

    recorder: Any = array(x).recorder
    return recorder.array(recorder.reduction(shape, np.shape(w), term, "sum", dtype))


def turned(v: Any) -> Any:
    """Return an array with all axes the other way round."""
    return v[(slice(None, None, -1),) * np.ndim(v)]


def _spans(m: Sequence[int], n: Sequence[int], mode: str, axes: Sequence[int]) -> list[tuple[int, int]]:
    """Return where the result of a mode starts in the full one, and how long it is, along some axes."""
    spans = []
    for d in axes:
        a, b = m[d], n[d]
        spans.append({
            "full": (0, a + b - 1), "same": ((b - 1) // 2, a), "valid": (min(a, b) - 1, abs(a - b) + 1),
        }[mode])  # fmt: skip
    return spans


def _pair(in1: Any, in2: Any, mode: str, axes: Sequence[int] | None = None) -> tuple[Any, Any, Any]:
    """Return both operands in their common type.

    :raises ValueError: as SciPy: the ranks differ, or neither is inside of the other one for "valid".
    """
    a, v = array(in1), array(in2)
    if a.ndim != v.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode not in ("full", "same", "valid"):
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    pairs = [(a.shape[d], v.shape[d]) for d in (range(a.ndim) if axes is None else axes)]
    if mode == "valid" and not (all(p >= q for p, q in pairs) or all(p <= q for p, q in pairs)):
        raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
    return a, v, common([a, v])


def _direct(a: Any, v: Any, mode: str, dtype: Any, border: str = "constant", fill: Any = 0.0, shift: int = 0) -> Array:
    """Return a convolution, added up one by one.

    :param shift: moves "same" for kernels of even sizes.
    """
    if mode == "valid" and any(m < n for m, n in zip(np.shape(a), np.shape(v), strict=True)):
        a, v = v, a
    for d, (start, count) in enumerate(_spans(np.shape(a), np.shape(v), mode, range(np.ndim(a)))):
        m, n = np.shape(a)[d], np.shape(v)[d]
        first = start + (shift if mode == "same" and n % 2 == 0 else 0)
        before = n - 1 - first
        a = extended(a, d, max(before, 0), max(first + count - m, 0), border, fill)
        a = a[(slice(None),) * d + (slice(max(-before, 0), max(-before, 0) + count + n - 1),)]
    return slid(a, turned(v), dtype)


def _by_transforms(a: Any, v: Any, mode: str, axes: Sequence[int], dtype: Any) -> Any:
    sizes = [np.shape(a)[d] + np.shape(v)[d] - 1 for d in axes]
    real = dtype.kind != "c"
    lengths = [scipy.fft.next_fast_len(n, real) for n in sizes]
    there, back = (np.fft.rfftn, np.fft.irfftn) if real else (np.fft.fftn, np.fft.ifftn)
    found = back(there(a, lengths, axes) * there(v, lengths, axes), lengths, axes)
    index = [slice(None)] * np.ndim(found)
    for d, (start, count) in zip(axes, _spans(np.shape(a), np.shape(v), mode, axes), strict=True):
        index[d] = slice(start, start + count)
    return found[tuple(index)]


@rule(signal.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    a, v, dtype = _pair(in1, in2, mode)
    if not a.ndim:
        return a * v
    if method not in ("auto", "direct", "fft"):
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    large = math.prod(a.shape) * math.prod(v.shape) > DIRECT and min(a.size, v.size) > 64
    if dtype.kind in "fc" and (method == "fft" or method == "auto" and large):
        return _by_transforms(a, v, mode, range(a.ndim), dtype)
    return _direct(a, v, mode, dtype)


@rule(signal.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    return convolve(in1, turned(np.conj(array(in2))), mode, method)


@rule(signal.fftconvolve, signal.oaconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    own = axes_of(axes, np.ndim(in1))
    a, v, dtype = _pair(in1, in2, mode, own)
    if not a.ndim:
        return a * v
    kept = [d for d in own if not (axes is not None and a.shape[d] == 1 and v.shape[d] == 1)]
    exact = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    return _by_transforms(a, v, mode, kept, exact) if kept else a * v


BORDERS = {
    "fill": "constant",
    "pad": "constant",
    "wrap": "wrap",
    "circular": "wrap",
    "symm": "reflect",
    "symmetric": "reflect",
}


def _in_two(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, shift: int) -> Any:
    """Return a convolution of images. ``shift`` moves "same" for kernels of even sizes."""
    a, v, dtype = _pair(in1, in2, mode)
    if a.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    if boundary not in BORDERS:
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm').")
    return _direct(a, v, mode, dtype, BORDERS[boundary], fillvalue, shift)


@rule(signal.convolve2d)
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    return _in_two(in1, in2, mode, boundary, fillvalue, 0)


@rule(signal.correlate2d)
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    return _in_two(in1, turned(np.conj(array(in2))), mode, boundary, fillvalue, 1)
