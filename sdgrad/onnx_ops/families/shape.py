"""Lower operators that move elements: reshape, slice, join, pad. Most only change how a tensor is indexed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import sympy

from sdgrad.onnx_ops.registry import extents, integers, lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Dim, Element, call, dim, divided, element, product, where
from sdgrad.record.tensors import Tensor


@lowering("Reshape", since=5)
def reshape(b: Builder, x: Tensor, shape: Tensor, *, allowzero: int = 0) -> Tensor:
    """Return the same elements under another shape."""
    wanted = extents(shape, "shape")
    if not allowzero:
        wanted = [x.shape[k] if n == 0 else n for k, n in enumerate(wanted)]
    if -1 in wanted:
        rest = product([n for n in wanted if n != -1])
        wanted[wanted.index(-1)] = dim(sympy.simplify(sympy.sympify(x.size) / rest)) if rest != 0 else 0
    return x.reshape(wanted)


@lowering("Flatten")
def flatten(b: Builder, x: Tensor, *, axis: int) -> Tensor:
    axis = axis if axis >= 0 else axis + x.rank
    return x.reshape([product(x.shape[:axis]), product(x.shape[axis:])])


@lowering("Squeeze", since=13)
def squeeze(b: Builder, x: Tensor, axes: Tensor | None) -> Tensor:
    ones = [d for d, n in enumerate(x.shape) if n == 1]
    gone = integers(axes, "axes") if axes is not None else ones
    return x.squeeze(*gone) if gone else x


@lowering("Unsqueeze", since=13)
def unsqueeze(b: Builder, x: Tensor, axes: Tensor) -> Tensor:
    return x.unsqueeze(*integers(axes, "axes"))


@lowering("Transpose")
def transpose(b: Builder, x: Tensor, *, perm: Sequence[int] | None = None) -> Tensor:
    return x.transpose(perm)


@lowering("Expand")
def expand(b: Builder, x: Tensor, shape: Tensor) -> Tensor:
    wanted = extents(shape, "shape")
    lead = [1] * (len(wanted) - x.rank)
    own = [1] * (x.rank - len(wanted))
    both = zip([*lead, *x.shape], [*own, *wanted], strict=True)
    return x.broadcast([n if m == 1 else m for m, n in both])


@lowering("Tile", since=6)
def tile(b: Builder, x: Tensor, repeats: Tensor) -> Tensor:
    """Repeat along axes of their own: ``y[r, i] = x[i]``."""
    times = extents(repeats, "repeats")
    pairs: list[Dim] = [v for r, n in zip(times, x.shape, strict=True) for v in (r, n)]
    wide = x.moved(pairs, lambda i: tuple(i[1::2]))
    return wide.reshape([dim(sympy.sympify(r) * n) for r, n in zip(times, x.shape, strict=True)])


@lowering("Concat", since=4)
def concat(b: Builder, *inputs: Tensor, axis: int) -> Tensor:
    """Join tensors along an axis."""
    axis %= inputs[0].rank
    total = dim(sum(sympy.sympify(x.shape[axis]) for x in inputs))
    out = b.declare("t", [total if d == axis else n for d, n in enumerate(inputs[0].shape)], inputs[0].dtype)
    start: Dim = 0
    for x in inputs:
        b.copy(x, out.slice(axis, start, x.shape[axis]))
        start = dim(sympy.sympify(start) + x.shape[axis])
    return out


def pieces(x: Tensor, axis: int, counts: Sequence[Dim]) -> list[Tensor]:
    found, start = [], 0
    for n in counts:
        found.append(x.slice(axis, start, n))
        start = start + n
    return found


@lowering("Split", since=13)
def split(b: Builder, x: Tensor, sizes: Tensor | None, *, axis: int, num_outputs: int | None = None, operation: Any):
    """Split a tensor along an axis."""
    axis %= x.rank
    if sizes is not None:
        return pieces(x, axis, extents(sizes, "split"))
    count = num_outputs or len(operation.outputs)
    extent = x.shape[axis]
    each = divided(extent + count - 1, count)
    counts = [each] * (count - 1)
    return pieces(x, axis, [*counts, dim(sympy.sympify(extent) - each * (count - 1))])


@lowering("Slice", since=10)
def slice_(b: Builder, x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None, steps: Tensor | None) -> Tensor:
    """Slice by NumPy's rules for negative and for large numbers."""
    first, last = extents(starts, "starts"), extents(ends, "ends")
    along = integers(axes, "axes") if axes is not None else list(range(len(first)))
    by = integers(steps, "steps") if steps is not None else [1] * len(first)
    for axis, start, end, step in zip(along, first, last, by, strict=True):
        extent = x.shape[axis % x.rank]
        if not (isinstance(extent, int) and isinstance(start, int) and isinstance(end, int)):
            x = _open_slice(x, axis, start, end, step)
            continue
        taken = range(*slice(start, end, step).indices(extent))
        x = x.slice(axis, taken.start, len(taken), step)
    return x


