"""Changes of shape and order of axes: views where the memory allows it, one copying map otherwise."""

import sympy
from dace import symbolic

from sdgrad.frontend.replacements.emit import Emitter, broadcast_shape, element_count, same_size
from sdgrad.frontend.replacements.indexing import gather
from sdgrad.frontend.replacements.operands import Operand, static_axes, static_axis, static_shape
from sdgrad.frontend.replacements.register import numpy_function
from sdgrad.frontend.replacements.scans import flatten


def _quotient(total, rest):
    """``total / rest``; where symbols leave a fraction, rounded down: when the program runs it has none."""
    if not symbolic.issymbolic(total) and not symbolic.issymbolic(rest):
        return total // rest
    exact = sympy.simplify(sympy.sympify(total) / rest)
    return exact if exact.is_polynomial() else symbolic.int_floor(total, rest)


def _known_shape(emitter: Emitter, shape, total) -> tuple:
    """``shape`` with a -1 replaced by what the other sizes leave of ``total`` elements."""
    sizes = list(static_shape(shape, emitter.function))
    holes = [k for k, n in enumerate(sizes) if n == -1]
    if len(holes) > 1:
        raise ValueError(f"{emitter.function}: only one size in shape may be -1")
    if holes:
        rest = element_count([n for n in sizes if n != -1])
        sizes[holes[0]] = _quotient(total, rest)
    known = not any(symbolic.issymbolic(n) for n in (*sizes, total))
    if known and element_count(sizes) != total:
        raise ValueError(f"{emitter.function}: shape {tuple(sizes)} does not hold {total} elements")
    return tuple(sizes)


def _check_order(emitter: Emitter, order) -> bool:
    """Whether ``order`` asks for column-major order."""
    order = str(getattr(order, "value", order))
    if order not in ("C", "F"):
        raise ValueError(f"{emitter.function}: order={order!r} is not supported, only 'C' and 'F'")
    return order == "F"


@numpy_function("reshape")
def reshape(emitter, a, shape=None, order="C", *, newshape=None):
    operand = emitter.array(a, "a")
    shape = newshape if shape is None else shape
    sizes = _known_shape(emitter, shape, element_count(operand.shape))
    if not _check_order(emitter, order):
        return emitter.view(operand.name, sizes)
    # Column-major order is row-major order of the transposes
    columns = emitter.view(transpose(emitter, operand), sizes[::-1])
    return transpose(emitter, columns)


@numpy_function(method="reshape")
def reshape_method(emitter, a, *shape, order="C"):
    if not shape:
        raise TypeError(f"{emitter.function}: shape is missing")
    return reshape(emitter, a, shape[0] if len(shape) == 1 else shape, order)


@numpy_function("ravel", method="ravel", attribute="flat")
def ravel(emitter, a, order="C"):
    operand = emitter.array(a, "a")
    return flatten(emitter, emitter.operand(transpose(emitter, operand)) if _check_order(emitter, order) else operand)


@numpy_function(method="flatten")
def flatten_method(emitter, a, order="C"):
    return emitter.compute("flatten", "{0}", [ravel(emitter, a, order)])


@numpy_function("squeeze", method="squeeze")
def squeeze(emitter, a, axis=None):
    operand = emitter.array(a, "a")
    ones = [k for k, n in enumerate(operand.shape) if same_size(n, 1)]
    axes = ones if axis is None else static_axes(axis, len(operand.shape), emitter.function)
    if not set(axes) <= set(ones):
        raise ValueError(f"{emitter.function}: axis={axis} has a size other than one")
    kept = tuple(n for k, n in enumerate(operand.shape) if k not in axes)
    return (
        emitter.view(operand.name, kept) if kept else gather(emitter, "squeeze", operand, (), "0" * len(operand.shape))
    )


@numpy_function("expand_dims")
def expand_dims(emitter, a, axis):
    operand = emitter.array(a, "a")
    listed = axis if isinstance(axis, (list, tuple)) else [axis]
    axes = static_axes(list(listed), len(operand.shape) + len(listed), emitter.function)
    sizes = list(operand.shape)
    for k in axes:
        sizes.insert(k, 1)
    return emitter.view(operand.name, tuple(sizes))


def _at_least(emitter: Emitter, arrays, ndim: int):
    results = []
    for a in arrays:
        operand = emitter.array(a, "arys")
        missing = max(0, ndim - len(operand.shape))
        results.append(emitter.view(operand.name, (1,) * missing + operand.shape) if missing else operand.container)
    return results[0] if len(results) == 1 else results


@numpy_function("atleast_1d")
def atleast_1d(emitter, *arys):
    return _at_least(emitter, arys, 1)


@numpy_function("atleast_2d")
def atleast_2d(emitter, *arys):
    return _at_least(emitter, arys, 2)


# Order of axes


@numpy_function("transpose")
def transpose(emitter, a, axes=None):
    operand = emitter.array(a, "a")
    ndim = len(operand.shape)
    if ndim < 2:
        return operand.container
    listed = range(ndim)[::-1] if axes is None else axes
    order = [static_axis(k, ndim, emitter.function, "axes") for k in listed]
    if sorted(order) != list(range(ndim)):
        raise ValueError(f"{emitter.function}: axes={axes} is not a permutation of {ndim} axes")
    if order == list(range(ndim)):
        return operand.container
    index = [f"__i{order.index(k)}" for k in range(ndim)]
    return gather(emitter, "transpose", operand, tuple(operand.shape[k] for k in order), index)


