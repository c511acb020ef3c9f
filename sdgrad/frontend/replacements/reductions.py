"""Reductions of whole arrays or along axes, as functions and as methods."""

import numpy as np

from sdgrad.frontend.replacements.emit import Emitter, element_count
from sdgrad.frontend.replacements.operands import Operand, single, static_axes, static_axis, static_bool
from sdgrad.frontend.replacements.promotion import inexact_type, loop_types, numpy_dtype, real_type, sum_type
from sdgrad.frontend.replacements.register import numpy_function
from sdgrad.frontend.replacements.scans import flatten
from sdgrad.frontend.replacements.ufuncs import as_boolean, reduce_with

ROOT = "hypot(sqrt({}), 0)"  # of a sum of squares: zero has the derivative zero, which a root alone has not


def _axes(emitter: Emitter, operand: Operand, axis) -> tuple[int, ...]:
    return static_axes(axis, len(operand.shape), emitter.function)


def _as_type(emitter: Emitter, argument, dtype, default) -> Operand:
    operand = emitter.array(argument, "a")
    return emitter.cast(operand, numpy_dtype(dtype) if dtype is not None else default(operand.dtype))


def _initial(emitter: Emitter, name: str, initial):
    """A number that the reduction starts from instead of the identity."""
    initial = single(initial)
    if initial is None or isinstance(initial, (int, float, np.number)):
        return initial
    raise TypeError(f"{emitter.function}: initial must be a number known when the program is parsed, not {initial!r}")


def _numeric(emitter, name, a, axis, dtype, keepdims, initial):
    operand = _as_type(emitter, a, dtype, sum_type)
    return reduce_with(
        emitter, name, operand, _axes(emitter, operand, axis), keepdims, _initial(emitter, name, initial)
    )


@numpy_function("sum", method="sum")
def sum_(emitter, a, axis=None, dtype=None, keepdims=False, initial=None):
    return _numeric(emitter, "add", a, axis, dtype, keepdims, initial)


@numpy_function("prod", method="prod")
def prod(emitter, a, axis=None, dtype=None, keepdims=False, initial=None):
    return _numeric(emitter, "multiply", a, axis, dtype, keepdims, initial)


def _extremum(emitter, name, a, axis, keepdims, initial):
    operand = emitter.array(a, "a")
    return reduce_with(
        emitter, name, operand, _axes(emitter, operand, axis), keepdims, _initial(emitter, name, initial)
    )


@numpy_function("max", "amax", method="max")
def max_(emitter, a, axis=None, keepdims=False, initial=None):
    return _extremum(emitter, "maximum", a, axis, keepdims, initial)


@numpy_function("min", "amin", method="min")
def min_(emitter, a, axis=None, keepdims=False, initial=None):
    return _extremum(emitter, "minimum", a, axis, keepdims, initial)


@numpy_function("ptp", method="ptp")
def ptp(emitter, a, axis=None, keepdims=False):
    ends = [emitter.operand(f(emitter, a, axis, keepdims)) for f in (max_, min_)]
    return emitter.compute("ptp", "{0} - {1}", ends)


@numpy_function("any", method="any")
def any_(emitter, a, axis=None, keepdims=False):
    operand = as_boolean(emitter, a)
    return reduce_with(emitter, "logical_or", operand, _axes(emitter, operand, axis), keepdims)


@numpy_function("all", method="all")
def all_(emitter, a, axis=None, keepdims=False):
    operand = as_boolean(emitter, a)
    return reduce_with(emitter, "logical_and", operand, _axes(emitter, operand, axis), keepdims)


@numpy_function("count_nonzero")
def count_nonzero(emitter, a, axis=None, keepdims=False):
    operand = emitter.array(a, "a")
    ones = emitter.compute("nonzero", "1 if {0} != 0 else 0", [operand], np.int64, None, [operand.dtype])
    return sum_(emitter, ones, axis, keepdims=keepdims)


# Means


def _count(operand: Operand, axes):
    return element_count([operand.shape[k] for k in axes])


def _mean(emitter: Emitter, operand: Operand, axes, keepdims) -> Operand:
    total = emitter.operand(reduce_with(emitter, "add", operand, axes, keepdims))
    return emitter.operand(emitter.compute("mean", "{0} / {1}", [total, emitter.operand(_count(operand, axes))]))


@numpy_function("mean", method="mean")
def mean(emitter, a, axis=None, dtype=None, keepdims=False):
    operand = _as_type(emitter, a, dtype, inexact_type)
    return _mean(emitter, operand, _axes(emitter, operand, axis), keepdims).container


