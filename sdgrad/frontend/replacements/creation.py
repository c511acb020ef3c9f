"""New arrays: filled, copied, counted."""

import numpy as np
from dace import symbolic

from sdgrad.frontend.replacements.emit import Emitter
from sdgrad.frontend.replacements.operands import single, static_int, static_shape
from sdgrad.frontend.replacements.promotion import common_type, inexact_type, numpy_dtype
from sdgrad.frontend.replacements.register import numpy_function


@numpy_function("full")
def full(emitter, shape, fill_value, dtype=None):
    value = emitter.operand(fill_value, "fill_value")
    dtype = value.dtype if dtype is None else numpy_dtype(dtype)
    return emitter.compute("full", "{0}", [value], dtype, static_shape(single(shape), emitter.function), [dtype])


@numpy_function("zeros")
def zeros(emitter, shape, dtype=np.float64):
    return full(emitter, shape, 0, dtype)


@numpy_function("ones")
def ones(emitter, shape, dtype=np.float64):
    return full(emitter, shape, 1, dtype)


@numpy_function("full_like")
def full_like(emitter, a, fill_value, dtype=None, shape=None):
    model = emitter.operand(a, "a")
    return full(emitter, model.shape if shape is None else shape, fill_value, model.dtype if dtype is None else dtype)


@numpy_function("zeros_like")
def zeros_like(emitter, a, dtype=None, shape=None):
    return full_like(emitter, a, 0, dtype, shape)


@numpy_function("ones_like")
def ones_like(emitter, a, dtype=None, shape=None):
    return full_like(emitter, a, 1, dtype, shape)


@numpy_function("copy", method="copy")
def copy(emitter, a):
    return emitter.compute("copy", "{0}", [a])


@numpy_function("eye")
def eye(emitter, N, M=None, k=0, dtype=np.float64):
    shape = static_shape([N, N if M is None else M], emitter.function, "N and M")
    k = static_int(k, emitter.function, "k")
    return emitter.compute("eye", f"1 if __i1 - __i0 == {k} else 0", [], numpy_dtype(dtype), shape)


@numpy_function("identity")
def identity(emitter, n, dtype=np.float64):
    return eye(emitter, n, dtype=dtype)


def _linear(emitter: Emitter, label, start, step, count, dtype) -> str:
    """``start + i * step`` for ``i`` below ``count``."""
    (count,) = static_shape(count, emitter.function, "num")
    return emitter.compute(label, "{0} + __i0 * {1}", [start, step], dtype, (count,))


@numpy_function("arange", "dace.arange")
def arange(emitter, start, stop=None, step=1, dtype=None):
    start, stop = (0, start) if stop is None else (start, stop)
    first, last, stride = (emitter.operand(x, n) for x, n in ((start, "start"), (stop, "stop"), (step, "step")))
    for operand, name in ((first, "start"), (last, "stop"), (stride, "step")):
        if operand.container:
            raise TypeError(
                f"{emitter.function}: {name} must be known when the program is parsed, not {operand.container}"
            )
    if all(o.is_number for o in (first, last, stride)):
        count = len(np.arange(first.value, last.value, stride.value))
    else:
        extent = last.value - first.value
        count = extent if stride.value == 1 else symbolic.int_ceil(extent, stride.value)
    dtype = common_type([o.kind for o in (first, last, stride)]) if dtype is None else numpy_dtype(dtype)
    return _linear(emitter, "arange", first, stride, count, dtype)


@numpy_function("linspace")
def linspace(emitter, start, stop, num=50, endpoint=True, retstep=False, dtype=None):
    first, last = emitter.operand(start, "start"), emitter.operand(stop, "stop")
    if first.shape or last.shape:
        raise TypeError(f"{emitter.function}: start and stop must be scalars")
    computed = inexact_type(common_type([first.kind, last.kind, float]))
    divisions = static_shape(num, emitter.function, "num")[0] - bool(endpoint)
    # One sample has no step
    divisions = 1 if divisions == 0 else divisions
    step = emitter.operand(
        emitter.compute("step", "({1} - {0}) / {2}", [first, last, emitter.operand(divisions)], computed)
    )
    result = _linear(emitter, "linspace", first, step, num, computed if dtype is None else numpy_dtype(dtype))
    return [result, step.container] if retstep else result
