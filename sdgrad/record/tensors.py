"""Tensor expressions: NumPy-like code on tensors that records a program instead of computing.

A lowering is a Python function of :class:`Tensor` objects. Shapes are known while it runs (numbers, or SymPy
expressions over the dimensions that the model leaves open), so that Python decides what can be decided; what it
computes becomes leaves of the program tree, one for each :meth:`Builder.compute`, and fusion joins them. Slices,
transposes and broadcasts cost nothing: they change how a tensor is indexed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import sympy

from sdgrad.program.tree import Container
from sdgrad.record.elements import Dim, Element, Index, dim, product

ZERO = sympy.Integer(0)


class TensorBuilder(Protocol):
    """What a tensor asks of the builder that records it."""

    containers: dict[str, Container]

    def load(self, tensor: Tensor, index: Sequence[Index], when: Element | None) -> Element: ...

    def placed(self, tensor: Tensor) -> Tensor: ...

    def constant(self, value: Any, dtype: Any = None) -> Tensor: ...

    def view(self, tensor: Tensor, shape: Sequence[Dim]) -> Tensor: ...

    def elementwise(self, function: Callable[..., Element], *operands: Any, dtype: Any = None) -> Tensor: ...

    def reduction(
        self, shape: Sequence[Dim], over: Sequence[Dim], function: Callable[..., Element], mode: str, dtype: Any
    ) -> Tensor: ...

    def reduction_over(
        self, shape: Sequence[Dim], axes: Collection[int], function: Callable[[tuple], Element], mode: str, dtype: Any
    ) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class Tensor:
    """An array of the program being recorded, or a way to index one.

    :param place: the container's index of an element, from the tensor's own.
    :param known: the content, where the model fixes it.
    :param part: the part of the container's complex numbers that its elements are: ``real``, ``imag``, or all of them.
    """

    builder: TensorBuilder
    container: str
    shape: tuple[Dim, ...]
    dtype: np.dtype
    place: Callable[[tuple[Index, ...]], tuple[Index, ...]] | None = None
    known: np.ndarray | None = None
    part: str = ""

    @property
    def is_plain(self) -> bool:
        """True if its elements are those of its container, in their order."""
        return self.place is None and not self.part

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Dim:
        return product(self.shape)

    def __getitem__(self, index: Any) -> Element:
        """Return the element at a subscript, read where this is computed."""
        return self.at(*(index if isinstance(index, tuple) else (index,)))

    def at(self, *index: Index, when: Element | None = None) -> Element:
        """Return the element at a subscript; zero, without a read, if ``when`` does not hold."""
        assert len(index) == self.rank, f"{len(index)} indices for a tensor of rank {self.rank}"
        return self.builder.load(self, index, when)

    def moved(self, shape: Sequence[Dim], place: Callable[[tuple], tuple]) -> Tensor:
        """Return the same content under another shape: ``place`` maps the new subscript to this tensor's."""
        own = self.place
        inner = place if own is None else lambda index: own(place(index))
        return replace(self.builder.placed(self), shape=tuple(shape), place=inner, known=None)

    # -- indexing that costs nothing
    def transpose(self, order: Sequence[int] | None = None) -> Tensor:
        order = list(order) if order is not None else list(range(self.rank))[::-1]
        back = [order.index(d) for d in range(self.rank)]
        return self.moved([self.shape[d] for d in order], lambda i: tuple(i[b] for b in back))

    def unsqueeze(self, *axes: int) -> Tensor:
        """Insert axes of one element at these positions of the result."""
        rank = self.rank + len(axes)
        new = {a % rank for a in axes}
        old = iter(self.shape)
        shape = [1 if d in new else next(old) for d in range(rank)]
        return self.moved(shape, lambda i: tuple(i[d] for d in range(rank) if d not in new))

    def squeeze(self, *axes: int) -> Tensor:
        """Remove axes of one element."""
        gone = {a % self.rank for a in axes}
        kept = [d for d in range(self.rank) if d not in gone]

        def place(index: tuple) -> tuple:
            own = iter(index)
            return tuple(ZERO if d in gone else next(own) for d in range(self.rank))

        return self.moved([self.shape[d] for d in kept], place)

    def broadcast(self, shape: Sequence[Dim]) -> Tensor:
        """Broadcast to a shape, as NumPy does."""
        lead = len(shape) - self.rank
        one = [own == 1 for own in self.shape]
        return self.moved(shape, lambda i: tuple(ZERO if o else k for o, k in zip(one, i[lead:], strict=True)))

    def unbroadcast(self, shape: Sequence[Dim]) -> Tensor:
        """Return the adjoint of a broadcast from a shape: sums over the added axes."""
        lead = self.rank - len(shape)
        over = [d for d, n in enumerate(self.shape) if d < lead or (shape[d - lead] == 1 and n != 1)]
        found = self.sum(over, keepdims=True) if over else self
        return found.squeeze(*range(lead)) if lead else found

    def slice(self, axis: int, start: Dim, count: Dim, step: int = 1) -> Tensor:
        """Return ``count`` elements along an axis."""
        axis %= self.rank
        shape = [count if d == axis else n for d, n in enumerate(self.shape)]
        return self.moved(shape, lambda i: tuple(start + k * step if d == axis else k for d, k in enumerate(i)))

    def select(self, axis: int, at: Dim) -> Tensor:
        """Return one position along an axis, without that axis."""
        return self.slice(axis, at, 1).squeeze(axis)

    def reshape(self, shape: Sequence[Dim]) -> Tensor:
        """Return the same elements, in row-major order, under another shape."""
        shape = tuple(map(dim, shape))
        if self.known is not None and not self.container:
            return self.builder.constant(self.known.reshape(shape))
        wide, own = [n for n in shape if n != 1], [n for n in self.shape if n != 1]
        if wide == own:  # axes of one element come and go
            return self.squeeze(*_ones(self.shape)).unsqueeze(*_ones(shape))
        return self.builder.view(self, shape)

    # -- arithmetic
    def map(self, function: Callable[..., Element], *others: Any, dtype: Any = None) -> Tensor:
        """Apply a function to this and other tensors, element by element, with broadcast."""
        return self.builder.elementwise(function, self, *others, dtype=dtype)

    def __add__(self, other: Any) -> Tensor:
        return self.map(lambda a, b: a + b, other)

    def __sub__(self, other: Any) -> Tensor:
        return self.map(lambda a, b: a - b, other)

    def __mul__(self, other: Any) -> Tensor:
        return self.map(lambda a, b: a * b, other)

    def __truediv__(self, other: Any) -> Tensor:
        return self.map(lambda a, b: a / b, other)

    def astype(self, dtype: Any) -> Tensor:
        return self if np.dtype(dtype) == self.dtype else self.map(lambda x: x.astype(dtype), dtype=dtype)

    def reduce(self, mode: str, axes: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Reduce over axes (None: all) by ``sum``, ``prod``, ``max`` or ``min``."""
        over = sorted({*range(self.rank)} if axes is None else {a % self.rank for a in axes})
        found = self.builder.reduction_over(self.shape, over, lambda index: self.at(*index), mode, self.dtype)
        return found.unsqueeze(*over) if keepdims and over else found

    def sum(self, axes: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        return self.reduce("sum", axes, keepdims)

    def max(self, axes: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        return self.reduce("max", axes, keepdims)


def _ones(shape: Sequence[Dim]) -> list[int]:
    return [d for d, n in enumerate(shape) if n == 1]


class ShapesDiffer(ValueError):
    """Say that shapes are not broadcast to one."""


def broadcast_shape(*shapes: Sequence[Dim]) -> tuple[Dim, ...]:
    """Return NumPy's broadcast of shapes; the caller promises that unknown extents are equal or one."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    result: list[Dim] = []
    for extents in zip(*padded, strict=True):
        wide = [n for n in extents if n != 1]
        numbers = {n for n in wide if isinstance(n, int)}
        if len(numbers) > 1:
            raise ShapesDiffer(f"shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast")
        result.append(next(iter(numbers)) if numbers else wide[0] if wide else 1)
    return tuple(result)
