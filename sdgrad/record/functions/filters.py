"""Apply linear filters of ``scipy.signal``: difference equations, forward, and forward and backward."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.signal as signal

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import require, static, static_axis
from sdgrad.record.functions.convolutions import convolve
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.resampling import decimated
from sdgrad.record.functions.table import array, content, fixed, known, rule
from sdgrad.record.values import Array


def _inexact(*values: Any) -> np.dtype:
    dtype = common([array(v) for v in values])
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _typed(value: Any, dtype: Any) -> Array:
    return array(astype(array(value), dtype, copy=False))


def _rows(x: Any, axis: int) -> tuple[Any, tuple[int, ...]]:
    """Return an array as rows along an axis, and the shape of what is not that axis."""
    last = np.moveaxis(x, axis, -1)
    others = np.shape(last)[:-1]
    return np.reshape(last, (math.prod(others), np.shape(last)[-1])), others


def _back(rows: Any, others: tuple[int, ...], axis: int) -> Any:
    return np.moveaxis(np.reshape(rows, (*others, np.shape(rows)[-1])), -1, axis)


def _coefficients(b: Any, a: Any, dtype: Any) -> tuple[Any, Any]:
    """Return numerator and denominator, divided by the first of the latter."""
    over, under = (np.reshape(_typed(v, dtype), -1) for v in (b, a))
    if len(np.shape(array(b))) > 1 or len(np.shape(array(a))) > 1:
        raise ValueError("object of too small depth for desired array")
    first = content(under[:1])
    if first is not None and first[0] == 0:
        raise ValueError("a[0] must not be zero")  # as SciPy
    return (over, under) if first is not None and first[0] == 1 else (over / under[0], under / under[0])


def _moving(rows: Any, b: Any) -> Any:
    """Return ``sum of b[j] * rows[i, k - j]``: zeros before the first."""
    n = np.shape(b)[0]
    wide = tensor_of(array(np.pad(rows, ((0, 0), (n - 1, 0)))))
    factors, recorder = tensor_of(b), array(rows).recorder

    def term(out: tuple, j: tuple) -> Any:
        return wide[out[0], out[1] + (n - 1) - j[0]] * factors[j[0]]

    return recorder.array(recorder.reduction(np.shape(rows), (n,), term, "sum", rows.dtype))


def recursive(rows: Any, a: Any) -> Any:
    """Return ``y[i, k] = rows[i, k] - sum of a[j] * y[i, k - j]`` for ``j`` from 1 on."""
    count, length = np.shape(rows)
    before = np.shape(a)[0] - 1
    if not before or not length:
        return rows
    recorder: Any = array(rows).recorder
    given, factors = tensor_of(rows), tensor_of(a)
    found = recorder.array(recorder.full((count, length + before), 0, rows.dtype))
    y = found.tensor
    with recorder.loop(length) as k:

        def value(i: Any, _: Any) -> Any:
            result = given[i, k]
            for j in range(1, before + 1):
                result = result - factors[j] * y[i, k + before - j]
            return result

        recorder.assign(y.slice(1, k + before, 1), value)
    return found[:, before:]


def _tail(rows: Any, c: Any, n: int) -> Any:
    """Return what filters leave for the places after the last one: ``sum of c[j] * rows[i, end + m - j]``."""
    count, length = np.shape(rows)
    kept = min(n, length)
    wide: Any = np.pad(rows[:, length - kept :], ((0, 0), (n - kept, n)))
    factors: Any = np.pad(c, (0, n + 1 - np.shape(c)[0]))
    t, f, recorder = tensor_of(wide), tensor_of(factors), array(rows).recorder

    def term(out: tuple, j: tuple) -> Any:
        return t[out[0], out[1] + n - j[0]] * f[j[0]]

    return recorder.array(recorder.reduction((count, n), (n + 1,), term, "sum", rows.dtype))


def filtered(b: Any, a: Any, rows: Any, start: Any) -> tuple[Any, Any]:
    """Return filtered rows and the state at the end; ``start`` is the state before, of each row."""
    n = max(np.shape(a)[0], np.shape(b)[0]) - 1
    moved, length = _moving(rows, b), np.shape(rows)[1]
    if start is None or n == 0:
        return recursive(moved, a), start
    own = start[:, :length]
    y = recursive(moved + np.pad(own, ((0, 0), (0, max(length - n, 0)))), a)
    rest = np.pad(start[:, length:], ((0, 0), (0, min(n, length))))
    return y, _tail(rows, b, n) - _tail(y, a, n) + rest


def _state(zi: Any, others: tuple[int, ...], axis: int, n: int, dtype: Any) -> Any:
    """Return a state as rows, for each row of the data."""
    given = _typed(zi, dtype)
    expected = (*others[:axis], n, *others[axis:])
    if given.ndim != len(expected) or any(g not in (1, e) for g, e in zip(given.shape, expected, strict=True)):
        raise ValueError(f"Unexpected shape for zi: expected {expected}, found {given.shape}.")
    if given.shape[axis] != n:
        raise ValueError(f"Unexpected shape for zi: expected {expected}, found {given.shape}.")
    return _rows(np.broadcast_to(given, expected), axis)[0]


@rule(signal.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    given = [b, a, x] if zi is None else [b, a, x, zi]
    dtype = _inexact(*given)
    data = _typed(x, dtype)
    d = static_axis(axis, data.ndim)
    over, under = _coefficients(b, a, dtype)
    rows, others = _rows(data, d)
    n = max(np.shape(over)[0], np.shape(under)[0]) - 1
    start = None if zi is None else _state(zi, others, d, n, dtype)
    found, end = filtered(over, under, rows, start)
    y = _back(found, others, d)
    return y if zi is None else (y, _back(end, others, d))


@rule(signal.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    """Return the state of the step response, from sums of the coefficients."""
    dtype = _inexact(b, a)
    over, under = _coefficients(b, a, dtype)
    size = max(np.shape(over)[0], np.shape(under)[0])
    over, under = (np.pad(v, (0, size - np.shape(v)[0])) for v in (over, under))
    rest = over[1:] - under[1:] * over[0]
    first = np.sum(rest) / np.sum(under)
    sums = np.cumsum(np.concatenate([np.zeros_like(rest[:1]), rest[:-1]]))
    return np.cumsum(under)[:-1] * first - sums


@rule(signal.lfiltic)
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """Return the state after past outputs and inputs, the latest first."""
    dtype = _inexact(*([b, a, y] if x is None else [b, a, y, x]))
    over, under = _coefficients(b, a, dtype)
    before, after = np.shape(over)[0] - 1, np.shape(under)[0] - 1
    rows = [_past(y, -under, after, max(before, after), dtype)]
    rows += [] if x is None else [_past(x, over, before, max(before, after), dtype)]
    return sum(rows)


def _past(values: Any, factors: Any, count: int, size: int, dtype: Any) -> Any:
    """Return ``sum over j of factors[m + 1 + j] * values[j]`` for each place of a state."""
    given = np.reshape(_typed(values, dtype), -1)
    given = np.pad(given[:count], (0, max(count - np.shape(given)[0], 0)))
    places = np.arange(size)[:, None] + 1 + np.arange(count)
    inside = places <= count
    taken = np.where(known(inside), factors[known(np.where(inside, places, 0))], 0)
    return taken @ given if count else known(np.zeros(size, dtype))


@rule(signal.deconvolve)
def deconvolve(signal: Any, divisor: Any) -> Any:
    """Divide polynomials: the quotient is an impulse, filtered."""
    over, under = (np.atleast_1d(array(v)) for v in (signal, divisor))
    if over.ndim != 1 or under.ndim != 1 or not over.size or not under.size:
        raise ValueError("signal and divisor must be non-empty 1d arrays")
    count = over.shape[0] - under.shape[0] + 1
    if count < 1:
        return known(np.zeros(0)), over
    quotient = lfilter(over, under, known(np.eye(1, count)[0]))
    return quotient, over - convolve(under, quotient)


# -- sections of second order
def _sections(sos: Any, dtype: Any) -> Any:
    found = _typed(sos, dtype)
    if found.ndim != 2 or found.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    leading = content(array(found[:, 3]))
    require(np.all(found[:, 3] == 1) if leading is None else np.all(leading == 1), "sos[:, 3] should be all ones")
    return found


@rule(signal.sosfilt)
def sosfilt(sos: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    dtype = _inexact(*([sos, x] if zi is None else [sos, x, zi]))
    sections, data = _sections(sos, dtype), _typed(x, dtype)
    d = static_axis(axis, data.ndim)
    rows, others = _rows(data, d)
    starts = None if zi is None else _typed(zi, dtype)
    expected = (sections.shape[0], *others[:d], 2, *others[d:])
    if starts is not None and tuple(starts.shape) != expected:
        raise ValueError(
            f"Invalid zi shape. With axis={axis}, an input with shape {data.shape}, zi must be {expected}."
        )
    ends = []
    for k in range(sections.shape[0]):
        start = None if starts is None else _rows(starts[k], d)[0]
        rows, end = filtered(sections[k, :3], sections[k, 3:], rows, start)
        ends.append(end)
    y = _back(rows, others, d)
    return y if zi is None else (y, np.stack([_back(e, others, d) for e in ends]))


@rule(signal.sosfilt_zi)
def sosfilt_zi(sos: Any) -> Any:
    sections, scale, found = _sections(sos, _inexact(sos)), 1.0, []
    for k in range(sections.shape[0]):
        b, a = sections[k, :3], sections[k, 3:]
        found.append(scale * lfilter_zi(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(found)


# -- forward and backward
def _padded(x: Any, padtype: Any, padlen: Any, axis: int, ntaps: int) -> tuple[int, Any]:
    """Return data continued at both ends, and by how much."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None."
        )
    edge = 0 if padtype is None else ntaps * 3 if padlen is None else static(padlen)
    n = np.shape(x)[axis]
    if n <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    if not edge:
        return 0, x

    def part(first: int, last: int, step: int) -> Any:
        places = known(np.arange(first, last, step))
        return np.take(x, places, axis=axis)

    before, after, start, end = part(edge, 0, -1), part(n - 2, n - 2 - edge, -1), part(0, 1, 1), part(n - 1, n, 1)
    if padtype == "odd":
        before, after = 2 * start - before, 2 * end - after
    elif padtype == "constant":
        before, after = start + 0 * before, end + 0 * after
    return edge, np.concatenate([before, x, after], axis=axis)


