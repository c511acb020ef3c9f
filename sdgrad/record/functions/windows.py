"""Windows of arrays: views of all parts of a shape, and the weights of Kaiser's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special

from sdgrad.errors import ParseError
from sdgrad.record.elements import Dim
from sdgrad.record.functions.arguments import several, shape_of, static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.shapes import READONLY
from sdgrad.record.functions.table import FUNCTIONS, array, known, operand, rule
from sdgrad.record.values import Array, Storage


@rule(np.lib.stride_tricks.sliding_window_view, aliases=True)
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, writeable: bool = False) -> Any:
    """Return a view that is only read: its elements are those of the array, many times."""
    if writeable:
        raise ParseError("numpy.lib.stride_tricks.sliding_window_view: windows that are written share elements")
    a, extents = array(x), shape_of(window_shape)
    axes = list(range(a.ndim)) if axis is None else [static_axis(d, a.ndim) for d in several(axis)]
    if any(n < 0 for n in extents):
        raise ValueError("`window_shape` cannot contain negative values")
    if len(axes) != len(extents):
        raise ValueError("Must provide matching length window_shape and axis")
    left = list(a.tensor.shape)
    for d, n in zip(axes, extents, strict=True):
        if not isinstance(left[d], int):
            raise ParseError("numpy.lib.stride_tricks.sliding_window_view: only a run knows the length of the array")
        left[d] += 1 - n
        if left[d] < 0 or left[d] == 0 and n > 1:
            raise ValueError("window shape cannot be larger than input array shape")
    rank = a.ndim

    def place(index: tuple) -> tuple:
        own = list(index[:rank])
        for d, by in zip(axes, index[rank:], strict=True):
            own[d] = own[d] + by
        return tuple(own)

    if a.known is not None:
        return known(np.lib.stride_tricks.sliding_window_view(a.read_known(), extents, tuple(axes)).copy())
    return read_only(a, [*left, *extents], place)


def read_only(a: Array, shape: Sequence[Dim], place: Callable[[tuple], tuple]) -> Array:
    """Return a view that is only read: its elements may be those of the array many times.

    :param place: the array's subscript of an element of the view.
    """
    storage = Storage(a.storage.name, None, a.storage.block, a.storage.site, readonly=READONLY)
    storage.meet(a.storage)
    return Array(a.recorder, storage, a.tensor.moved([*shape], place))


@rule(np.i0)
def bessel(x: Any) -> Any:
    a = array(x)
    if a.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    return FUNCTIONS[scipy.special.i0](a if a.dtype.kind == "f" else astype(a, float))


@rule(np.kaiser)
def kaiser(M: Any, beta: Any) -> Any:
    count = static(M)
    middle = (count - 1) / 2
    if count < 1:
        return np.zeros(0)
    if count == 1:
        return np.ones(1)
    inside = np.sqrt(np.maximum(1 - ((np.arange(count) - middle) / middle) ** 2, 0))
    width = operand(beta)
    return bessel(width * known(inside)) / bessel(width)
