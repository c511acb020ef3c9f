"""Say what a signature asks of functions without a source of their own, and of what a program depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Protocol, TypeGuard, runtime_checkable
from weakref import WeakKeyDictionary

import dace

from sdgrad.program.tree import Program
from sdgrad.record.nests import Form


@runtime_checkable
class Derived(Protocol):
    """A function made of another one: it returns its program, instead of having a source to parse."""

    @property
    def f(self) -> Callable:
        """Return the function it is made of."""

    def identity(self) -> Hashable:
        """Return a value that is equal for equal functions."""

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return the program for arguments like these, and the closure it takes."""


@runtime_checkable
class Nested(Protocol):
    """A derived function whose results are a nest."""

    def form(self, arguments: Mapping[str, Any]) -> Form | None:
        """Return the form of the nest; None for one result, or a tuple of several."""


@runtime_checkable
class Specialized(Protocol):
    """A function whose program depends on the content of its arguments, too."""

    def fixed(self, arguments: Mapping[str, Any]) -> Hashable:
        """Return a value that is equal for arguments with the same program, given equal shapes and dtypes."""


@runtime_checkable
class Open(Protocol):
    """A function that has one program for arrays of different sizes."""

    def extents(self) -> Mapping[str, Hashable]:
        """Return what stands for the shapes of such arrays, by argument."""


@runtime_checkable
class Watching(Protocol):
    """A function that sees, and may change, the graphs of its two halves before they are compiled."""

    def is_watched(self) -> bool:
        """True if somebody wants to see them."""

    def differentiated(self, forward: dace.SDFG, backward: dace.SDFG) -> None: ...


class Guard(Protocol):
    """Something that was found outside of a function, and that its program depends on."""

    def holds(self) -> bool:
        """True if it is still the same."""


_offered: dict[Any, WeakKeyDictionary[type, bool]] = {}


def _offers(value: Any, protocol: Any) -> bool:
    """True if an object has the methods of a protocol: ``isinstance``, which takes a while, once for each class."""
    known = _offered.setdefault(protocol, WeakKeyDictionary())
    found = known.get(type(value))
    if found is None:
        found = known[type(value)] = isinstance(value, protocol)
    return found


def is_derived(f: Any) -> TypeGuard[Derived]:
    """True if a function is made of another one."""
    return _offers(f, Derived)


def is_specialized(f: Any) -> TypeGuard[Specialized]:
    """True if the content of a function's arguments decides about its program."""
    return _offers(f, Specialized)


def is_open(f: Any) -> TypeGuard[Open]:
    """True if a function has one program for arrays of different sizes."""
    return _offers(f, Open)
