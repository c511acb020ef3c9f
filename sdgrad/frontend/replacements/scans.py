"""Scans along an axis: a sequential loop over the axis around a map over the other axes."""

import numpy as np

from sdgrad.frontend.replacements.emit import Emitter, element_count, parameters
from sdgrad.frontend.replacements.operands import Operand, static_axis, static_int
from sdgrad.frontend.replacements.promotion import inexact_type, loop_types, numpy_dtype, sum_type
from sdgrad.frontend.replacements.register import numpy_function


def scan(emitter: Emitter, label: str, template: str, operand: Operand, axis: int) -> str:
    """``out[0] = a[0]; out[k] = template(out[k - 1], a[k])`` along ``axis``."""
    out = emitter.new(operand.shape, operand.dtype)
    others = tuple(1 if k == axis else size for k, size in enumerate(operand.shape))
    params = parameters(others)

    def at(index):
        return [str(index) if k == axis else param for k, param in enumerate(params)]

    first = operand.read_at(*at(0))
    emitter.compute(label, "{0}", [first], shape=others, out=out, out_at=at(0))
    body, k = emitter.loop(1, operand.shape[axis])
    before = Operand(operand.shape, operand.dtype, out).read_at(*at(f"{k} - 1"))
    current = operand.read_at(*at(k))
    emitter.compute(label, template, [before, current], shape=others, out=out, out_at=at(k), state=body)
    return out


def _cumulative(emitter: Emitter, label: str, template: str, a, axis, dtype):
    operand = emitter.array(a, "a")
    operand = emitter.cast(operand, numpy_dtype(dtype) if dtype is not None else sum_type(operand.dtype))
    if axis is None:
        operand = emitter.operand(flatten(emitter, operand))
        axis = 0
    return scan(emitter, label, template, operand, static_axis(axis, len(operand.shape), emitter.function))


def flatten(emitter: Emitter, operand: Operand) -> str:
    return emitter.view(operand.name, (element_count(operand.shape),))


@numpy_function("cumsum", method="cumsum")
def cumsum(emitter, a, axis=None, dtype=None):
    return _cumulative(emitter, "cumsum", "{0} + {1}", a, axis, dtype)


@numpy_function("cumprod", method="cumprod")
def cumprod(emitter, a, axis=None, dtype=None):
    return _cumulative(emitter, "cumprod", "{0} * {1}", a, axis, dtype)


def shifted(operand: Operand, axis: int, offset: int) -> Operand:
    """``operand`` read ``offset`` elements further along ``axis``."""
    return operand.read_at(
        *(f"__i{k} + {offset}" if k == axis and offset else f"__i{k}" for k in range(len(operand.shape)))
    )


def shorter(shape, axis: int, by: int = 1) -> tuple:
    return tuple(size - by if k == axis else size for k, size in enumerate(shape))


@numpy_function("diff")
def diff(emitter, a, n=1, axis=-1):
    operand = emitter.array(a, "a")
    n = static_int(n, emitter.function, "n")
    axis = static_axis(axis, len(operand.shape), emitter.function)
    if n < 0:
        raise ValueError(f"{emitter.function}: n must be non-negative, not {n}")
    for _ in range(n):
        template = "{0} != {1}" if operand.dtype.kind == "b" else "{0} - {1}"
        pair = [shifted(operand, axis, 1), shifted(operand, axis, 0)]
        operand = emitter.operand(emitter.compute("diff", template, pair, shape=shorter(operand.shape, axis)))
    return operand.container


@numpy_function("trapezoid", "trapz")
def trapezoid(emitter, y, x=None, dx=1.0, axis=-1):
    y = emitter.array(y, "y")
    axis = static_axis(axis, len(y.shape), emitter.function)
    pair = [shifted(y, axis, 1), shifted(y, axis, 0)]
    if x is None:
        width, widths = "{2}", [emitter.operand(dx, "dx")]
    else:
        width, widths = "({2} - {3})", _abscissae(emitter, emitter.array(x, "x"), y, axis)
    kinds = [o.kind for o in [y, *widths]]
    dtype = inexact_type(loop_types(np.multiply, (kinds[0], kinds[-1]))[1][0])
    areas = emitter.compute("trapezoid", f"{width} * ({{0}} + {{1}}) / 2", pair + widths, dtype, shorter(y.shape, axis))
    return emitter.reduce("add", "lambda x, y: x + y", emitter.operand(areas), (axis,), 0)


def _abscissae(emitter: Emitter, x: Operand, y: Operand, axis: int) -> list[Operand]:
    if len(x.shape) == 1:
        return [x.read_at(f"__i{axis} + 1"), x.read_at(f"__i{axis}")]
    if len(x.shape) != len(y.shape):
        raise ValueError(f"{emitter.function}: x must have one dimension or as many as y")
    return [shifted(x, axis, 1), shifted(x, axis, 0)]
