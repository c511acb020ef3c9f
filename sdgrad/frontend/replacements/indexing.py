"""Functions that pick, place or mask elements: diagonals, triangles, flips, rolls, ``take``."""

import numpy as np
from dace import symbolic

from sdgrad.frontend.replacements.emit import Emitter
from sdgrad.frontend.replacements.operands import Operand, Size, static_axes, static_axis, static_int, static_shape
from sdgrad.frontend.replacements.promotion import numpy_dtype
from sdgrad.frontend.replacements.register import numpy_function
from sdgrad.frontend.replacements.scans import flatten


def text(expression) -> str:
    """A size or an index as code, safe inside a product or a difference."""
    return f"({symbolic.symstr(expression)})"


def gather(emitter: Emitter, label: str, operand: Operand, shape, indices) -> str:
    """``out[i] = operand[indices(i)]``."""
    return emitter.compute(label, "{0}", [operand.read_at(*indices)], shape=shape)


# Diagonals


def _diagonal_length(emitter: Emitter, rows, columns, offset: int):
    """How many elements the diagonal has; for symbolic sizes only where that does not depend on which is larger."""
    down, right = rows + min(offset, 0), columns - max(offset, 0)
    if all(isinstance(n, int) or getattr(n, "is_Integer", False) for n in (down, right)):
        return max(0, min(int(down), int(right)))
    if not symbolic.inequal_symbols(rows, columns):
        return rows - abs(offset)
    raise ValueError(f"{emitter.function}: the length of the diagonal of a {rows} by {columns} matrix is not known")


@numpy_function("diagonal", "linalg.diagonal", method="diagonal")
def diagonal(emitter, a, offset=0, axis1=0, axis2=1):
    operand = emitter.array(a, "a")
    ndim = len(operand.shape)
    if ndim < 2:
        raise ValueError(f"{emitter.function}: a must have at least two dimensions")
    offset = static_int(offset, emitter.function, "offset")
    first, second = (static_axis(k, ndim, emitter.function, n) for k, n in ((axis1, "axis1"), (axis2, "axis2")))
    length = _diagonal_length(emitter, operand.shape[first], operand.shape[second], offset)
    others = [k for k in range(ndim) if k not in (first, second)]
    along = f"__i{ndim - 2}"
    index = {k: f"__i{n}" for n, k in enumerate(others)}
    index |= {first: f"{along} + {max(-offset, 0)}", second: f"{along} + {max(offset, 0)}"}
    shape = (*(operand.shape[k] for k in others), length)
    return gather(emitter, "diagonal", operand, shape, [index[k] for k in range(ndim)])


@numpy_function("diag")
def diag(emitter, v, k=0):
    operand = emitter.array(v, "v")
    if len(operand.shape) == 2:
        return diagonal(emitter, v, k)
    if len(operand.shape) != 1:
        raise ValueError(f"{emitter.function}: v must have one or two dimensions")
    k = static_int(k, emitter.function, "k")
    size = operand.shape[0] + abs(k)
    out = emitter.compute("zeros", "0", [], operand.dtype, (size, size))
    at = [f"__i0 + {max(-k, 0)}", f"__i0 + {max(k, 0)}"]
    return emitter.compute("diag", "{0}", [operand.read_at("__i0")], shape=operand.shape, out=out, out_at=at)


def _triangle(emitter: Emitter, m, k, comparison: str) -> str:
    operand = emitter.array(m, "m")
    ndim = max(len(operand.shape), 2)
    if len(operand.shape) < 2:
        raise ValueError(f"{emitter.function}: m must have at least two dimensions")
    k = static_int(k, emitter.function, "k")
    condition = f"__i{ndim - 1} - __i{ndim - 2} {comparison} {k}"
    return emitter.compute("triangle", f"{{0}} if {condition} else 0", [operand])


@numpy_function("triu")
def triu(emitter, m, k=0):
    return _triangle(emitter, m, k, ">=")


@numpy_function("tril")
def tril(emitter, m, k=0):
    return _triangle(emitter, m, k, "<=")


@numpy_function("tri")
def tri(emitter, N, M=None, k=0, dtype=np.float64):
    shape = static_shape([N, N if M is None else M], emitter.function, "N and M")
    k = static_int(k, emitter.function, "k")
    return emitter.compute("tri", f"1 if __i1 - __i0 <= {k} else 0", [], numpy_dtype(dtype), shape)


# Reversals and shifts


@numpy_function("flip")
def flip(emitter, m, axis=None):
    operand = emitter.array(m, "m")
    axes = static_axes(axis, len(operand.shape), emitter.function)
    index = [f"{text(n)} - 1 - __i{k}" if k in axes else f"__i{k}" for k, n in enumerate(operand.shape)]
    return gather(emitter, "flip", operand, operand.shape, index)


