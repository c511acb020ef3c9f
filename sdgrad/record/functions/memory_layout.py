"""Tell how arrays lie in memory, and view memory in other ways: ``strides``, ``nbytes``, ``as_strided``.

An array is a view of a container whose elements lie in C order, so that its strides are those of NumPy for a view of
such an array. What ``as_strided`` addresses has to lie inside of the container.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import sympy

from sdgrad.errors import ParseError
from sdgrad.record.complex_parts import whole_of
from sdgrad.record.functions.arguments import shape_of
from sdgrad.record.functions.shapes import reshape
from sdgrad.record.functions.table import array, known, rule
from sdgrad.record.functions.windows import read_only
from sdgrad.record.values import Array

NAME = "numpy.lib.stride_tricks.as_strided"


def addresses(a: Array) -> tuple[int, tuple[int, ...]]:
    """Return the place of an array's first element in its container, and the distances along its axes, in elements.

    :raises ParseError: data, or a run, decide where they are.
    """
    names = [sympy.Dummy(integer=True) for _ in range(a.ndim)]
    placed = tuple(names) if a.tensor.place is None else a.tensor.place(tuple(names))
    extents = [sympy.sympify(n) for n in a.recorder.containers[a.tensor.container].shape]
    if all(isinstance(p, (int, sympy.Basic)) for p in placed) and all(n.is_Integer for n in extents):
        steps = [math.prod(map(int, extents[k + 1 :])) for k in range(len(extents))]
        place = sympy.expand(sum((sympy.sympify(p) * s for p, s in zip(placed, steps, strict=False)), sympy.Integer(0)))
        along = [place.coeff(n) for n in names]
        first = sympy.expand(place - sum(c * n for c, n in zip(along, names, strict=True)))
        if first.is_Integer and all(c.is_Integer for c in along):
            return int(first), tuple(map(int, along))
    raise ParseError("only a run knows where the elements of this array are in memory: take those of a copy, x.copy()")


def strides(a: Any) -> tuple[int, ...]:
    """Return the bytes between neighbours along each axis, as of an array of NumPy's that lies in C order."""
    if a.known is not None:
        return a.read_known().strides
    return tuple(n * _distance(a) for n in addresses(a)[1])


def _distance(a: Array) -> int:
    """Return the bytes from an element of an array's memory to the next one."""
    return whole_of(a.tensor).dtype.itemsize


ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "strides": strides,
    "itemsize": lambda a: a.dtype.itemsize,
    "nbytes": lambda a: a.size * a.dtype.itemsize,
}


@rule(np.lib.stride_tricks.as_strided, aliases=True)
def as_strided(x: Any, shape: Any = None, strides: Any = None, *, writeable: bool = True) -> Any:
    """View memory with a shape and strides. It is only read: its elements may be those of the array, many times."""
    a = array(x)
    wanted = tuple(a.shape) if shape is None else shape_of(shape)
    by = ATTRIBUTES["strides"](a) if strides is None else shape_of(strides)
    if len(by) != len(wanted):
        raise ValueError("strides and shape have different lengths")
    first = addresses(a)[0] if a.known is None else 0
    memory = a.shape if a.known is not None else a.recorder.containers[a.tensor.container].shape
    extents = tuple(map(int, memory))
    steps = [_in_elements(n, _distance(a)) for n in by]
    _check_inside(first, wanted, steps, math.prod(extents))
    if a.known is not None:
        return known(np.lib.stride_tricks.as_strided(np.ascontiguousarray(a.read_known()), wanted, by).copy())
    tensor = replace(a.tensor, place=None, shape=extents)
    flat = reshape(Array(a.recorder, a.storage, tensor), -1)

    def place(index: tuple) -> tuple:
        return (first + sum((i * n for i, n in zip(index, steps, strict=True)), sympy.Integer(0)),)

    return read_only(flat, wanted, place)


def _in_elements(stride: int, itemsize: int) -> int:
    if stride % itemsize:
        raise ParseError(f"{NAME}: a stride of {stride} bytes goes into the middle of a number of {itemsize}")
    return stride // itemsize


def _check_inside(first: int, shape: tuple[int, ...], steps: list[int], size: int) -> None:
    """Refuse a view that goes beyond the array, which NumPy does not check."""
    ends = [n * (k - 1) for k, n in zip(shape, steps, strict=True)] if all(shape) else []
    low, high = first + sum(min(e, 0) for e in ends), first + sum(max(e, 0) for e in ends)
    if all(shape) and (low < 0 or high >= size):
        raise ValueError(f"{NAME}: elements {low} to {high} of memory that has {size}")