@numpy_function(method="transpose")
def transpose_method(emitter, a, *axes):
    return transpose(emitter, a, (axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes) or None)


@numpy_function("matrix_transpose", "linalg.matrix_transpose", attribute="mT")
def matrix_transpose(emitter, x):
    return swapaxes(emitter, x, -1, -2)


@numpy_function(attribute="T")
def transpose_attribute(emitter, a):
    return transpose(emitter, a)


@numpy_function("swapaxes", method="swapaxes")
def swapaxes(emitter, a, axis1, axis2):
    ndim = len(emitter.array(a, "a").shape)
    first, second = (
        static_axis(axis1, ndim, emitter.function, "axis1"),
        static_axis(axis2, ndim, emitter.function, "axis2"),
    )
    order = list(range(ndim))
    order[first], order[second] = second, first
    return transpose(emitter, a, order)


@numpy_function("moveaxis")
def moveaxis(emitter, a, source, destination):
    ndim = len(emitter.array(a, "a").shape)
    lists = [axes if isinstance(axes, (list, tuple)) else [axes] for axes in (source, destination)]
    sources, targets = (
        [static_axis(k, ndim, emitter.function, n) for k in axes]
        for axes, n in zip(lists, ("source", "destination"), strict=True)
    )
    if len(sources) != len(targets):
        raise ValueError(f"{emitter.function}: source and destination must have as many entries")
    order = [k for k in range(ndim) if k not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return transpose(emitter, a, order)


# Replication


@numpy_function("broadcast_to")
def broadcast_to(emitter, array, shape):
    operand = emitter.array(array, "array")
    sizes = static_shape(shape, emitter.function)
    wide = broadcast_shape([operand.shape, sizes], emitter.function)
    if len(wide) != len(sizes) or any(not same_size(m, n) for m, n in zip(wide, sizes, strict=True)):
        raise ValueError(f"{emitter.function}: array of shape {operand.shape} does not broadcast to shape {sizes}")
    return emitter.compute("broadcast", "{0}", [operand], shape=sizes)


def _interleave(emitter: Emitter, operand: Operand, counts, repeats_inside: bool) -> str:
    """Every axis split in two, element and repetition, so that indices stay affine; then merged by a view."""
    ndim = len(operand.shape)
    split, index = [], []
    for k, (size, count) in enumerate(zip(operand.shape, counts, strict=True)):
        split += [size, count] if repeats_inside else [count, size]
        index.append(f"__i{2 * k + (not repeats_inside)}")
    spread = gather(emitter, "repeat", operand, tuple(split), index)
    return emitter.view(spread, tuple(operand.shape[k] * counts[k] for k in range(ndim)))


@numpy_function("tile")
def tile(emitter, A, reps):
    operand = emitter.array(A, "A")
    counts = static_shape(reps, emitter.function, "reps")
    ndim = max(len(counts), len(operand.shape))
    counts = (1,) * (ndim - len(counts)) + counts
    padded = emitter.operand(_at_least(emitter, [operand], ndim))
    return _interleave(emitter, padded, counts, repeats_inside=False)


@numpy_function("repeat", method="repeat")
def repeat(emitter, a, repeats, axis=None):
    operand = emitter.array(a, "a")
    (count,) = static_shape(repeats, emitter.function, "repeats")
    if axis is None:
        operand, axis = emitter.operand(flatten(emitter, operand)), 0
    axis = static_axis(axis, len(operand.shape), emitter.function)
    return _interleave(
        emitter, operand, [count if k == axis else 1 for k in range(len(operand.shape))], repeats_inside=True
    )


@numpy_function("meshgrid")
def meshgrid(emitter, *xi, indexing="xy"):
    vectors = [emitter.operand(flatten(emitter, emitter.array(x, "xi"))) for x in xi]
    places = list(range(len(vectors)))
    if str(getattr(indexing, "value", indexing)) == "xy" and len(vectors) > 1:
        places[:2] = 1, 0
    shape = [vectors[0].shape[0]] * len(vectors)
    for vector, place in zip(vectors, places, strict=True):
        shape[place] = vector.shape[0]
    return [
        gather(emitter, "meshgrid", vector, tuple(shape), [f"__i{place}"])
        for vector, place in zip(vectors, places, strict=True)
    ]


@numpy_function("size")
def size(emitter, a, axis=None):
    shape = emitter.operand(a, "a").shape
    return element_count(shape) if axis is None else shape[static_axis(axis, len(shape), emitter.function)]


@numpy_function("ndim")
def ndim(emitter, a):
    return len(emitter.operand(a, "a").shape)


@numpy_function(attribute="ndim")
def ndim_attribute(emitter, a):
    return ndim(emitter, a)


@numpy_function("shape")
def shape(emitter, a):
    return tuple(emitter.operand(a, "a").shape)