def _cut(y: Any, edge: int, axis: int) -> Any:
    return y[(slice(None),) * axis + (slice(edge, np.shape(y)[axis] - edge),)]


def _ends(x: Any, axis: int, k: int) -> Any:
    return x[(slice(None),) * axis + (slice(k, k + 1 or None),)]


@rule(signal.filtfilt)
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: Any = -1,
    padtype: Any = "odd",
    padlen: Any = None,
    method: str = "pad",
    irlen: Any = None,
) -> Any:
    if method != "pad":
        raise ParseError(f"scipy.signal.filtfilt: method={method!r} is not recorded: use method='pad'")
    data = _typed(x, _inexact(b, a, x))
    d = static_axis(axis, data.ndim)
    over, under = np.atleast_1d(array(b)), np.atleast_1d(array(a))
    edge, wide = _padded(data, padtype, padlen, d, max(np.shape(over)[0], np.shape(under)[0]))
    zi = lfilter_zi(over, under)
    zi = np.reshape(zi, [-1 if e == d else 1 for e in range(data.ndim)])
    for _ in range(2):
        wide = np.flip(lfilter(over, under, wide, d, zi * _ends(wide, d, 0))[0], axis=d)
    return _cut(wide, edge, d)


@rule(signal.sosfiltfilt)
def sosfiltfilt(sos: Any, x: Any, axis: Any = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    data = _typed(x, _inexact(sos, x))
    d = static_axis(axis, data.ndim)
    sections = _sections(sos, data.dtype)
    values = fixed(array(sos))
    if values is None and padlen is None and padtype is not None:
        raise ParseError("scipy.signal.sosfiltfilt: the length of the padding depends on zeros in sos: pass padlen=")
    zeros = 0 if values is None else min((values[:, 2] == 0).sum(), (values[:, 5] == 0).sum())
    edge, wide = _padded(data, padtype, padlen, d, 2 * sections.shape[0] + 1 - int(zeros))
    zi = sosfilt_zi(sections)
    zi = np.reshape(zi, [sections.shape[0], *(2 if e == d else 1 for e in range(data.ndim))])
    for _ in range(2):
        wide = np.flip(sosfilt(sections, wide, d, zi * _ends(wide, d, 0))[0], axis=d)
    return _cut(wide, edge, d)


@rule(signal.decimate)
def decimate(x: Any, q: Any, n: Any = None, ftype: Any = "iir", axis: Any = -1, zero_phase: bool = True) -> Any:
    factor = static(q)
    if ftype == "fir":
        return decimated(x, factor, n, axis, zero_phase)
    if ftype != "iir":
        raise ParseError("scipy.signal.decimate: only the types 'iir' and 'fir' are recorded")
    sos = signal.cheby1(8 if n is None else static(n), 0.05, 0.8 / factor, output="sos")
    dtype = array(x).dtype
    sos = known(sos.astype(np.float32 if dtype in (np.float32, np.complex64) else np.float64))
    y = (sosfiltfilt if zero_phase else sosfilt)(sos, x, axis)
    d = static_axis(axis, np.ndim(y))
    return y[(slice(None),) * d + (slice(None, None, factor),)]
