"""Find what users' functions and the methods of their modules read outside: global names, class attributes, cells."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from torch import nn

from sdgrad.convert.callables import is_filled, places_read
from sdgrad.record.libraries import is_users_module

Place = tuple[Mapping[str, Any], str]
INSTALLED = ("site-packages", "dist-packages")
"""Folders of packages, whose global names nobody changes between two calls."""
_places: WeakKeyDictionary[Any, tuple[Place, ...]] = WeakKeyDictionary()


def read_by(owner: FunctionType | type) -> tuple[Place, ...]:
    """Return where a function finds what it reads outside, or an object what its class holds: methods and more."""
    found = _places.get(owner)
    if found is None:
        found = tuple(_of_class(owner) if isinstance(owner, type) else places_read(owner, _is_own))
        _places[owner] = found
    return found


def is_own(owner: Any) -> bool:
    """True of functions and classes that the user has written."""
    return isinstance(owner, (FunctionType, type)) and _is_own(getattr(owner, "__module__", None) or "__main__")


@functools.cache
def _is_own(name: str) -> bool:
    """True of a user's module."""
    path = getattr(sys.modules.get(name), "__file__", None) or ""
    return is_users_module(name) and not any(f in path for f in INSTALLED)


def _of_class(kind: type) -> Iterator[Place]:
    for base in kind.__mro__:
        if base is nn.Module or not is_own(base):
            continue
        for name, value in vars(base).items():
            if isinstance(value, FunctionType) and name != "__init__" or not name.startswith(("__", "_abc_")):
                yield vars(base), name


def held_by(function: FunctionType) -> Iterator[Any]:
    """Yield the defaults of a function, and what it finds in those around it, as they are now."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        if is_filled(cell):
            yield cell.cell_contents
