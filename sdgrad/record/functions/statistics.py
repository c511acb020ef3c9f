"""Covariances, polynomials, convolutions and interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elements import Element, element, where
from sdgrad.record.elementwise import apply, common
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.joining import concatenate
from sdgrad.record.functions.padding import pad
from sdgrad.record.functions.parts import choose_where, tensor_of
from sdgrad.record.functions.products import conjugate, matmul
from sdgrad.record.functions.reductions import result
from sdgrad.record.functions.shapes import atleast_1d, atleast_2d, flip
from sdgrad.record.functions.sorting import searchsorted
from sdgrad.record.functions.table import array, known, operand, rule
from sdgrad.record.values import Array, is_recorded


# -- covariances
@rule(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    x = _variables(m, rowvar)
    x = x if y is None else concatenate([x, _variables(y, rowvar)])
    own = np.dtype(dtype) if dtype is not None else np.result_type(x.dtype, np.float64)
    x = astype(x, own, copy=False)
    less = ddof if ddof is not None else 0 if bias else 1
    w, norm = _norm(x.shape[1], less, fweights, aweights)
    centred = x - np.average(x, 1, w, keepdims=True)
    return np.squeeze(matmul(centred if w is None else centred * w, conjugate(centred.T)) / norm)[()]


def _norm(count: Any, less: Any, fweights: Any, aweights: Any) -> tuple[Any, Any]:
    """Return the weights of observations, and what the sum of their products is divided by."""
    if fweights is None and aweights is None:
        return None, count - less
    often, important = (_weights(w, count) for w in (fweights, aweights))
    if often is not None and often.dtype.kind not in "iu":
        raise ParseError("numpy.cov: fweights are counts; pass integers, or use aweights")
    w = important if often is None else often if important is None else often * important
    summed = np.sum(w)
    if less == 0:
        return w, summed
    return w, summed - less if important is None else summed - less * np.sum(w * important) / summed


def _weights(w: Any, count: Any) -> Any:
    """Return weights of observations as an array; None if there are none."""
    if w is None:
        return None
    found = array(w)
    if found.ndim > 1:
        raise RuntimeError("cannot handle multidimensional weights")
    if found.shape[0] != count:
        raise RuntimeError("incompatible numbers of samples and weights")
    return found


def _variables(m: Any, rowvar: bool) -> Array:
    a = array(m)
    if a.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    x = atleast_2d(a)
    return x.T if not rowvar and a.ndim == 2 else x


@rule(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if not np.ndim(c):
        return c / c
    deviation = np.sqrt(np.real(np.diagonal(c)))
    found = c / deviation[:, None] / deviation[None, :]
    if found.dtype.kind == "c":  # each part, as NumPy
        return np.clip(np.real(found), -1, 1) + 1j * np.clip(np.imag(found), -1, 1)
    return np.clip(found, -1, 1)


# -- polynomials
@rule(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    factors, place = array(p), operand(x)
    found = np.zeros_like(place)
    for k in range(factors.shape[0]):
        found = found * place + factors[k]
    return found


@rule(np.polyder)
def polyder(p: Any, m: Any = 1) -> Any:
    factors = array(p)
    for _ in range(m):
        n = factors.shape[0]
        factors = factors[:-1] * known(np.arange(n - 1, 0, -1))
    return factors


@rule(np.polyint)
def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """Integrate, with constants ``k``: the first is that of the first integral."""
    factors = array(p)
    times = static(m)
    constants = atleast_1d(array(np.zeros(times) if k is None else k))
    if constants.shape[0] not in (1, times):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for j in range(times):
        n = factors.shape[0]
        own = constants[min(j, constants.shape[0] - 1)]
        factors = concatenate([factors / known(np.arange(n, 0, -1)), atleast_1d(own)])
    return factors


@rule(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    return convolve(atleast_1d(array(a1)), atleast_1d(array(a2)))


def _summed(ufunc: np.ufunc, a1: Any, a2: Any) -> Any:
    """Return two polynomials added or subtracted: the shorter one has zeros for what it lacks."""
    first, second = atleast_1d(array(a1)), atleast_1d(array(a2))
    size = max(first.shape[0], second.shape[0])
    return apply(ufunc, [pad(p, (size - p.shape[0], 0)) for p in (first, second)])


@rule(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    return _summed(np.add, a1, a2)


@rule(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    return _summed(np.subtract, a1, a2)


# -- convolutions
@rule(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    return _windowed(array(a), array(v), mode, False)


@rule(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    return _windowed(array(a), flip(conjugate(v)), mode, True)


def _windowed(a: Array, v: Array, mode: str, centred_left: bool) -> Array:
    """Return sums of ``a[n - k] * v[k]`` over ``k``, for all places ``n``, or those where the shorter one is inside."""
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array")
    m, n = a.shape[0], v.shape[0]
    if 0 in (m, n):
        raise ValueError("a and v cannot be empty")
    least, most = min(m, n), max(m, n)
    middle = least // 2 if centred_left and m < n else (least - 1) // 2
    spans = {"full": (0, m + n - 1), "same": (middle, most), "valid": (least - 1, most - least + 1)}
    if mode not in spans:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    start, count = spans[mode]
    dtype = common([a, v])
    wide = tensor_of(pad(astype(a, dtype, copy=False), (n - 1, n - 1)))
    factors = tensor_of(astype(v, dtype, copy=False))
    tensor = a.recorder.reduction(
        (count,), (n,), lambda out, k: wide[out[0] + start + (n - 1) - k[0]] * factors[k[0]], "sum", dtype
    )
    return result(a, tensor)


# -- interpolation
def _wide(value: Any) -> Array:
    """Return an array in double precision: differences of unsigned integers are none."""
    a = array(value)
    return array(astype(a, np.result_type(a.dtype, np.float64), copy=False))


def _between(at: Array, places: Array, values: Array) -> Array:
    """Return the lines between points, with the values of the first and the last point beyond them."""
    recorder: Any = at.recorder
    x, xs, fs = map(tensor_of, (at, places, values))
    count = places.shape[0]
    after = tensor_of(array(searchsorted(places, at, "right")))

    def value(*i: Any) -> Element:
        end = after[i]
        k = where(end < 1, element(1, np.int64), where(end < count, end, count - 1))
        start, width = xs[(k - 1,)], xs[(k,)] - xs[(k - 1,)]
        first, last = fs[(k - 1,)], fs[(k,)]
        is_step = width.equals(element(0, width.dtype))
        inside = first + (x[i] - start) / where(is_step, element(1, width.dtype), width) * (last - first)
        inside = where(is_step, last, inside)
        return where(x[i] < start, first, where(x[i] > xs[(k,)], last, inside))

    return recorder.array(recorder.compute(at.tensor.shape, values.dtype, value))


def _of_one_period(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return places in a period, the samples of one, and the neighbours of its ends."""
    whole = np.abs(operand(period))
    if not is_recorded(whole) and whole == 0:  # a recorded one that is zero gives NaN
        raise ValueError("period must be a non-zero value")
    places, values = np.multiply(array(xp), 1.0) % whole, array(fp)
    if places.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if places.shape != values.shape:
        raise ValueError("fp and xp are not of the same length.")
    order = np.argsort(places)
    places, values = places[order], values[order]
    places = concatenate([places[-1:] - whole, places, places[:1] + whole])
    return operand(x) % whole, places, concatenate([values[-1:], values, values[:1]])


@rule(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """At a point, the derivative is the slope of the line after it."""
    if period is not None:
        x, xp, fp = _of_one_period(x, xp, fp, period)
        left = right = None
    at, places, values = (_wide(v) for v in (x, xp, fp))
    if places.ndim != 1 or values.ndim != 1 or places.shape != values.shape:
        raise ValueError("fp and xp are not of the same length.")
    if not places.shape[0]:
        raise ValueError("array of sample points is empty")
    found = _between(at, places, values)[()] if places.shape[0] > 1 else values[0] + known(np.zeros(at.shape))
    found = found if left is None else choose_where(at < places[0], left, found)
    return found if right is None else choose_where(at > places[-1], right, found)
