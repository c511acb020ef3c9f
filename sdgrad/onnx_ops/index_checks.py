"""Check the indices that operators take: what lies outside is told to the caller, and counts as the first index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from sdgrad.onnx_ops.families.extra import DOMAIN, IN_RANGE
from sdgrad.onnx_ops.families.pool import unpooled
from sdgrad.onnx_ops.registry import ML, ONNX, Operation, attribute_defaults
from sdgrad.program.tree import SCALAR, Store
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Dim, Element, element, product, where
from sdgrad.record.outside import shown_line
from sdgrad.record.tensors import Tensor
from sdgrad.runtime.call.checks import LAST

WHOLE = np.dtype(np.int64)


@dataclass(frozen=True)
class Indices:
    """An operand of an operator that holds indices.

    :param extents: of what they index; several if the last axis of the operand has an index for each.
    :param signed: negative ones count from the end; if not, they lie outside.
    """

    operand: int
    extents: Sequence[Dim]
    signed: bool = True


def _along(given: Sequence[Any], attributes: dict) -> Indices:
    return Indices(1, [given[0].shape[attributes.get("axis", 0)]])


def _deep(given: Sequence[Any], attributes: dict) -> Indices:
    first, depth = attributes.get("batch_dims", 0), given[1].shape[-1]
    return Indices(1, given[0].shape[first : first + depth])


def _stretch(given: Sequence[Any], attributes: dict) -> Indices:
    past, update = (x.shape[attributes["axis"]] for x in given[:2])
    return Indices(2, [past if attributes["mode"] == "circular" else past - update + 1], signed=False)


def _steps(given: Sequence[Any], attributes: dict) -> Indices:
    return Indices(4, [given[0].shape[1 if attributes.get("layout") else 0] + 1], signed=False)


INDICES: dict[str, Callable[[Sequence[Any], dict], Indices]] = {
    "Gather": _along,
    "GatherElements": _along,
    "ScatterElements": _along,
    "Scatter": _along,
    "ArrayFeatureExtractor": lambda given, own: Indices(1, given[0].shape[-1:], signed=False),
    "GatherND": _deep,
    "ScatterND": _deep,
    "TensorScatter": _stretch,
    IN_RANGE: lambda given, own: Indices(0, [own["extent"]], signed=False),
    "RoiAlign": lambda given, own: Indices(2, given[0].shape[:1], signed=False),
    "ReverseSequence": lambda given, own: Indices(1, [given[0].shape[own["time_axis"]] + 1], signed=False),
    **dict.fromkeys(("RNN", "GRU", "LSTM"), _steps),
    "MaxUnpool": lambda given, own: Indices(1, [product(unpooled(given[0].shape, **own))], signed=False),
}
"""Operators of which an operand holds indices."""


@dataclass
class CheckingBuilder(Builder):
    """Record an operator, and whether an index that data decide lies outside.

    :param outside: the number of a check that failed, or zero; None as long as there is none.
    :param told: what they say.
    """

    outside: Tensor | None = None
    told: list[BaseException] = field(default_factory=list)

    def check(self, shape: Sequence[Dim], is_inside: Callable[..., Element], told: str) -> None:
        """Record that indices, one for each position of a shape, have to lie inside.

        :param told: what the call says if one does not.
        """
        number = LAST - len(self.told)
        self.told.append(IndexError(told))

        def failed(at: tuple) -> Element:
            return where(is_inside(*at), element(0, WHOLE), element(number, WHOLE))

        self._note(self.reduction_over(shape, range(len(shape)), failed, "max", WHOLE), 0)

    def take_over(self, status: Tensor, errors: Sequence[BaseException]) -> None:
        """Record the checks of a program that is done here.

        :param status: the number of one that failed.
        """
        before = len(self.told)
        self.told += errors
        self._note(status, before)

    def _note(self, status: Tensor, before: int) -> None:
        """Record that a check has failed, if a number says so; so many others come before."""
        if self.outside is None:
            self.outside = self.declare("outside", (), WHOLE)
            with self._apart():
                self.fill(self.outside, 0)
        with self._leaf(()):
            number = status[()]
            told = where(number > 0, number - before, 0) if before else number
            self.body.append(Store(self.outside.container, SCALAR, self.let(told), "max"))


def with_checked_indices(b: Builder, op: Operation, inputs: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
    """Return an operator's operands with indices that lie inside.

    :raises IndexError: known ones do not.
    """
    if op.domain not in (ONNX, ML, DOMAIN) or op.kind not in INDICES:
        return inputs
    found = INDICES[op.kind](inputs, attribute_defaults(op.schema) | op.attributes)
    indices = inputs[found.operand] if found.operand < len(inputs) else None
    if indices is None or not found.extents:
        return inputs
    origin = f"{shown_line(op.source)}{op.source.label}: "
    if indices.known is not None:
        _known_inside(indices.known, found, origin)
        return inputs
    if not isinstance(b, CheckingBuilder):
        return inputs
    inside = kept_inside(b, indices, found, origin)
    return [inside if k == found.operand else x for k, x in enumerate(inputs)]


def kept_inside(b: CheckingBuilder, indices: Tensor, told: Indices, origin: str) -> Tensor:
    """Return indices counted from the beginning of their axes; the first one for those outside.

    :param origin: what an error begins with.
    """
    first, *others = told.extents
    ends = b.constant(np.array([*told.extents], WHOLE if all(isinstance(e, int) for e in told.extents) else object))

    def end(at: tuple) -> Element:
        return ends[at[-1]] if others else element(first, WHOLE)

    def is_inside(*at: sympy.Expr) -> Element:
        return (indices[at] >= (-end(at) if told.signed else 0)) & (indices[at] < end(at))

    def inside(*at: sympy.Expr) -> Element:
        kept = where(is_inside(*at), indices[at].astype(WHOLE), 0)
        return where(kept < 0, kept + end(at), kept) if told.signed else kept

    b.check(indices.shape, is_inside, f"{origin}an index is out of bounds for {_axes(told)}")
    return b.compute(indices.shape, WHOLE, inside)


def _axes(told: Indices) -> str:
    """Return what indices index."""
    sizes = ", ".join(map(str, told.extents))
    return f"an axis of size {sizes}" if len(told.extents) == 1 else f"axes of sizes {sizes}"


def _known_inside(indices: np.ndarray, told: Indices, origin: str) -> None:
    """Refuse known indices that lie outside of an axis.

    :raises IndexError: one of them does.
    """
    columns = np.split(indices, len(told.extents), -1) if len(told.extents) > 1 else [indices]
    for column, extent in zip(columns, told.extents, strict=True):
        if isinstance(extent, int) and indices.dtype.kind in "iu":
            wrong = column[(column < (-extent if told.signed else 0)) | (column >= extent)]
            if wrong.size:
                raise IndexError(f"{origin}index {wrong.flat[0]} is out of bounds for an axis of size {extent}")
