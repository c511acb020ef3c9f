"""Lower random numbers, which onnxruntime draws, and dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from sdgrad.onnx_ops.calls import drawn
from sdgrad.onnx_ops.registry import Operation, constant_of, lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import where
from sdgrad.record.tensors import Tensor

FLOAT, FLOAT16 = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16


def numbers(b: Builder, op: Operation, kind: str, shape: Sequence[int], dtype: int, **attributes: Any) -> Tensor:
    """Draw numbers of a distribution; in half precision, round single ones."""
    single = dtype == FLOAT16
    found = drawn(b, op, kind, {}, shape=list(shape), dtype=FLOAT if single else dtype, **attributes)
    return found.astype(np.float16) if single else found


@lowering("RandomUniform")
def uniform(
    b: Builder,
    *,
    shape: Sequence[int],
    dtype: int,
    low: float,
    high: float,
    seed: float | None = None,
    operation: Operation,
) -> Tensor:
    """Draw numbers of a uniform distribution, for a given shape."""
    return numbers(b, operation, "RandomUniform", shape, dtype, low=low, high=high, seed=seed)


@lowering("RandomNormal")
def normal(
    b: Builder,
    *,
    shape: Sequence[int],
    dtype: int,
    mean: float,
    scale: float,
    seed: float | None = None,
    operation: Operation,
) -> Tensor:
    """Draw numbers of a normal distribution, for a given shape."""
    return numbers(b, operation, "RandomNormal", shape, dtype, mean=mean, scale=scale, seed=seed)


@lowering("RandomUniformLike")
def uniform_like(
    b: Builder,
    x: Tensor,
    *,
    dtype: int | None = None,
    low: float,
    high: float,
    seed: float | None = None,
    operation: Operation,
) -> Tensor:
    """Draw numbers of a uniform distribution, for the shape of an operand."""
    return uniform(b, shape=x.shape, dtype=_type(dtype, x), low=low, high=high, seed=seed, operation=operation)


@lowering("RandomNormalLike")
def normal_like(
    b: Builder,
    x: Tensor,
    *,
    dtype: int | None = None,
    mean: float,
    scale: float,
    seed: float | None = None,
    operation: Operation,
) -> Tensor:
    """Draw numbers of a normal distribution, for the shape of an operand."""
    return normal(b, shape=x.shape, dtype=_type(dtype, x), mean=mean, scale=scale, seed=seed, operation=operation)


def _type(dtype: int | None, like: Tensor) -> int:
    return dtype if dtype is not None else onnx.helper.np_dtype_to_tensor_dtype(like.dtype)


@lowering("Dropout", since=12)
def dropout(
    b: Builder,
    x: Tensor,
    ratio: Tensor | None,
    training: Tensor | None,
    *,
    seed: int | None = None,
    operation: Operation,
) -> list[Tensor]:
    """Drop nothing outside of training; in training multiply by what onnxruntime would drop of ones."""
    on = bool(constant_of(training, "training_mode").item()) if training is not None else False
    share = float(constant_of(ratio, "ratio").item()) if ratio is not None else 0.5
    if not on or share == 0:
        return [x, b.full(x.shape, True, bool)] if len(operation.outputs) > 1 else [x]
    operands = {
        "ones": b.full(x.shape, 1, x.dtype),
        "ratio": b.full((), share, np.float32),
        "training": b.full((), True, bool),
    }
    kept = drawn(b, operation, "Dropout", operands, seed=seed)
    result = x.map(lambda v, k: where(k.equals(0), 0, v * k), kept)
    return [result, kept.map(lambda k: k > 0, dtype=bool)]
