"""Cosine and sine transforms of SciPy's, types 1 to 4, by Fourier transforms of twice the length.

With ``w = exp(-2 pi i / 2n)``, the transforms of type 2 to 4 are real parts of ``b[k] * sum(a[j] * x[j] * w^(j k))``.
Sine transforms are cosine transforms of what is turned round, or has every second sign changed (Rao and Yip 1990).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import several, static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.fourier import fitted, transform
from sdgrad.record.functions.joining import concatenate
from sdgrad.record.functions.shapes import BACKWARDS, along
from sdgrad.record.functions.table import array, known, rule
from sdgrad.record.values import Array

INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
"""The type of the transform back."""


def _scaled(x: Array, factors: Any, axis: int) -> Any:
    """Return an array times factors along an axis."""
    own = np.asarray(factors)
    if x.dtype in (np.float32, np.complex64):
        own = own.astype(np.complex64 if own.dtype.kind == "c" else np.float32)
    return x * known(own.reshape([-1 if d == axis else 1 for d in range(x.ndim)]))


def _ends(x: Array, axis: int, factor: float, *places: int) -> Any:
    """Return an array with some elements along an axis times a factor."""
    factors = np.ones(x.shape[axis])
    factors[list(places)] *= factor
    return _scaled(x, factors, axis)


def _turned(x: Array, axis: int) -> Array:
    return along(x, axis, BACKWARDS)


def _cut(x: Array, axis: int, start: int, stop: int) -> Array:
    return along(x, axis, slice(start, stop))


def _signs(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 2, -1.0, 1.0)


def _zeros(x: Array, axis: int, count: int) -> Array:
    return array(np.zeros_like(x, shape=[count if d == axis else m for d, m in enumerate(x.shape)]))


def _spectrum(x: Any, n: int, axis: int) -> Array:
    return transform(x, n, axis, None, back=False)


def _cosine(x: Array, kind: int, axis: int) -> Any:
    """Return the cosine transform without a factor."""
    n = x.shape[axis]
    if kind == 1:
        if n < 2:
            raise ValueError("DCT-I is not defined for size < 2")
        whole = concatenate([x, _turned(_cut(x, axis, 1, n - 1), axis)], axis)
        return np.real(_cut(_spectrum(whole, 2 * n - 2, axis), axis, 0, n))
    places = np.arange(n)
    turn = np.exp(-1j * np.pi * places / (2 * n))
    if kind == 2:
        return np.real(_scaled(_cut(_spectrum(x, 2 * n, axis), axis, 0, n), 2 * turn, axis))
    if kind == 3:
        before = turn * np.where(places == 0, 1, 2)
        return np.real(_cut(_spectrum(_scaled(x, before, axis), 2 * n, axis), axis, 0, n))
    after = 2 * np.exp(-1j * np.pi * (2 * places + 1) / (4 * n))
    return np.real(_scaled(_cut(_spectrum(_scaled(x, turn, axis), 2 * n, axis), axis, 0, n), after, axis))


def _sine(x: Array, kind: int, axis: int) -> Any:
    """Return the sine transform without a factor."""
    n = x.shape[axis]
    if kind == 1:
        whole = concatenate([_zeros(x, axis, 1), x], axis)
        return -2 * np.imag(_cut(_spectrum(whole, 2 * n + 2, axis), axis, 1, n + 1))
    if kind == 2:
        return _turned(_cosine(_scaled(x, _signs(n), axis), 2, axis), axis)
    return _scaled(_cosine(_turned(x, axis), kind, axis), _signs(n), axis)


def _length(kind: int, n: int, sine: bool) -> int:
    """Return how often a transform and one back count each element."""
    return 2 * (n + 1 if sine else n - 1) if kind == 1 else 2 * n


def _factor(norm: Any, length: int, back: bool) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm!r}; should be "backward", "ortho" or "forward".')
    if norm == "ortho":
        return length**-0.5
    return 1 / length if back != (norm == "forward") else 1.0


def _orthogonal(x: Array, kind: int, axis: int, sine: bool, before: bool) -> Any:
    """Return what makes the matrix of a transform orthogonal, before or after it."""
    last = x.shape[axis] - 1
    if kind == 1 and not sine:
        return _ends(x, axis, 2**0.5 if before else 0.5**0.5, 0, last)
    if kind == 2 and not before:
        return _ends(x, axis, 0.5**0.5, last if sine else 0)
    if kind == 3 and before:
        return _ends(x, axis, 2**0.5, last if sine else 0)
    return x


def _transformed(x: Any, kind: int, n: Any, axis: Any, norm: Any, back: bool, sine: bool, orthogonalize: Any) -> Any:
    """Return the transform along an axis."""
    a = array(x)
    if a.dtype.kind == "c":
        if orthogonalize is not None and bool(orthogonalize) != (norm == "ortho"):
            raise ParseError("scipy.fft ignores orthogonalize= of complex numbers: transform their two parts")
        parts = [_transformed(p, kind, n, axis, norm, back, sine, orthogonalize) for p in (np.real(a), np.imag(a))]
        return parts[0] + 1j * parts[1]
    if kind not in INVERSE:
        raise ValueError(f"invalid transform type: {kind}")
    small = a.dtype in (np.float16, np.float32)
    a = astype(a, np.float32 if small else np.float64, copy=False)
    d = static_axis(axis, a.ndim)
    count = a.shape[d] if n is None else static(n)
    if count < 1:
        raise ValueError(f"Invalid number of data points ({count}) specified.")
    own = INVERSE[kind] if back else kind
    a = fitted(a, count, d)
    straight = norm == "ortho" if orthogonalize is None else orthogonalize
    a = array(_orthogonal(a, own, d, sine, True)) if straight else a
    found: Any = array((_sine if sine else _cosine)(a, own, d))
    factor = _factor(norm, _length(own, count, sine), back)
    found = found if factor == 1.0 else found * factor
    return _orthogonal(array(found), own, d, sine, False) if straight else found


def _register(name: str, back: bool, sine: bool) -> None:
    def along_axis(
        x: Any,
        type: Any = 2,
        n: Any = None,
        axis: Any = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: Any = None,
    ) -> Any:
        return _transformed(x, static(type), n, axis, norm, back, sine, orthogonalize)

    def over_axes(
        x: Any,
        type: Any = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        orthogonalize: Any = None,
    ) -> Any:
        found = array(x)
        sizes = None if s is None else several(s)
        if axes is None:
            axes = range(found.ndim - (found.ndim if sizes is None else len(sizes)), found.ndim)
        axes = several(axes) if not isinstance(axes, range) else list(axes)
        sizes = [None] * len(axes) if sizes is None else sizes
        if len(sizes) != len(axes):
            raise ValueError("when given, axes and shape arguments have to be of the same length")
        for n, d in zip(sizes, axes, strict=True):
            found = _transformed(found, static(type), n, d, norm, back, sine, orthogonalize)
        return found

    rule(getattr(scipy.fft, name))(along_axis)
    rule(getattr(scipy.fft, f"{name}n"))(over_axes)


_kinds: dict[str, tuple[bool, bool]] = {
    "dct": (False, False),
    "idct": (True, False),
    "dst": (False, True),
    "idst": (True, True),
}
for _name, (_back, _of_sines) in _kinds.items():
    _register(_name, _back, _of_sines)