def _variance(emitter: Emitter, a, axis, dtype, ddof, keepdims, template) -> str:
    operand = _as_type(emitter, a, dtype, inexact_type)
    axes = _axes(emitter, operand, axis)
    centre = _mean(emitter, operand, axes, True)
    real = real_type(operand.dtype)
    square = "abs({0} - {1}) * abs({0} - {1})" if operand.dtype.kind == "c" else "({0} - {1}) * ({0} - {1})"
    squares = emitter.compute("variance", square, [operand, centre], real, None, [operand.dtype] * 2)
    total = emitter.operand(reduce_with(emitter, "add", emitter.operand(squares), axes, keepdims))
    count = emitter.operand(_count(operand, axes) - single(ddof), "ddof")
    return emitter.compute("variance", template, [total, count])


@numpy_function("var", method="var")
def var(emitter, a, axis=None, dtype=None, ddof=0, keepdims=False):
    return _variance(emitter, a, axis, dtype, ddof, keepdims, "{0} / {1}")


@numpy_function("std", method="std")
def std(emitter, a, axis=None, dtype=None, ddof=0, keepdims=False):
    return _variance(emitter, a, axis, dtype, ddof, keepdims, ROOT.format("{0} / {1}"))


@numpy_function("average")
def average(emitter, a, axis=None, weights=None, keepdims=False):
    if weights is None:
        return mean(emitter, a, axis, keepdims=keepdims)
    operand, weight = emitter.array(a, "a"), emitter.array(weights, "weights")
    dtype = inexact_type(loop_types(np.multiply, (operand.kind, weight.kind))[1][0])
    axes = _axes(emitter, operand, axis)
    if len(weight.shape) != len(operand.shape):
        if len(axes) != 1 or len(weight.shape) != 1:
            raise TypeError(
                f"{emitter.function}: weights must have the shape of a, or be one-dimensional with one axis"
            )
        weight = weight.read_at(f"__i{axes[0]}")
    weighted = emitter.compute("average", "{0} * {1}", [operand, weight], dtype, operand.shape)
    spread = emitter.compute("average", "{0}", [weight], dtype, operand.shape)
    total, norm = (
        emitter.operand(reduce_with(emitter, "add", emitter.operand(x), axes, keepdims)) for x in (weighted, spread)
    )
    return emitter.compute("average", "{0} / {1}", [total, norm])


# Reductions that leave out NaN: replace it by the identity first


def _without_nan(emitter: Emitter, a, filler) -> Operand:
    operand = emitter.array(a, "a")
    if operand.dtype.kind != "f":
        return operand
    return emitter.operand(
        emitter.compute("without_nan", "{1} if isnan({0}) else {0}", [operand, emitter.operand(filler)])
    )


@numpy_function("nansum")
def nansum(emitter, a, axis=None, dtype=None, keepdims=False):
    return sum_(emitter, _without_nan(emitter, a, 0), axis, dtype, keepdims)


@numpy_function("nanprod")
def nanprod(emitter, a, axis=None, dtype=None, keepdims=False):
    return prod(emitter, _without_nan(emitter, a, 1), axis, dtype, keepdims)


@numpy_function("nanmax")
def nanmax(emitter, a, axis=None, keepdims=False):
    return max_(emitter, _without_nan(emitter, a, -np.inf), axis, keepdims)


@numpy_function("nanmin")
def nanmin(emitter, a, axis=None, keepdims=False):
    return min_(emitter, _without_nan(emitter, a, np.inf), axis, keepdims)


@numpy_function("nanmean")
def nanmean(emitter, a, axis=None, keepdims=False):
    operand = emitter.array(a, "a")
    if operand.dtype.kind != "f":
        return mean(emitter, a, axis, keepdims=keepdims)
    present = emitter.compute("present", "0 if isnan({0}) else 1", [operand])
    parts = [emitter.operand(sum_(emitter, x, axis, keepdims=keepdims)) for x in (_without_nan(emitter, a, 0), present)]
    return emitter.compute("nanmean", "{0} / {1}", parts)


# Positions of extrema


def _position(emitter: Emitter, name: str, a, axis, keepdims) -> str:
    """The least index at which the extremum is attained: a map marks candidates and a minimum picks the first."""
    operand = emitter.array(a, "a")
    keepdims = static_bool(keepdims, emitter.function, "keepdims")
    if axis is None:
        if keepdims:
            raise ValueError(f"{emitter.function}: keepdims needs an axis")
        operand = emitter.operand(flatten(emitter, operand))
        axis = 0
    axis = static_axis(axis, len(operand.shape), emitter.function)
    best = emitter.operand(reduce_with(emitter, name, operand, (axis,), True))
    types = [operand.dtype, operand.dtype, np.dtype("int64")]
    size = emitter.operand(operand.shape[axis])
    candidates = emitter.compute(
        "candidates", f"__i{axis} if {{0}} == {{1}} else {{2}}", [operand, best, size], np.int64, operand.shape, types
    )
    return reduce_with(emitter, "minimum", emitter.operand(candidates), (axis,), keepdims)


