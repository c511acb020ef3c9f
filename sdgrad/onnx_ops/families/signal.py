"""Lower Fourier transforms, weights of the mel scale, and determinants."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import sympy

from sdgrad.onnx_ops.families.elementwise import PLAIN_TYPES
from sdgrad.onnx_ops.registry import integers, lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Element, call, element, where
from sdgrad.record.functions.fourier import node_along
from sdgrad.record.tensors import Tensor

LARGEST_DETERMINANT = 5  # rows; by the sum over permutations


def numbers(b: Builder, x: Tensor, axis: int, count: int) -> Tensor:
    """Return real or complex numbers from a tensor with their parts along the last axis, cut off or with zeros after.

    :param count: how many there are along an axis then.
    """
    own = np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
    kind = own if x.shape[-1] == 1 else np.result_type(own, np.complex64)
    shape = [count if d == axis else n for d, n in enumerate(x.shape[:-1])]

    def value(*i: sympy.Expr) -> Element:
        inside = element(i[axis], np.int64) < x.shape[axis] if count > x.shape[axis] else None
        first, *second = (x.at(*i, sympy.Integer(k), when=inside).astype(kind) for k in range(x.shape[-1]))
        return first + second[0] * element(1j, kind) if second else first

    return b.compute(shape, kind, value)


def transform(b: Builder, x: Tensor, axis: int, length: int, inverse: int, onesided: int) -> Tensor:
    """Transform along an axis; the last axis has real and imaginary part."""
    if not isinstance(x.shape[axis], int):
        raise Declined("an open dimension")
    back = bool(inverse and onesided)  # from half a spectrum to real numbers
    half = length // 2 + 1
    given = numbers(b, x, axis, half if back else length)
    kind = np.result_type(given.dtype, np.complex64)
    given = given if not back or given.dtype == kind else b.compute(given.shape, kind, lambda *i: given[i].astype(kind))
    part = bool(onesided and given.dtype != kind)  # only half of the spectrum is computed
    extent = half if part else length
    shape = [extent if d == axis else n for d, n in enumerate(given.shape)]
    own = np.dtype(given.dtype.type(0).real.dtype)
    kinds = {"back": bool(inverse), "power": -1.0 if inverse else 0.0, "half": back or part}
    node = node_along(shape, axis, inner=2.0 if back else 1.0, **kinds)
    if length == 1:  # such a transform changes nothing, and operands of one element have no axis
        found = b.compute(shape, own, lambda *i: call("real", given[i], dtype=own)) if back else given
    else:
        found = b.call(node, {"_inp": given}, "_out", shape, own if back else kind)
    results = half if onesided and not inverse else length
    out = b.declare("t", [*(results if d == axis else n for d, n in enumerate(shape)), 1 if back else 2], x.dtype)
    if back:
        b.copy(found, out.select(-1, 0))
        return out
    for k, name in enumerate(("real", "imag")):
        b.assign(out.select(-1, k), lambda *i, name=name: call(name, found[i].astype(kind), dtype=own))
    return out


@lowering("DFT", since=17)
def dft(b: Builder, x: Tensor, length: Tensor | None, *, axis: int, inverse: int, onesided: int) -> Tensor:
    axis %= x.rank
    count = integers(length, "dft_length")[0] if length is not None else spectrum(x, axis, inverse, onesided)
    return transform(b, x, axis, count, inverse, onesided)


@lowering("DFT", since=20)
def newer_dft(b: Builder, x: Tensor, length: Tensor | None, axis: Tensor | None, *, inverse: int, onesided: int):
    at = integers(axis, "axis")[0] if axis is not None else -2
    return dft(b, x, length, axis=at, inverse=inverse, onesided=onesided)


def spectrum(x: Tensor, axis: int, inverse: int, onesided: int) -> int:
    extent = x.shape[axis]
    if not isinstance(extent, int):
        raise Declined("an open dimension")
    return 2 * (extent - 1) if inverse and onesided else extent


@lowering("STFT", since=17)
def stft(
    b: Builder, signal: Tensor, step: Tensor, window: Tensor | None, length: Tensor | None, *, onesided: int
) -> Tensor:
    """Cut a signal into frames, multiply by a window, and transform each."""
    hop = integers(step, "frame_step")[0]
    size = integers(length, "frame_length")[0] if length is not None else None
    size = int(window.shape[0]) if size is None and window is not None else size
    total = signal.shape[1]
    if size is None or not isinstance(total, int):
        raise Declined("no length of frames")
    frames = (total - size) // hop + 1
    wide = signal if signal.rank == 3 else signal.unsqueeze(2)

    def value(*i: sympy.Expr) -> Element:
        own = wide[i[0], i[1] * hop + i[2], i[3]]
        return own if window is None else own * window[i[2]]

    cut = b.compute([signal.shape[0], frames, size, wide.shape[2]], signal.dtype, value)
    return transform(b, cut, 2, size, 0, onesided)


@lowering("MelWeightMatrix", since=17)
def mel_weight_matrix(
    b: Builder, bins: Tensor, length: Tensor, rate: Tensor, low: Tensor, high: Tensor, *, output_datatype: int
) -> Tensor:
    """Return a triangle for each bin; its corners are rounded down and carry no derivative."""
    if output_datatype not in PLAIN_TYPES:
        raise Declined(f"numbers of type {onnx.TensorProto.DataType.Name(output_datatype)}")
    count, size = integers(bins, "num_mel_bins")[0], integers(length, "dft_length")[0]

    def corner(k: sympy.Expr) -> Element:
        first, last = (call("log1p", edge.at().astype(np.float64) / 700) for edge in (low, high))
        along = element(k, np.int64).astype(np.float64) / (count + 2)
        hertz = call("expm1", first + (last - first) * along) * 700
        return call("floor", hertz * (size + 1) / rate.at().astype(np.float64))

    corners = b.compute([count + 2], np.int64, corner)

    def weight(row: sympy.Expr, column: sympy.Expr) -> Element:
        at, (left, top, right) = element(row, np.int64), (corners[column + d] for d in range(3))
        rising, falling = ((at - end).astype(np.float64) / (top - end).astype(np.float64) for end in (left, right))
        before, behind = (left <= at) & (at < top), (top < at) & (at < right)
        return where(at.equals(top), 1.0, where(before, rising, where(behind, falling, 0.0)))

    return b.compute([size // 2 + 1, count], onnx.helper.tensor_dtype_to_np_dtype(output_datatype), weight)


@lowering("Det")
def determinant(b: Builder, x: Tensor) -> Tensor:
    """Return the determinant by the sum over permutations, which is differentiable everywhere."""
    n = x.shape[-1]
    if not isinstance(n, int) or n > LARGEST_DETERMINANT:
        raise Declined(f"a matrix of {n} rows")
    if n == 0:
        return b.full(x.shape[:-2], 1, x.dtype)

    def value(*i: sympy.Expr) -> Element:
        total: Element | None = None
        for order in itertools.permutations(range(n)):
            sign = round(float(np.linalg.det(np.eye(n)[list(order)])))
            term: Element | None = None
            for row, column in enumerate(order):
                entry = x[(*i, sympy.Integer(row), sympy.Integer(column))]
                term = entry if term is None else term * entry
            assert term is not None
            total = (term if sign > 0 else -term) if total is None else total + term if sign > 0 else total - term
        assert total is not None
        return total

    return b.compute(x.shape[:-2], x.dtype, value)
