"""Joining, splitting and padding: blocks copied to offsets of a new array."""

import numpy as np

from sdgrad.frontend.replacements.emit import Emitter, same_size
from sdgrad.frontend.replacements.indexing import gather, place_block, text
from sdgrad.frontend.replacements.operands import Operand, single, static_axis, static_int, static_shape
from sdgrad.frontend.replacements.promotion import common_type, numpy_dtype
from sdgrad.frontend.replacements.register import numpy_function
from sdgrad.frontend.replacements.scans import flatten
from sdgrad.frontend.replacements.shaping import atleast_1d, atleast_2d, expand_dims


def _listed(emitter: Emitter, arrays) -> list[Operand]:
    if not isinstance(arrays, (list, tuple)) or not arrays:
        raise TypeError(f"{emitter.function}: arrays must be a list or a tuple of arrays")
    return [emitter.array(a, "arrays") for a in arrays]


@numpy_function("concatenate", "concat")
def concatenate(emitter, arrays, axis=0, dtype=None):
    operands = _listed(emitter, arrays)
    if axis is None:
        operands, axis = [emitter.operand(flatten(emitter, o)) for o in operands], 0
    shape = operands[0].shape
    axis = static_axis(axis, len(shape), emitter.function)
    for o in operands[1:]:
        if len(o.shape) != len(shape) or any(
            k != axis and not same_size(m, n) for k, (m, n) in enumerate(zip(o.shape, shape, strict=True))
        ):
            raise ValueError(
                f"{emitter.function}: arrays of shapes {shape} and {o.shape} do not join along axis {axis}"
            )
    dtype = common_type([o.kind for o in operands]) if dtype is None else numpy_dtype(dtype)
    out = emitter.new(tuple(sum(o.shape[k] for o in operands) if k == axis else n for k, n in enumerate(shape)), dtype)
    offset = 0
    for o in operands:
        place_block(emitter, "concatenate", o, out, o.shape, axis, 0, offset, dtype)
        offset += o.shape[axis]
    return out


@numpy_function("stack")
def stack(emitter, arrays, axis=0, dtype=None):
    operands = _listed(emitter, arrays)
    axis = static_axis(axis, len(operands[0].shape) + 1, emitter.function)
    return concatenate(emitter, [expand_dims(emitter, o, axis) for o in operands], axis, dtype)


@numpy_function("vstack", "row_stack")
def vstack(emitter, tup, dtype=None):
    return concatenate(emitter, [atleast_2d(emitter, o) for o in _listed(emitter, tup)], 0, dtype)


@numpy_function("hstack")
def hstack(emitter, tup, dtype=None):
    operands = [emitter.operand(atleast_1d(emitter, o)) for o in _listed(emitter, tup)]
    return concatenate(emitter, operands, 0 if len(operands[0].shape) == 1 else 1, dtype)


@numpy_function("column_stack")
def column_stack(emitter, tup):
    operands = _listed(emitter, tup)
    return concatenate(emitter, [o if len(o.shape) > 1 else expand_dims(emitter, o, 1) for o in operands], 1)


@numpy_function("dstack")
def dstack(emitter, tup):
    flat = [emitter.operand(atleast_2d(emitter, o)) for o in _listed(emitter, tup)]
    return concatenate(emitter, [o if len(o.shape) > 2 else expand_dims(emitter, o, 2) for o in flat], 2)


@numpy_function("append")
def append(emitter, arr, values, axis=None):
    operands = [emitter.array(arr, "arr"), emitter.array(values, "values")]
    return concatenate(emitter, [o if o.shape else atleast_1d(emitter, o) for o in operands], axis)


@numpy_function("array", "asarray", "asanyarray", "ascontiguousarray")
def array(emitter, object, dtype=None, copy=None):
    """A copy of an array, or nested lists of scalars and arrays stacked."""
    item = single(object)
    if isinstance(item, (list, tuple)):
        return _from_list(emitter, object, dtype)
    operand = emitter.operand(object, "object")
    return emitter.compute("array", "{0}", [operand], operand.dtype if dtype is None else numpy_dtype(dtype))


def _leaves(item):
    if isinstance(item, (list, tuple)):
        return [leaf for part in item for leaf in _leaves(part)]
    return [item]


def _from_list(emitter: Emitter, items, dtype) -> str:
    if dtype is None:
        dtype = common_type([emitter.operand(leaf, "object").kind for leaf in _leaves(items)])
    nested = [_from_list(emitter, i, dtype) if isinstance(i, (list, tuple)) else emitter.operand(i) for i in items]
    parts = [emitter.operand(part) for part in nested]
    shape = parts[0].shape
    if any(len(p.shape) != len(shape) or not all(map(same_size, p.shape, shape)) for p in parts):
        raise ValueError(f"{emitter.function}: object must not be ragged")
    out = emitter.new((len(parts), *shape), numpy_dtype(dtype))
    for position, part in enumerate(parts):
        own = [f"__i{k}" for k in range(len(shape))]
        emitter.compute("array", "{0}", [part], numpy_dtype(dtype), shape, out=out, out_at=[str(position), *own])
    return out


# Splitting


