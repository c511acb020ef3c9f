"""Draw numbers that a key decides: a call of the library in a program that is recorded, the same call at once outside.

All distributions are made of these draws, in NumPy's terms where their parameters are.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ArgumentError, ParseError
from sdgrad.record.functions.arguments import shape_of
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import active, array, known
from sdgrad.record.values import Array, Number, is_recorded
from sdgrad.runtime.compile.random_object import draw_function
from sdgrad.runtime.libraries.random_numbers import OPERANDS, Draw, Kind

WORD, WHOLE, REAL = np.dtype(np.uint64), np.dtype(np.int64), np.dtype(np.float64)
SINGLE = np.dtype(np.float32)
KEY = (2,)
"""The shape of a key: two words of Philox4x64."""


def drawn(kind: Kind, key: Any, shape: Sequence[int], dtype: Any, *parameters: Any) -> Any:
    """Return random numbers of a kind in a shape; the content of parameters has no derivative here.

    :param parameters: numbers, or arrays of the shape, of the type that the kind takes.
    """
    extents = tuple(shape)
    if any(isinstance(n, int | np.integer) and n < 0 for n in extents):
        raise ValueError("negative dimensions are not allowed")
    if active() is None:
        return _drawn_now(kind, _key_now(key), extents, np.dtype(dtype), [np.asarray(p) for p in parameters])
    words = _recorded_key(key)
    if math.prod(extents) == 0:
        return known(np.zeros(extents, dtype))
    given = {c: _line(p, extents) for c, p in zip(OPERANDS, parameters, strict=False)}
    recorder: Any = words.recorder
    node, operands = Draw(kind, len(given)), {"_key": tensor_of(words), **given}
    found = recorder.call(node, operands, "_out", (math.prod(extents),), np.dtype(dtype))
    return recorder.array(recorder.view(found, extents)) if extents else recorder.read(found, (0,))


def _line(parameter: Any, shape: tuple[int, ...]) -> Any:
    """Return a parameter as a line of numbers: one, or one for each element."""
    whole: Any = detached(array(parameter))
    if whole.size != 1:
        whole = np.broadcast_to(whole, shape)
    line: Any = np.reshape(whole, -1)
    return tensor_of(line)


def _drawn_now(
    kind: Kind, key: np.ndarray, shape: tuple[int, ...], dtype: np.dtype, parameters: Sequence[np.ndarray]
) -> Any:
    """Fill an array, in this process, outside of a program."""
    found = np.empty(shape, dtype)
    lines = [p if p.size == 1 else np.ascontiguousarray(np.broadcast_to(p, shape)) for p in parameters]
    given: list[Any] = [x for p in lines for x in (p.ctypes.data_as(ctypes.c_void_p), int(p.size != 1))]
    given += [None, 0] * (len(OPERANDS) - len(lines))
    draw_function()(int(kind), key.ctypes.data, found.size, *given, found.ctypes.data, 1, dtype == SINGLE)
    return found if shape else found[()]


def _key_now(key: Any) -> np.ndarray:
    """Return a key as contiguous words."""
    if not isinstance(key, np.ndarray) or key.dtype != WORD or key.shape != KEY:
        raise _no_key(key)
    return np.ascontiguousarray(key)


def _recorded_key(key: Any) -> Array:
    """Return a key as a recorded array."""
    if not isinstance(key, (np.ndarray, Array)):
        raise _no_key(key)
    words = array(key)
    if words.dtype != WORD or tuple(words.shape) != KEY:
        raise _no_key(key)
    return words


def _no_key(value: Any) -> Exception:
    """Return the error for what is no key."""
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    told = type(value).__name__ if dtype is None else f"an array of {dtype} with shape {shape}"
    return ArgumentError(
        f"a key is an array of two uint64, as sdgrad.random.key(seed) makes it, not {told}; of several keys, as "
        "split(key, n) makes them, take one: keys[i]"
    )


# -- arguments of distributions
def real(dtype: Any, name: str) -> np.dtype:
    """Return the type of real numbers that are asked for.

    :raises ParseError: it is neither double nor single precision.
    """
    found = np.dtype(dtype)
    if found not in (REAL, SINGLE):
        raise ParseError(f"sdgrad.random.{name} draws float64 or float32, not {found}")
    return found


def whole(dtype: Any, name: str) -> np.dtype:
    """Return the type of integers that are asked for.

    :raises ParseError: it is neither of 64 nor of 32 bits, with a sign.
    """
    found = np.dtype(dtype)
    if found not in (WHOLE, np.dtype(np.int32)):
        raise ParseError(f"sdgrad.random.{name} draws int64 or int32, not {found}")
    return found


def numbers(value: Any, dtype: np.dtype) -> Any:
    """Return a parameter in a type; numbers of Python's take it where they are used."""
    if isinstance(value, (bool, int, float)) or isinstance(value, Number) and value.weak:
        return value
    given = value if is_recorded(value) else np.asarray(value)
    if given.dtype.kind not in "fiub":
        raise TypeError(f"a parameter of a distribution is real, not of type {given.dtype}")
    return given if given.dtype == dtype else given.astype(dtype)


def taken(value: Any, dtype: np.dtype) -> Any:
    """Return a parameter as a draw takes it: an array of a type."""
    if is_recorded(value):
        found = array(value)
        return found if found.dtype == dtype else found.astype(dtype)
    return np.asarray(value, dtype)


def constant(value: Any) -> Any:
    """Return a value through which no derivative passes."""
    return value if active() is None else detached(value)


def softmax(x: Any) -> Any:
    """Return shares along the last axis, from their logarithms up to a constant."""
    parts = np.exp(x - constant(np.max(x, axis=-1, keepdims=True)))
    return parts / np.sum(parts, axis=-1, keepdims=True)


def extents(shape: Any, *parameters: Any) -> tuple[int, ...]:
    """Return the shape of a result: the one asked for, or if that is None, the common one of parameters.

    :raises ValueError: the parameters do not fit into the shape.
    """
    common = np.broadcast_shapes(*map(_shape, parameters))
    if shape is None:
        return common
    own = shape_of(shape)
    pairs = zip(common[::-1], own[::-1], strict=False)
    if len(common) > len(own) or any(n not in (1, m) for n, m in pairs):
        raise ValueError(f"parameters of shape {common} do not fit into the shape {own} that is asked for")
    return own


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of a parameter."""
    return tuple(map(int, value.shape)) if is_recorded(value) else np.shape(value)
