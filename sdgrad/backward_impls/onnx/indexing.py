"""Reverse gathering and scattering, which are each other's adjoints."""

from __future__ import annotations

from collections.abc import Callable

import sympy

from sdgrad.onnx_ops.families.indexing import deep_index, wrapped
from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Index
from sdgrad.record.tensors import Tensor

Place = Callable[..., "tuple[Index, ...]"]


def added_up(b: Builder, reversal: Reversed, place: Place) -> Tensor:
    """Return the adjoint of ``y[i] = x[place(i)]``."""
    x, seed = reversal.operand(0), reversal.seed
    result = b.full(x.shape, 0, x.dtype)
    b.accumulate(result, seed.shape, lambda *i: (place(*i), seed[i]))
    return result


def taken(b: Builder, reversal: Reversed, reduction: str, place: Place) -> list[Tensor | None]:
    """Return the adjoint of ``y = x; y[place(i)] += u[i]``."""
    if reduction != "add":
        raise Declined("which element counts is known while it is computed")
    updates, seed = reversal.operand(2), reversal.seed
    return [seed, None, b.compute(updates.shape, updates.dtype, lambda *i: seed[place(*i)])]


@adjoint("Gather", copies=False)
def gather(b: Builder, reversal: Reversed, *, axis: int) -> Tensor:
    """Reverse Gather: add each cotangent to the element that was read."""
    x, indices = reversal.operand(0), reversal.operand(1)
    axis, r = axis % x.rank, indices.rank

    def place(*i: sympy.Expr) -> tuple[Index, ...]:
        return (*i[:axis], wrapped(indices[i[axis : axis + r]], x.shape[axis]), *i[axis + r :])

    return added_up(b, reversal, place)


@adjoint("GatherElements", copies=False)
def gather_elements(b: Builder, reversal: Reversed, *, axis: int) -> Tensor:
    return added_up(b, reversal, along(reversal, axis))


@adjoint("ScatterElements", copies=False)
def scatter_elements(b: Builder, reversal: Reversed, *, axis: int, reduction: str = "none") -> list[Tensor | None]:
    return taken(b, reversal, reduction, along(reversal, axis))


def along(reversal: Reversed, axis: int) -> Place:
    """Return where operators with one subscript for each element read."""
    x, indices = reversal.operand(0), reversal.operand(1)
    axis %= x.rank
    return lambda *i: (*i[:axis], wrapped(indices[i], x.shape[axis]), *i[axis + 1 :])


@adjoint("GatherND", copies=False)
def gather_nd(b: Builder, reversal: Reversed, *, batch_dims: int = 0) -> Tensor:
    return added_up(b, reversal, deep(reversal, batch_dims))


@adjoint("ScatterND", copies=False)
def scatter_nd(b: Builder, reversal: Reversed, *, reduction: str = "none") -> list[Tensor | None]:
    return taken(b, reversal, reduction, deep(reversal, 0))


def deep(reversal: Reversed, shared: int) -> Place:
    """Of the operators whose indices are rows.

    :param shared: the number of leading dimensions that operand and indices have in common.
    """
    x, indices = reversal.operand(0), reversal.operand(1)
    depth, lead = int(indices.shape[-1]), indices.rank - 1

    def place(*i: sympy.Expr) -> tuple[Index, ...]:
        rows = deep_index(indices, x.shape[shared : shared + depth], i[:lead])
        return (*i[:shared], *rows, *i[lead:])

    return place