def _sections(emitter: Emitter, indices, size, even: bool) -> list:
    """The offsets at which an axis of ``size`` elements is cut, first and last included."""
    indices = single(indices)
    if isinstance(indices, (list, tuple)):
        return [0, *static_shape(indices, emitter.function, "indices_or_sections"), size]
    parts = static_int(indices, emitter.function, "indices_or_sections")
    if isinstance(size, int):
        if even and size % parts:
            raise ValueError(f"{emitter.function}: indices_or_sections={parts} does not divide {size} evenly")
        small, larger = divmod(size, parts)
        return [0, *np.cumsum([small + 1] * larger + [small] * (parts - larger)).tolist()]
    if not even:
        raise ValueError(f"{emitter.function}: indices_or_sections must be a list for an axis of symbolic size {size}")
    return [size * k / parts for k in range(parts + 1)]


def _split(emitter: Emitter, ary, indices, axis, even: bool) -> list[str]:
    operand = emitter.array(ary, "ary")
    axis = static_axis(axis, len(operand.shape), emitter.function)
    cuts = _sections(emitter, indices, operand.shape[axis], even)
    results = []
    for start, stop in zip(cuts, cuts[1:], strict=False):
        shape = tuple(stop - start if k == axis else n for k, n in enumerate(operand.shape))
        index = [f"__i{k} + {text(start)}" if k == axis else f"__i{k}" for k in range(len(shape))]
        results.append(gather(emitter, "split", operand, shape, index))
    return results


@numpy_function("split")
def split(emitter, ary, indices_or_sections, axis=0):
    return _split(emitter, ary, indices_or_sections, axis, even=True)


@numpy_function("array_split")
def array_split(emitter, ary, indices_or_sections, axis=0):
    return _split(emitter, ary, indices_or_sections, axis, even=False)


@numpy_function("vsplit")
def vsplit(emitter, ary, indices_or_sections):
    return split(emitter, ary, indices_or_sections, 0)


@numpy_function("hsplit")
def hsplit(emitter, ary, indices_or_sections):
    return split(emitter, ary, indices_or_sections, min(1, len(emitter.array(ary, "ary").shape) - 1))


# Padding


def _pad_widths(emitter: Emitter, pad_width, ndim: int) -> list[tuple]:
    pairs = pad_width if isinstance(pad_width, (list, tuple)) else [pad_width]
    if pairs and not isinstance(pairs[0], (list, tuple)):
        pairs = [pairs]
    widths = [static_shape(pair, emitter.function, "pad_width") for pair in pairs]
    widths = [pair * 2 if len(pair) == 1 else pair for pair in widths]
    if len(widths) not in (1, ndim):
        raise ValueError(f"{emitter.function}: pad_width has {len(widths)} entries for {ndim} dimensions")
    return widths * ndim if len(widths) == 1 else widths


def _mirror_sources(mode: str, size, before, after):
    """For each added element before and after: the element it repeats, as a function of the map parameter."""
    return {
        "edge": ("0", f"{text(size)} - 1"),
        "reflect": (f"{text(before)} - {{i}}", f"{text(size)} - 2 - {{i}}"),
        "symmetric": (f"{text(before)} - 1 - {{i}}", f"{text(size)} - 1 - {{i}}"),
        "wrap": (f"{text(size)} - {text(before)} + {{i}}", "{i}"),
    }[mode]


def _pad_axis(emitter: Emitter, operand: Operand, axis: int, before, after, mode: str, filler) -> str:
    size = operand.shape[axis]
    out = emitter.new(tuple(n + before + after if k == axis else n for k, n in enumerate(operand.shape)), operand.dtype)
    place_block(emitter, "pad", operand, out, operand.shape, axis, 0, before)
    for width, target, side in ((before, 0, 0), (after, before + size, 1)):
        if width == 0:
            continue
        shape = tuple(width if k == axis else n for k, n in enumerate(operand.shape))
        at = [f"__i{k} + {text(target)}" if k == axis else f"__i{k}" for k in range(len(shape))]
        source = (
            emitter.operand(filler) if mode == "constant" else _read_mirrored(operand, axis, mode, before, after, side)
        )
        emitter.compute("pad", "{0}", [source], operand.dtype, shape, out=out, out_at=at)
    return out


def _read_mirrored(operand: Operand, axis: int, mode: str, before, after, side: int) -> Operand:
    source = _mirror_sources(mode, operand.shape[axis], before, after)[side].format(i=f"__i{axis}")
    return operand.read_at(*(source if k == axis else f"__i{k}" for k in range(len(operand.shape))))


@numpy_function("pad")
def pad(emitter, array, pad_width, mode="constant", constant_values=0):
    operand = emitter.array(array, "array")
    mode = str(getattr(mode, "value", mode))
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        raise ValueError(f"{emitter.function}: mode={mode!r} is not supported")
    widths = _pad_widths(emitter, pad_width, len(operand.shape))
    room = {"reflect": 1, "symmetric": 0, "wrap": 0}.get(mode)
    for (before, after), size in zip(widths, operand.shape, strict=True):
        if room is not None and any((w > size - room) == True for w in (before, after)):  # noqa: E712, may be symbolic
            raise ValueError(f"{emitter.function}: pad_width exceeds what mode={mode!r} can repeat once")
    for axis, (before, after) in enumerate(widths):
        if before != 0 or after != 0:
            operand = emitter.operand(_pad_axis(emitter, operand, axis, before, after, mode, single(constant_values)))
    return operand.container
