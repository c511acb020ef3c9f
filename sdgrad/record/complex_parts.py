"""Real and imaginary parts of complex arrays as views: what is loaded and stored for an element of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sdgrad.record.elements import Element, call, typeclass
from sdgrad.record.tensors import Tensor


def part_of(tensor: Tensor, name: str) -> Tensor:
    """Return the view of a complex tensor that is its ``real``, or its ``imag``."""
    return replace(tensor, part=name, dtype=np.empty(0, tensor.dtype).real.dtype, known=None)


def whole_of(tensor: Tensor) -> Tensor:
    """Return the complex tensor that a tensor is a part of; itself if it is none."""
    return replace(tensor, part="", dtype=np.result_type(tensor.dtype, np.complex64)) if tensor.part else tensor


def apart(source: Any) -> Any:
    """Return what a product sums over in memory of its own, if it is a part: libraries take no strides like its."""
    return source.builder.elementwise(lambda x: x, source) if isinstance(source, Tensor) and source.part else source


def as_read(value: Element, tensor: Tensor) -> Element:
    """Return an element of a tensor as it is computed with, from that of its container."""
    if tensor.part:
        return call(tensor.part, value, dtype=tensor.dtype)
    return value.astype(np.float32) if tensor.dtype == np.float16 else value  # half precision is for memory


def as_stored(value: Element, tensor: Tensor, old: Callable[[], Element], mode: str = "set") -> Element:
    """Return what is stored in a tensor's container for a value of an element.

    :param old: loads the element of the container as it is.
    :param mode: how it is stored: ``set``, or ``sum``.
    """
    value = value.astype(tensor.dtype)
    if not tensor.part:
        return value
    assert mode in ("set", "sum"), f"a part of a complex number is not stored by {mode}"
    other = "imag" if tensor.part == "real" else "real"
    rest: Element | int = call(other, old(), dtype=tensor.dtype) if mode == "set" else 0
    parts = (value, rest) if other == "imag" else (rest, value)
    dtype = whole_of(tensor).dtype
    return Element(call(f"dace.{typeclass(dtype).to_string()}", *parts).code, dtype)
