"""Run a function as Python runs it: on copies, silently, and with everything put back that it changes outside."""

from __future__ import annotations

import contextlib
import io
import random
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from dace.frontend.python.parser import DaceProgram

from sdgrad.convert.callables import bind_arguments
from sdgrad.lift.dace_functions import needs_dace, sized, sizes_of
from sdgrad.lift.symbol_values import symbols_passed
from sdgrad.record.nests import compared, positional
from sdgrad.record.python_state import content_of, put
from sdgrad.record.reads import LOOSE, Read
from sdgrad.runtime.call.marshalling import as_array

_state = threading.local()
_call, _patched = DaceProgram.__call__, threading.Lock()
_running: list[None] = []  # plain runs of all threads


class GivenUp(BaseException):
    """A function would have something compiled: no ``except`` of its own catches this."""


def is_plain() -> bool:
    """True while this thread runs a function as Python runs it."""
    return getattr(_state, "plain", False)


def nothing_compiled() -> None:
    """Give up a plain run: something would be compiled for it."""
    if is_plain():
        raise GivenUp


def plain_results(f: Callable, arguments: Mapping[str, Any], written: Iterable[str], reads: Iterable[Any]) -> list[Any]:
    """Return the leaves of what a function returns; if it returns nothing, the arguments that it writes.

    :param arguments: by name.
    :param reads: what it reads outside of itself (:class:`~sdgrad.record.reads.Read`).
    """
    given = {n: copied(v) for n, v in arguments.items()}
    found = plain_call(f, given, reads)
    return [given[n] for n in written] if found is None else compared(found)


def plain_call(f: Callable, given: Mapping[str, Any], reads: Iterable[Any] = ()) -> Any:
    """Return what a function returns for arguments by name, which it may write."""
    own = f.f if isinstance(f, DaceProgram) else f
    args, kwargs = positional(own, given)
    _state.plain = True
    try:
        with _put_back(reads), _silence(), _bodies_of_programs():
            return own(*args, **kwargs)
    finally:
        _state.plain = False


@contextlib.contextmanager
def _bodies_of_programs() -> Iterator[None]:
    """Have programs of DaCe's that are called in a plain run run as Python runs them: DaCe would compile them."""
    with _patched:
        _running.append(None)
        DaceProgram.__call__ = _body
    try:
        yield
    finally:
        with _patched:
            _running.pop()
            if not _running:
                DaceProgram.__call__ = _call


def _body(program: DaceProgram, *args: Any, **kwargs: Any) -> Any:
    if not is_plain():  # another thread's
        return _call(program, *args, **kwargs)
    if needs_dace(program):
        raise GivenUp
    symbols = symbols_passed(program, kwargs)
    given = bind_arguments(program, args, {n: v for n, v in kwargs.items() if n not in symbols})
    return sized(program.f, {**sizes_of(program, given), **symbols})(**given)


def copied(value: Any) -> Any:
    """Return a copy of an array as one of NumPy's; other values are unchanged."""
    array = as_array(value)
    return array.copy() if isinstance(array, np.ndarray) else array


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Print and warn of nothing: the recording has done so."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _put_back(reads: Iterable[Any]) -> Iterator[None]:
    """Put back afterwards what lies outside: the owners of what was read, random generators.

    Arrays from outside are not written: recording refuses that.
    """
    steps = [r for r in reads if isinstance(r, Read)]
    owners = [(o, _entries(o)) for o in {id(r.owner): r.owner for r in steps}.values()]
    numbers, numpy_numbers = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(numbers)
        np.random.set_state(numpy_numbers)
        for owner, before in owners:
            _restore(owner, before)


def _entries(owner: Any) -> Any:
    """Return a copy of what an object holds; None of what is not changed here."""
    if isinstance(owner, (dict, list, *LOOSE)):
        return owner.copy()
    attributes = getattr(owner, "__dict__", None)
    return attributes.copy() if isinstance(attributes, dict) and not isinstance(owner, ModuleType) else None


def _restore(owner: Any, before: Any) -> None:
    if before is None:
        return
    if isinstance(owner, list):
        if len(owner) != len(before) or any(a is not b for a, b in zip(owner, before, strict=True)):
            owner[:] = before
        return
    if isinstance(owner, LOOSE):
        put(owner, content_of(before) or {})
        return
    held = owner if isinstance(owner, dict) else vars(owner)
    for key in held.keys() - before.keys():
        del held[key]
    for key, value in before.items():
        if held.get(key) is not value:
            held[key] = value
