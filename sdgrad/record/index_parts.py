"""Tell which part of an array of indices is used: numbers along some axes, slices along others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import sympy

from sdgrad.program.tree import Container
from sdgrad.record.tensors import Tensor
from sdgrad.symbolic.expr import sym

Part: TypeAlias = "tuple[tuple[int, int, int], ...]"
"""Start, stop and step along each axis."""


def part_of(tensor: Tensor) -> tuple[Part | None, bool]:
    """Return the part of its container that a tensor is, and whether it is no more than that; None is all of it."""
    container = tensor.builder.containers.get(tensor.container)  # operands of calls get theirs when they are called
    shape = container.shape if container is not None else ()
    if tensor.place is None or container is None or not all(map(_is_number, (*shape, *tensor.shape))):
        return None, tensor.place is None
    own = {sym(f"__axis_{k}"): int(n) for k, n in enumerate(tensor.shape)}
    placed = [sympy.sympify(i) for i in tensor.place(tuple(own))]
    if len(placed) != len(shape):  # a number, which has a place in a program
        return None, False
    found = [_slice(i, own, int(n)) for i, n in zip(placed, shape, strict=True)]
    used = [s for i in placed for s in i.free_symbols]
    part = tuple(axis for axis, _ in found)
    return _unless_all(part, shape), all(exact for _, exact in found) and len(used) == len(set(used))


def part_of_element(place: Sequence[Any], container: Container | None) -> Part | None:
    """Return the part of an array that an element is in, whatever loops decide of its place."""
    shape = container.shape if container is not None else ()
    if len(place) != len(shape) or not all(map(_is_number, shape)):
        return None
    whole = [(0, int(n), 1) for n in shape]
    known = [int(i) if _is_number(i) else None for i in place]
    part = tuple(w if i is None else (i % w[1], i % w[1] + 1, 1) for i, w in zip(known, whole, strict=True))
    return _unless_all(part, shape)


def taken(indices: np.ndarray, part: Part | None) -> np.ndarray:
    """Return a part of an array."""
    return indices if part is None or len(part) != indices.ndim else indices[tuple(slice(*axis) for axis in part)]


def _slice(index: sympy.Expr, own: dict[sympy.Symbol, int], extent: int) -> tuple[tuple[int, int, int], bool]:
    """Return where an index goes along an axis, and whether it meets all of that; the whole axis if it is no slice."""
    if index.is_Integer:
        return (int(index), int(index) + 1, 1), True
    symbol = next(iter(index.free_symbols)) if len(index.free_symbols) == 1 else None
    step = index.coeff(symbol) if symbol in own else sympy.Integer(0)
    first = sympy.expand(index - step * symbol) if symbol is not None else index
    if not (step.is_Integer and step > 0 and first.is_Integer):
        return (0, extent, 1), False
    start, pace = int(first), int(step)
    return (start, start + pace * (own[symbol] - 1) + 1, pace), True


def _unless_all(part: Part, shape: Sequence[Any]) -> Part | None:
    return None if all(axis == (0, int(n), 1) for axis, n in zip(part, shape, strict=True)) else part


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, sympy.Basic) and bool(value.is_Integer))
