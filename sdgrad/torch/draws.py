"""Random numbers: PyTorch draws them, in the module's order, from its own generator, and a program takes them in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Shape = tuple[int, ...]
Make = Callable[[], torch.Tensor]


@dataclass(frozen=True)
class Draw:
    """Numbers that are drawn anew for each call."""

    name: str
    make: Make


def dropout_mask(shape: Shape, strides: Shape, dtype: torch.dtype, p: float) -> torch.Tensor:
    """What ``dropout`` multiplies with: as PyTorch draws it on a CPU, in the order of memory."""
    mask = torch.empty_strided(shape, strides, dtype=dtype)
    return mask.zero_() if p == 1 else mask.bernoulli_(1 - p).div_(1 - p)


def contiguous(shape: Shape) -> Shape:
    """The strides of an array without gaps."""
    return torch.empty(shape, device="meta").stride()


def stand_in(value: Any) -> Any:
    """An operand of which only type and shape matter."""
    if isinstance(value, torch.Tensor):
        return torch.empty(value.shape, dtype=value.dtype)
    return value


BY_SHAPE = {
    "rand_like.default",
    "randn_like.default",
    "randint_like.default",
    "randint_like.low_dtype",
    "bernoulli.p",
    "uniform.default",
    "normal_functional.default",
    "exponential.default",
    "rand.default",
    "randn.default",
    "randint.default",
    "randint.low",
    "randperm.default",
}
"""Random operations that use nothing of a tensor but its shape and type."""
