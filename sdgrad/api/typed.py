"""Types of derivatives, for type checkers: they have the parameters of their functions."""

from __future__ import annotations

from typing import Any, ParamSpec, Protocol, TypedDict, TypeVar, overload

from sdgrad.config import DeviceKind

MemoryLimit = int | str | None
"""A limit of memory as users write it."""
DiskLimit = int | str | None
"""Bytes that files may have, as users write them."""

P = ParamSpec("P")
R = TypeVar("R")
First = TypeVar("First")
"""What a function's first parameter is annotated with: a gradient by it is of that type."""
First_contra = TypeVar("First_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Options(TypedDict, total=False):
    """Options of gradients, as :func:`~sdgrad.value_and_grad` has them."""

    inplace: bool
    strong_zero: bool
    unused: str
    device: DeviceKind | None
    memory_limit: MemoryLimit
    disk_limit: DiskLimit


class ByFirst(Protocol[First_contra, P, R_co]):
    """A function with the parameters of another one, whose first one may be given by name as well."""

    @overload
    def __call__(self, first: First_contra, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __call__(self, **kwargs: Any) -> R_co: ...