@numpy_function("flipud")
def flipud(emitter, m):
    return flip(emitter, m, 0)


@numpy_function("fliplr")
def fliplr(emitter, m):
    return flip(emitter, m, 1)


def _shift_of_axes(emitter: Emitter, shift, axis, ndim: int) -> dict[int, Size]:
    shifts = list(shift) if isinstance(shift, (list, tuple)) else [shift]
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if len(shifts) != len(axes):
        shifts, axes = shifts * (len(axes) if len(shifts) == 1 else 1), axes * (len(shifts) if len(axes) == 1 else 1)
    if len(shifts) != len(axes):
        raise ValueError(f"{emitter.function}: shift and axis must have as many entries")
    total: dict[int, Size] = {}
    for amount, k in zip(shifts, axes, strict=True):
        k = static_axis(k, ndim, emitter.function)
        total[k] = total.get(k, 0) + static_shape(amount, emitter.function, "shift")[0]
    return total


@numpy_function("roll")
def roll(emitter, a, shift, axis=None):
    operand = emitter.array(a, "a")
    if axis is None:
        rolled = roll(emitter, flatten(emitter, operand), shift, 0)
        return emitter.view(rolled, operand.shape) if len(operand.shape) != 1 else rolled
    result = operand
    # Two copies an axis rather than one with a remainder: the indices stay affine
    for k, amount in _shift_of_axes(emitter, shift, axis, len(operand.shape)).items():
        result = emitter.operand(_roll_axis(emitter, result, k, amount))
    return result.container


def _roll_axis(emitter: Emitter, operand: Operand, axis: int, amount) -> str:
    size = operand.shape[axis]
    amount = amount % size
    if amount == 0:
        return emitter.compute("roll", "{0}", [operand])
    out = None
    out = emitter.new(operand.shape, operand.dtype)
    for length, source, target in ((size - amount, 0, amount), (amount, size - amount, 0)):
        shape = tuple(length if k == axis else n for k, n in enumerate(operand.shape))
        place_block(emitter, "roll", operand, out, shape, axis, source, target)
    return out


def place_block(emitter: Emitter, label, operand, out, shape, axis, source=0, target=0, dtype=None):
    """Copies a block of ``shape``, at ``source`` along ``axis`` of ``operand``, to ``target`` along it of ``out``."""

    def at(offset):
        return [f"__i{k} + {text(offset)}" if k == axis else f"__i{k}" for k in range(len(shape))]

    emitter.compute(label, "{0}", [operand.read_at(*at(source))], dtype, shape, out=out, out_at=at(target))


@numpy_function("rot90")
def rot90(emitter, m, k=1, axes=(0, 1)):
    operand = emitter.array(m, "m")
    first, second = (static_axis(a, len(operand.shape), emitter.function, "axes") for a in axes)
    if first == second:
        raise ValueError(f"{emitter.function}: axes must be different")
    turns = static_int(k, emitter.function, "k") % 4
    shape = list(operand.shape)
    index = [f"__i{n}" for n in range(len(shape))]
    rows, columns = (text(operand.shape[n]) for n in (first, second))
    if turns == 2:
        index[first], index[second] = f"{rows} - 1 - __i{first}", f"{columns} - 1 - __i{second}"
    elif turns:
        shape[first], shape[second] = shape[second], shape[first]
        index[first], index[second] = f"__i{second}", f"__i{first}"
        mirrored = second if turns == 1 else first
        index[mirrored] = f"{text(operand.shape[mirrored])} - 1 - {index[mirrored]}"
    return gather(emitter, "rot90", operand, tuple(shape), index)


@numpy_function("take", method="take")
def take(emitter, a, indices, axis=None):
    """Only a list or tuple of indices known when the program is parsed, or one index."""
    operand = emitter.array(a, "a")
    if axis is None:
        operand, axis = emitter.operand(flatten(emitter, operand)), 0
    axis = static_axis(axis, len(operand.shape), emitter.function)
    listed = indices if isinstance(indices, (list, tuple)) else [indices]
    chosen = [static_int(n, emitter.function, "indices") for n in listed]
    shape = tuple(len(chosen) if k == axis else n for k, n in enumerate(operand.shape))
    out = emitter.new(shape, operand.dtype)
    one = tuple(1 if k == axis else n for k, n in enumerate(shape))
    for position, n in enumerate(chosen):
        source = n if n >= 0 else operand.shape[axis] + n
        place_block(emitter, "take", operand, out, one, axis, source, position)
    if isinstance(indices, (list, tuple)):
        return out
    kept = tuple(n for k, n in enumerate(shape) if k != axis)
    return emitter.view(out, kept) if kept else gather(emitter, "take", emitter.operand(out), (), ["0"])
