"""Hand random numbers to programs: PyTorch draws them, in the module's order, from its own generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree

from sdgrad.record.elements import Dim, product
from sdgrad.torch.sizes import Sizes, evaluated, shape_of, size_of, value

Shape = tuple[Dim, ...]
Make = Callable[[Sizes], torch.Tensor]
"""What draws numbers for a call whose open dimensions have these sizes."""


@dataclass(frozen=True)
class Draw:
    """Describe numbers that are drawn anew for each call."""

    name: str
    shape: Shape
    make: Make


def dropout_mask(shape: Shape, strides: Shape, dtype: torch.dtype, p: float, sizes: Sizes) -> torch.Tensor:
    """Draw the factors of ``dropout`` as PyTorch does on a CPU, in the order of memory."""
    mask = torch.empty_strided(evaluated(shape, sizes), evaluated(strides, sizes), dtype=dtype)
    return mask.zero_() if p == 1 else mask.bernoulli_(1 - p).div_(1 - p)


def drawn_in_place(draw: str, shape: Shape, strides: Shape, dtype: torch.dtype, sizes: Sizes) -> torch.Tensor:
    """Draw standard numbers as PyTorch does on a CPU, in the order of memory."""
    made = torch.empty_strided(evaluated(shape, sizes), evaluated(strides, sizes), dtype=dtype)
    return getattr(made, draw)()


def contiguous(shape: Shape) -> Shape:
    """Return the strides of an array without gaps."""
    return tuple(
        product([n if isinstance(n, sympy.Expr) else max(n, 1) for n in shape[k + 1 :]]) for k in range(len(shape))
    )


@dataclass(frozen=True)
class StandIn:
    """An operand of which only type and shape matter."""

    shape: Shape
    dtype: torch.dtype


def stand_in(given: Any) -> Any:
    """Return an operand of a traced random operation."""
    if isinstance(given, torch.Tensor):
        return StandIn(shape_of(given.shape), given.dtype)
    return size_of(given)


def drawn_by(target: Callable, args: Sequence[Any], kwargs: Mapping[str, Any], sizes: Sizes) -> torch.Tensor:
    """Return the result of a random operation."""

    def present(x: Any) -> Any:
        if isinstance(x, StandIn):
            return torch.empty(evaluated(x.shape, sizes), dtype=x.dtype)
        return value(x, sizes) if isinstance(x, sympy.Expr) else x

    own, named = pytree.tree_map(present, (tuple(args), dict(kwargs)))
    return target(*own, **named)


BY_SHAPE = {
    "rand_like.default",
    "randn_like.default",
    "randint_like.default",
    "randint_like.low_dtype",
    "bernoulli.p",
    "uniform.default",
    "normal_functional.default",
    "normal.float_float",
    "exponential.default",
    "rand.default",
    "randn.default",
    "randint.default",
    "randint.low",
    "randperm.default",
}
"""Random operations that use nothing of a tensor but its shape and type."""
STANDARD = {
    "bernoulli.default": "uniform_",
    "normal.Tensor_Tensor": "normal_",
    "normal.Tensor_float": "normal_",
    "normal.float_Tensor": "normal_",
}
"""Random operations that are functions of standard numbers, and what draws these."""