@numpy_function("argmax", method="argmax")
def argmax(emitter, a, axis=None, keepdims=False):
    return _position(emitter, "maximum", a, axis, keepdims)


@numpy_function("argmin", method="argmin")
def argmin(emitter, a, axis=None, keepdims=False):
    return _position(emitter, "minimum", a, axis, keepdims)


# Norms


def _absolute(emitter: Emitter, x) -> Operand:
    operand = emitter.array(x, "x")
    dtype = operand.dtype
    real = inexact_type(real_type(dtype))
    return emitter.operand(
        emitter.compute("absolute", "abs({0})", [operand], real, None, [dtype if dtype.kind == "c" else real])
    )


def _euclidean(emitter: Emitter, x, axes, keepdims) -> str:
    operand = emitter.array(x, "x")
    complex_ = operand.dtype.kind == "c"
    dtype = inexact_type(real_type(operand.dtype))
    square = "abs({0}) * abs({0})" if complex_ else "{0} * {0}"
    squares = emitter.compute("square", square, [operand], dtype, None, [operand.dtype if complex_ else dtype])
    total = reduce_with(emitter, "add", emitter.operand(squares), axes, keepdims)
    return emitter.compute("sqrt", ROOT.format("{0}"), [total])


def _vector_norm(emitter: Emitter, x, order, axis, keepdims) -> str:
    if order in (None, 2):
        return _euclidean(emitter, x, (axis,), keepdims)
    if order == 0:
        counted = emitter.operand(count_nonzero(emitter, x, axis, keepdims))
        return emitter.compute("norm", "{0}", [counted], inexact_type(real_type(emitter.array(x).dtype)))
    magnitude = _absolute(emitter, x)
    if order in (np.inf, -np.inf):
        return reduce_with(emitter, "maximum" if order > 0 else "minimum", magnitude, (axis,), keepdims)
    if order == 1:
        return reduce_with(emitter, "add", magnitude, (axis,), keepdims)
    powers = emitter.compute("power", "{0} ** {1}", [magnitude, emitter.operand(order, "ord")])
    total = reduce_with(emitter, "add", emitter.operand(powers), (axis,), keepdims)
    return emitter.compute("power", "{0} ** {1}", [total, emitter.operand(1.0 / order)])


def _matrix_norm(emitter: Emitter, x, order, axes, keepdims) -> str:
    if order in (None, "fro"):
        return _euclidean(emitter, x, tuple(sorted(axes)), keepdims)
    if order not in (1, -1, np.inf, -np.inf):
        raise ValueError(
            f"{emitter.function}: ord={order!r} of a matrix needs singular values, which are not supported"
        )
    rows, columns = axes
    summed, compared = (rows, columns) if abs(order) == 1 else (columns, rows)
    sums = emitter.operand(reduce_with(emitter, "add", _absolute(emitter, x), (summed,), True))
    result = reduce_with(emitter, "maximum" if order > 0 else "minimum", sums, (compared,), True)
    shape = emitter.operand(result).shape
    kept = tuple(size for k, size in enumerate(shape) if keepdims or k not in axes)
    return (
        emitter.view(result, kept)
        if kept
        else emitter.compute("norm", "{0}", [emitter.operand(result).read_at(*"0" * len(shape))], shape=())
    )


@numpy_function("linalg.norm")
def norm(emitter, x, ord=None, axis=None, keepdims=False):
    ndim = len(emitter.array(x, "x").shape)
    order = getattr(ord, "value", ord)
    order = str(order) if isinstance(order, str) else order
    if not isinstance(order, (str, int, float, np.number, type(None))):
        raise TypeError(f"{emitter.function}: ord must be known when the program is parsed, not {order!r}")
    if axis is None and order is None:
        return _euclidean(emitter, x, tuple(range(ndim)), keepdims)
    axes = tuple(range(ndim)) if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(static_axis(k, ndim, emitter.function) for k in axes)
    if len(axes) == 1:
        return _vector_norm(emitter, x, order, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(emitter, x, order, axes, keepdims)
    raise ValueError(f"{emitter.function}: axis must name one or two axes, not {len(axes)}")


@numpy_function("trace", method="trace")
def trace(emitter, a, offset=0, axis1=0, axis2=1):
    from sdgrad.frontend.replacements.indexing import diagonal

    return sum_(emitter, diagonal(emitter, a, offset, axis1, axis2), -1)