def _open_slice(x: Tensor, axis: int, start: Dim, end: Dim, step: int) -> Tensor:
    """Slice an open extent, which is promised to be at least as large as the numbers.

    Bounds that are expressions count from the front.
    """
    extent = x.shape[axis % x.rank]
    if step < 0 and (start, end) != (-1, -(2**31)):
        raise Declined("a slice backwards along an open dimension")
    if step < 0:
        return x.slice(axis, extent - 1, _steps(extent, -step), step)
    low, high = (extent + n if isinstance(n, int) and n < 0 else n for n in (start, end))
    if isinstance(high, int) and high > 2**30:
        high = extent
    return x.slice(axis, dim(low), _steps(high - low, step), step)


def _steps(length: Dim, step: int) -> Dim:
    """Return how many elements a slice takes."""
    return divided(length + step - 1, step)


@lowering("Pad", since=11)
def pad(b: Builder, x: Tensor, pads: Tensor, value: Tensor | None, axes: Tensor | None, *, mode: str) -> Tensor:
    """Pad at both ends of axes; negative numbers cut off."""
    amounts = integers(pads, "pads")
    along = [a % x.rank for a in integers(axes, "axes")] if axes is not None else list(range(x.rank))
    half = len(amounts) // 2
    before, after = dict(zip(along, amounts[:half], strict=True)), dict(zip(along, amounts[half:], strict=True))
    return padded(
        b, x, [before.get(d, 0) for d in range(x.rank)], [after.get(d, 0) for d in range(x.rank)], mode, value
    )


def padded(
    b: Builder, x: Tensor, before: Sequence[Dim], after: Sequence[Dim], mode: str = "constant", value: Any = 0
) -> Tensor:
    """Return a tensor with more elements at both ends of its axes; with negative numbers, less."""
    x = _cropped(x, before, after)
    before, after = [max(0, n) for n in before], [max(0, n) for n in after]
    if not any(before) and not any(after):
        return x
    if mode == "constant":
        return _framed(b, x, before, after, value)

    def source(position: sympy.Expr, low: int, extent: Dim) -> Element:
        k = element(position, np.int64) - low
        if mode == "edge":
            return where(k < 0, 0, where(k >= extent, element(extent, np.int64) - 1, k))
        n = element(extent, np.int64)
        if mode == "wrap":
            return call("py_mod", k, n)
        period = where(n > 1, 2 * (n - 1), element(1, np.int64))
        folded = call("py_mod", k, period)
        return where(folded < n, folded, period - folded)

    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        if low or high:
            x = _along(b, x, axis, dim(sympy.sympify(x.shape[axis]) + low + high), low, source)
    return x


def _cropped(x: Tensor, before: Sequence[Dim], after: Sequence[Dim]) -> Tensor:
    """Cut off elements at the ends of axes that negative numbers ask for."""
    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        cut_low, cut_high = max(0, -low), max(0, -high)
        if cut_low or cut_high:
            x = x.slice(axis, cut_low, x.shape[axis] - cut_low - cut_high)
    return x


def _framed(b: Builder, x: Tensor, before: Sequence[Dim], after: Sequence[Dim], value: Any) -> Tensor:
    """Put a tensor into the middle of a larger one, which is filled with a number."""
    shape = [dim(sympy.sympify(n) + p + q) for n, p, q in zip(x.shape, before, after, strict=True)]
    out = b.declare("t", shape, x.dtype)
    if isinstance(value, Tensor):
        filler = value.reshape(())
        b.assign(out, lambda *i: filler[()])
    else:
        b.fill(out, value if value is not None else 0)
    inside = out
    for axis, low in enumerate(before):
        inside = inside.slice(axis, low, x.shape[axis])
    b.copy(x, inside)
    return out


