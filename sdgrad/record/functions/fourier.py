"""Fourier transforms of NumPy and SciPy: library nodes that transform along one axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.fft

from sdgrad.record.elements import Dim, divided
from sdgrad.record.functions.arguments import several, static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.joining import concatenate, roll
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.shapes import along
from sdgrad.record.functions.table import array, operand, rule
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array
from sdgrad.runtime.libraries.fft import FourierTransform

POWERS = {"backward": (0.0, -1.0), "ortho": (-0.5, -0.5), "forward": (-1.0, 0.0)}
"""The power of the length that is the factor, of a transform and of one back."""


def _power(norm: Any, back: bool) -> float:
    if norm is not None and norm not in POWERS:
        raise ValueError(f'Invalid norm value {norm!r}; should be "backward", "ortho" or "forward".')
    return POWERS[norm or "backward"][back]


def _length(n: Any, default: Dim) -> Dim:
    count = default if n is None else static(n)
    if isinstance(count, int) and count < 1:
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")
    return count


def _inexact(a: Any, real: bool) -> Array:
    """Return an array in a type that can be transformed."""
    x = array(a)
    if real and x.dtype.kind == "c":
        raise TypeError("a transform of real numbers has a complex argument")
    single = x.dtype in (np.float32, np.complex64, np.float16)
    own = (np.complex64 if single else np.complex128) if x.dtype.kind == "c" else np.float32 if single else np.float64
    return astype(x, np.dtype(own), copy=False)


def fitted(a: Array, n: Dim, axis: int) -> Array:
    """Return an array cut off, or with zeros after it, such that it has as many elements along an axis."""
    own = a.tensor.shape[axis]
    if own == n:
        return a
    if not isinstance(own, int) or not isinstance(n, int):
        raise ValueError("n= needs an axis whose length does not change")
    if own > n:
        return along(a, axis, slice(None, n))
    zeros = np.zeros_like(a, shape=[n - own if d == axis else m for d, m in enumerate(a.shape)])
    return concatenate([a, zeros], axis)


def node_along(shape: Sequence[Dim], axis: int, **kinds: Any) -> FourierTransform:
    """Return the node for operands of a shape: dimensions of one element do not count."""
    wide = [d for d, n in enumerate(shape) if n != 1 or d == axis]
    return FourierTransform(rank=len(wide), axis=wide.index(axis), **kinds)


def _transformed(x: Array, axis: int, n: Dim, result: np.dtype, kinds: dict[str, Any]) -> Array:
    """Return the transform along an axis.

    :param n: the extent of the result.
    :param kinds: the parameters of the node.
    """
    shape = [n if d == axis else m for d, m in enumerate(x.tensor.shape)]
    given: Tensor = tensor_of(x)
    if given.shape[axis] == 1 and n == 1:
        return astype(x.real if result.kind == "f" else x, result)
    node = node_along(shape, axis, **kinds)
    return x.recorder.array(x.recorder.call(node, {"_inp": given}, "_out", shape, result))


def _complex(dtype: Any) -> np.dtype:
    return np.result_type(dtype, np.complex64)


def _real(dtype: Any) -> np.dtype:
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def transform(a: Any, n: Any, axis: Any, norm: Any, back: bool) -> Array:
    """Return the transform along an axis."""
    x = _inexact(a, real=False)
    d = static_axis(axis, x.ndim)
    count = _length(n, x.tensor.shape[d])
    kinds = {"back": back, "power": _power(norm, back)}
    return _transformed(fitted(x, count, d), d, count, _complex(x.dtype), kinds)


def halved(a: Any, n: Any, axis: Any, norm: Any, back: bool, inverse: bool) -> Array:
    """Return the first half of the spectrum of real numbers.

    :param back: the exponent has a positive sign.
    :param inverse: the factor is that of a transform back.
    """
    x = _inexact(a, real=True)
    d = static_axis(axis, x.ndim)
    count = _length(n, x.tensor.shape[d])
    kinds = {"back": back, "power": _power(norm, inverse), "half": True}
    return _transformed(fitted(x, count, d), d, divided(count, 2) + 1, _complex(x.dtype), kinds)


def completed(a: Any, n: Any, axis: Any, norm: Any, back: bool, inverse: bool) -> Array:
    """Return the real numbers that half a spectrum belongs to."""
    x = _inexact(a, real=False)
    x = astype(x, _complex(x.dtype), copy=False)
    d = static_axis(axis, x.ndim)
    count = _length(n, 2 * (x.tensor.shape[d] - 1))
    kinds = {"back": back, "power": _power(norm, inverse), "half": True, "inner": 2.0}
    return _transformed(fitted(x, divided(count, 2) + 1, d), d, count, _real(x.dtype), kinds)


# -- along one axis
def _fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return transform(a, n, axis, norm, back=False)


def _ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return transform(a, n, axis, norm, back=True)


def _rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return halved(a, n, axis, norm, back=False, inverse=False)


def _irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return completed(a, n, axis, norm, back=True, inverse=True)


def _hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return completed(a, n, axis, norm, back=False, inverse=False)


def _ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return halved(a, n, axis, norm, back=True, inverse=True)


# -- along several axes
def _sizes(a: Any, s: Any, axes: Any) -> tuple[list[Any], list[Any]]:
    """Return the axes to transform, and the lengths; None is that of the operand."""
    if axes is None:
        rank = np.ndim(a)
        axes = range(rank - len(s) if s is not None else 0, rank)
    axes = list(axes)
    sizes = [None] * len(axes) if s is None else [None if n is None or n == -1 else n for n in s]
    if len(sizes) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return sizes, axes


def _several(one: Callable, first: Callable | None = None, last: Callable | None = None) -> Callable:
    """Return a transform over several axes.

    :param one: the transform along an axis.
    :param first: that along the last axis, if it is another one, and comes first.
    :param last: that along the last axis, if it is another one, and comes last.
    """

    def several_axes(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        found = array(a)
        pairs = list(zip(*_sizes(found, s, axes), strict=True))
        if not pairs:
            return found
        end = pairs.pop() if first or last else None
        if first and end:
            found = first(found, *end, norm)
        for n, d in pairs if last else reversed(pairs):
            found = one(found, n, d, norm)
        return last(found, *end, norm) if last and end else found

    return several_axes


def _over_two(function: Callable) -> Callable:
    """Return a transform over several axes that are the last two if nothing else is said."""

    def two_axes(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
        return function(a, s, axes, norm)

    return two_axes


def _of_scipy(function: Callable, two: bool, which: str) -> Callable:
    """Return a rule under the names that SciPy has for its arguments; some say how the result is computed."""

    def along_axis(
        x: Any,
        n: Any = None,
        axis: Any = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        return function(x, n, axis, norm)

    def over_axes(
        x: Any,
        s: Any = None,
        axes: Any = (-2, -1) if two else None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        return function(x, s, axes, norm)

    return along_axis if which == "axis" else over_axes


_OF_HERMITIAN = {"hfft": _several(_fft, last=_hfft), "ihfft": _several(_ifft, first=_ihfft)}
_OVER_AXES = {
    "fft": _several(_fft),
    "ifft": _several(_ifft),
    "rfft": _several(_fft, first=_rfft),
    "irfft": _several(_ifft, last=_irfft),
}
for _name, _function in {
    "fft": _fft, "ifft": _ifft, "rfft": _rfft, "irfft": _irfft, "hfft": _hfft, "ihfft": _ihfft,
}.items():  # fmt: skip
    rule(getattr(np.fft, _name))(_function)
    rule(getattr(scipy.fft, _name))(_of_scipy(_function, False, "axis"))
for _name, _function in _OVER_AXES.items():
    rule(getattr(np.fft, f"{_name}n"))(_function)
    rule(getattr(np.fft, f"{_name}2"))(_over_two(_function))
    rule(getattr(scipy.fft, f"{_name}n"))(_of_scipy(_function, False, "axes"))
    rule(getattr(scipy.fft, f"{_name}2"))(_of_scipy(_function, True, "axes"))
for _name, _function in _OF_HERMITIAN.items():  # which NumPy does not have
    rule(getattr(scipy.fft, f"{_name}n"))(_of_scipy(_function, False, "axes"))
    rule(getattr(scipy.fft, f"{_name}2"))(_of_scipy(_function, True, "axes"))


# -- the origin of spectra
def _shift(by: Callable[[Any], Any], *functions: Callable) -> None:
    def shift(x: Any, axes: Any = None) -> Any:
        a = array(x)
        along_ = list(range(a.ndim)) if axes is None else several(axes)
        return roll(a, [by(a.shape[d]) for d in along_], along_)

    rule(*functions)(shift)


_shift(lambda n: n // 2, np.fft.fftshift, scipy.fft.fftshift)
_shift(lambda n: -(n // 2), np.fft.ifftshift, scipy.fft.ifftshift)


# -- frequencies
def _frequencies(*functions: Callable) -> None:
    def of_steps(n: Any, d: Any = 1.0, *, xp: Any = None) -> Any:
        return functions[0](static(n)) / operand(d)

    rule(*functions)(of_steps)


_frequencies(np.fft.fftfreq, scipy.fft.fftfreq)
_frequencies(np.fft.rfftfreq, scipy.fft.rfftfreq)
