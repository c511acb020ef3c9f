"""Resolve what a derivative is taken by: positions and names of arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeGuard

from sdgrad.convert.callables import name_of
from sdgrad.errors import ArgumentError, NameNotFound
from sdgrad.runtime.call.device_arrays import dtype_of

Wrt = int | str | Sequence[int | str]


def several(wrt: Wrt) -> TypeGuard[Sequence[int | str]]:
    """True if results come back as a tuple."""
    return isinstance(wrt, (tuple, list))


def key(wrt: Wrt) -> Hashable:
    """Return a hashable value that is the same for equal requests."""
    return tuple(wrt) if isinstance(wrt, list) else wrt


def arguments_of(wrt: Wrt, f: Callable, known: Sequence[str], named: Sequence[str] = ()) -> list[str]:
    """Return ``wrt`` as names of arguments.

    :param known: the names by position.
    :param named: those that can be asked for by name, if they are others.
    :raises ArgumentError: there is no argument at a position.
    :raises NameNotFound: there is no argument of a name.
    """
    found = []
    for w in wrt if several(wrt) else (wrt,):
        if isinstance(w, int) and -len(known) <= w < len(known):
            found.append(known[w])
        elif isinstance(w, str) and w in (named or known):
            found.append(w)
        elif isinstance(w, int):
            raise ArgumentError(f"wrt={w}, but {name_of(f)} has {len(known)} arguments")
        else:
            raise NameNotFound("argument", str(w), named or known)
    return found


def names_of(wrt: Wrt, f: Callable, arguments: Mapping[str, Any]) -> list[str]:
    """Return ``wrt`` as names of floating-point arguments of ``f``.

    :raises ArgumentError: there is no argument at a position, or one is not floating point.
    :raises NameNotFound: there is no argument of a name.
    """
    found = arguments_of(wrt, f, list(arguments))
    for name in found:
        if arguments[name] is None:
            raise ArgumentError(f"argument '{name}' is None, which has no gradient. Leave it out of wrt")
        dtype = dtype_of(arguments[name])
        if isinstance(arguments[name], (dict, list, tuple)):  # of a class of their own
            kind, plain, *_ = type(arguments[name]).__mro__
            raise ArgumentError(
                f"argument '{name}' is a {kind.__name__}, which is no nest of arguments: pass a {plain.__name__}, or "
                "leave it out of wrt"
            )
        if dtype.kind not in "fc":
            raise ArgumentError(
                f"argument '{name}' is {dtype}; gradients exist for floating-point arguments only. "
                "Convert it to float64, or leave it out of wrt"
            )
    return found
