"""Lower operators of opsets before 13, in which some operands were attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.onnx_ops.families import elementwise, normalization, reduction, resize
from sdgrad.onnx_ops.families import shape as shapes
from sdgrad.onnx_ops.registry import lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import product
from sdgrad.record.tensors import Tensor


def listed(b: Builder, values: Sequence[int] | None) -> Tensor | None:
    return None if values is None else b.constant(np.array(values, np.int64))


@lowering("Squeeze")
def squeeze(b: Builder, x: Tensor, *, axes: Sequence[int] | None = None) -> Tensor:
    return shapes.squeeze(b, x, listed(b, axes))


@lowering("Unsqueeze")
def unsqueeze(b: Builder, x: Tensor, *, axes: Sequence[int]) -> Tensor:
    return x.unsqueeze(*axes)


@lowering("Slice")
def slice_(
    b: Builder, x: Tensor, *, axes: Sequence[int] | None = None, ends: Sequence[int], starts: Sequence[int]
) -> Tensor:
    first, last, along = (listed(b, v) for v in (starts, ends, axes))
    assert first is not None and last is not None
    return shapes.slice_(b, x, first, last, along, None)


@lowering("Split", since=2)
def split(b: Builder, x: Tensor, *, axis: int, split: Sequence[int] | None = None, operation: Any) -> list[Tensor]:
    return shapes.split(b, x, listed(b, split), axis=axis, operation=operation)


@lowering("Pad", since=2)
def pad(b: Builder, x: Tensor, *, mode: str, pads: Sequence[int], value: float) -> Tensor:
    amounts = listed(b, pads)
    assert amounts is not None
    return shapes.pad(b, x, amounts, b.constant(np.array(value, x.dtype)), None, mode=mode)


@lowering("Clip", since=6)
def clip(b: Builder, x: Tensor, *, max: float, min: float) -> Tensor:
    return x.map(lambda v: elementwise.clipped(v, min, max))


lowering("Clip", since=11)(elementwise.clip)


@lowering("Dropout", since=7)
def dropout(b: Builder, x: Tensor, *, ratio: float, operation: Any) -> list[Tensor]:
    return [x, b.full(x.shape, True, bool)] if len(operation.outputs) > 1 else [x]


@lowering("Dropout")
def first_dropout(b: Builder, x: Tensor, *, is_test: int = 0, ratio: float, operation: Any) -> list[Tensor]:
    return dropout(b, x, ratio=ratio, operation=operation)


def _over_the_rest(name: str, function: Any) -> None:
    """Reduce over all axes from one on, as one."""

    @lowering(name)
    def lower(b: Builder, x: Tensor, *, axis: int) -> Tensor:
        axis %= max(x.rank, 1)
        flat = x.reshape([product(x.shape[:axis]), product(x.shape[axis:])])
        return function(b, flat, axis=1).reshape(x.shape)


for _name, _function in {
    "Softmax": reduction.softmax, "LogSoftmax": reduction.log_softmax, "Hardmax": reduction.hardmax
}.items():  # fmt: skip
    _over_the_rest(_name, _function)


@lowering("BatchNormalization")
def batch_normalization(
    b: Builder,
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    average: Tensor,
    variance: Tensor,
    *,
    consumed_inputs: Sequence[int] = (),
    epsilon: float,
    is_test: int = 1,
    momentum: float,
    spatial: int = 1,
) -> list[Tensor]:
    """Normalize batches as the operator did in older opsets."""
    return normalization.batch_normalization(b, x, scale, bias, average, variance, epsilon=epsilon, momentum=momentum)


@lowering("TopK")
def top_k(b: Builder, x: Tensor, *, axis: int, k: int) -> tuple[Tensor, Tensor]:
    return reduction.top_k(b, x, b.constant(np.array([k], np.int64)), axis=axis)


@lowering("Reshape")
def reshape(b: Builder, x: Tensor, *, consumed_inputs: Sequence[int] = (), shape: Sequence[int]) -> Tensor:
    wanted = listed(b, shape)
    assert wanted is not None
    return shapes.reshape(b, x, wanted)


@lowering("Upsample", since=7)
def upsample(b: Builder, x: Tensor, *, mode: str, scales: Sequence[float]) -> Tensor:
    return resize.upsample(b, x, b.constant(np.array(scales)), mode=mode)