def _along(b: Builder, x: Tensor, axis: int, count: Dim, low: int, source: Callable) -> Tensor:
    """Read a tensor along an axis at the positions that ``source`` gives."""
    shape = [count if d == axis else n for d, n in enumerate(x.shape)]

    def value(*i: sympy.Expr) -> Element:
        return x[(*i[:axis], source(i[axis], low, x.shape[axis]), *i[axis + 1 :])]

    return b.compute(shape, x.dtype, value)


@lowering("Shape")
def shape_of(b: Builder, x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    """Return the shape of a tensor with open dimensions."""
    extents = x.shape[start:end]
    out = b.declare("t", [len(extents)], np.int64)
    for k, n in enumerate(extents):
        b.assign(out.select(0, k), lambda n=n: element(n, np.int64))
    return out


@lowering("Constant")
def constant(
    b: Builder,
    *,
    value: np.ndarray | None = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
) -> Tensor:
    """Return a constant of the model."""
    if value is not None:
        return b.constant(value)
    if value_float is not None or value_floats is not None:
        return b.constant(np.array(value_float if value_float is not None else value_floats, np.float32))
    return b.constant(np.array(value_int if value_int is not None else value_ints, np.int64))


@lowering("ConstantOfShape")
def constant_of_shape(b: Builder, shape: Tensor, *, value: np.ndarray | None = None) -> Tensor:
    """Return a tensor of one number."""
    content = value if value is not None else np.zeros(1, np.float32)
    wanted = extents(shape, "shape")
    numbers = [n for n in wanted if isinstance(n, int)]
    if len(numbers) < len(wanted):
        return b.full(wanted, content.item(), content.dtype)
    return b.constant(np.broadcast_to(content.reshape(()), numbers))


@lowering("EyeLike")
def eye_like(b: Builder, x: Tensor, *, dtype: int | None = None, k: int) -> Tensor:
    kind = x.dtype if dtype is None else onnx.helper.tensor_dtype_to_np_dtype(dtype)
    on = element(1, kind)
    return b.compute(x.shape, kind, lambda i, j: where(element(j, np.int64).equals(element(i, np.int64) + k), on, 0))


@lowering("Trilu")
def triangle(b: Builder, x: Tensor, k: Tensor | None, *, upper: int) -> Tensor:
    """Keep the upper or the lower triangle of matrices."""
    diagonal = integers(k, "k")[0] if k is not None else 0

    def value(*i: sympy.Expr) -> Element:
        row, column = element(i[-2], np.int64) + diagonal, element(i[-1], np.int64)
        return where(column >= row if upper else column <= row, x[i], 0)

    return b.compute(x.shape, x.dtype, value)


def block_moved(b: Builder, x: Tensor, shape: Sequence[Dim], order: Sequence[int], result: Sequence[Dim]) -> Tensor:
    return x.reshape(shape).transpose(order).reshape(result)


@lowering("DepthToSpace")
def depth_to_space(b: Builder, x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    """Move channels to blocks of the spatial axes."""
    n, c, h, w = x.shape
    s, rest = blocksize, dim(sympy.sympify(c) / blocksize**2)
    result = [n, rest, dim(sympy.sympify(h) * s), dim(sympy.sympify(w) * s)]
    if mode == "DCR":
        return block_moved(b, x, [n, s, s, rest, h, w], [0, 3, 4, 1, 5, 2], result)
    return block_moved(b, x, [n, rest, s, s, h, w], [0, 1, 4, 2, 5, 3], result)


@lowering("SpaceToDepth")
def space_to_depth(b: Builder, x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    """Move blocks of the spatial axes to channels."""
    n, c, h, w = x.shape
    s = blocksize
    rows, columns = dim(sympy.sympify(h) / s), dim(sympy.sympify(w) / s)
    result = [n, dim(sympy.sympify(c) * s * s), rows, columns]
    order = [0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
    return block_moved(b, x, [n, c, rows, s, columns, s], order, result)


@lowering("ReverseSequence")
def reverse_sequence(b: Builder, x: Tensor, lengths: Tensor, *, batch_axis: int, time_axis: int) -> Tensor:
    """Reverse the beginning of each sequence, up to its length."""

    def value(*i: sympy.Expr) -> Element:
        length, t = lengths[i[batch_axis]], element(i[time_axis], np.int64)
        at = where(t < length, length - 1 - t, t)
        return x[(*i[:time_axis], at, *i[time_axis + 1 :])]

    return b.compute(x.shape, x.dtype, value)
