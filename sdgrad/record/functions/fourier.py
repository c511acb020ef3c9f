"""Fourier transforms: of vectors by a library node, of other arrays along an axis, a vector after the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from dace.libraries.fft import FFT, IFFT

from sdgrad.record.functions.arguments import several, static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.joining import concatenate, roll
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.shapes import along, moveaxis, reshape
from sdgrad.record.functions.table import array, rule
from sdgrad.record.values import Array

NORMS = {None: "backward", "backward": "backward", "ortho": "ortho", "forward": "forward"}


def _factor(norm: Any, n: int, back: bool) -> float:
    if norm not in NORMS:
        raise ValueError(f'Invalid norm value {norm!r}; should be "backward", "ortho" or "forward".')
    scaled = {"backward": back, "forward": not back, "ortho": None}[NORMS[norm]]
    return math.sqrt(1 / n) if scaled is None else 1 / n if scaled else 1.0


def _fitted(a: Array, n: int, axis: int) -> Array:
    """Return an array cut off, or with zeros after it, such that it has as many elements along an axis."""
    own = a.shape[axis]
    if own >= n:
        return along(a, axis, slice(None, n))
    zeros = np.zeros_like(a, shape=[n - own if d == axis else m for d, m in enumerate(a.shape)])
    return concatenate([a, zeros], axis)


def transform(a: Any, n: Any, axis: Any, norm: Any, back: bool) -> Array:
    """Return the transform along an axis."""
    x = array(a)
    d = static_axis(axis, x.ndim)
    count = x.shape[d] if n is None else static(n)
    if count < 1:
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")
    own = np.dtype(np.complex64 if x.dtype in (np.float32, np.complex64) else np.complex128)
    x = moveaxis(_fitted(astype(x, own, copy=False), count, d), d, -1)
    lead = x.shape[:-1]
    recorder, rows = x.recorder, tensor_of(reshape(x, (-1, count)))
    found = recorder.array(recorder.declare("t", rows.shape, own))

    def turn(k: Any) -> None:
        node = (IFFT if back else FFT)("ifft" if back else "fft")
        node.factor = _factor(norm, count, back)
        row = recorder.call(node, {"_inp": rows.select(0, k)}, "_out", (count,), own)
        recorder.copy(row, found.tensor.select(0, k))

    if rows.shape[0] == 1:
        turn(0)
    else:
        with recorder.loop(rows.shape[0]) as k:
            turn(k)
    return moveaxis(reshape(found, (*lead, count)), -1, d)


@rule(np.fft.fft)
def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return transform(a, n, axis, norm, False)


@rule(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return transform(a, n, axis, norm, True)


@rule(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    found = transform(a, n, axis, norm, False)
    d = static_axis(axis, found.ndim)
    return along(found, d, slice(None, found.shape[d] // 2 + 1))


@rule(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """Transform half a spectrum back: the other half has the conjugates."""
    x = array(a)
    d = static_axis(axis, x.ndim)
    count = 2 * (x.shape[d] - 1) if n is None else static(n)
    half = _fitted(astype(x, np.result_type(x.dtype, np.complex64), copy=False), count // 2 + 1, d)
    ends = [along(half, d, slice(None, 1))]
    if count % 2 == 0 and count > 1:
        ends.append(along(half, d, slice(count // 2, None)))
    inner = along(half, d, slice(1, (count + 1) // 2))
    single = [np.real(e) + 0j for e in ends]
    parts = [single[0], inner, *single[1:], np.conjugate(np.flip(inner, d))]
    return np.real(transform(concatenate(parts, d), count, d, norm, True))


def _over_axes(function: Any, of: Any, default: Any) -> None:
    def several_axes(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        found = array(a)
        if axes is None:
            axes = list(range(found.ndim - len(s) if s is not None else 0, found.ndim))
        sizes = [None] * len(axes) if s is None else [None if n == -1 else n for n in s]
        for n, d in reversed(list(zip(sizes, axes, strict=True))):
            found = of(found, n, d, norm)
        return found

    rule(function)(several_axes)


_over_axes(np.fft.fft2, fft, (-2, -1))
_over_axes(np.fft.ifft2, ifft, (-2, -1))
_over_axes(np.fft.fftn, fft, None)
_over_axes(np.fft.ifftn, ifft, None)


def _shift(function: Any, by: Any) -> None:
    def shift(x: Any, axes: Any = None) -> Any:
        a = array(x)
        along_ = list(range(a.ndim)) if axes is None else several(axes)
        return roll(a, [by(a.shape[d]) for d in along_], along_)

    rule(function)(shift)


_shift(np.fft.fftshift, lambda n: n // 2)
_shift(np.fft.ifftshift, lambda n: -(n // 2))
