"""Find the first statement of a function whose value differs in the compiled program from the one in Python."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from dace.frontend.python.parser import DaceProgram

from sdgrad.convert.callables import name_of
from sdgrad.convert.prefixes import prefix, statements
from sdgrad.record.nests import OfLeaves
from sdgrad.runtime.call.marshalling import as_array
from sdgrad.specialize.plain_runs import copied, plain_call
from sdgrad.specialize.signature import Signature

REPORT = (
    "this is a fault of sdgrad, and the result was wrong: please report it, with the function. "
    "sdgrad.config.verify = 'never' turns the comparison off"
)


def first_difference(f: Callable, arguments: Mapping[str, Any], found: str, differs: Callable[[Any, Any], str]) -> str:
    """Return the message: the place, the statement, and how its value differs.

    :param found: how the result differs.
    :param differs: says how two values differ.
    """
    whole = f"{name_of(f)}: {found}"
    try:
        place = _first(f, arguments, differs)
    except Exception:  # the search compiles other functions, and is of no use where that fails
        place = None
    return f"{whole}\n{REPORT}" if place is None else f"{place}\n{whole}\n{REPORT}"


def _first(f: Callable, arguments: Mapping[str, Any], differs: Callable[[Any, Any], str]) -> str | None:
    """Return the place of the first statement after which a name has another value, and which."""
    inner: Any = f.function if isinstance(f, OfLeaves) else f
    inner = inner.f if isinstance(inner, DaceProgram) else inner
    known = statements(inner) if isinstance(inner, FunctionType) else []
    if not known:
        return None
    low, high, text = 0, len(known) - known[-1].returns, ""
    while low < high:
        middle = (low + high) // 2

        def first(names: Sequence[str], count: int = middle + 1) -> Callable:
            own = prefix(inner, count, names)
            return replace(f, function=own) if isinstance(f, OfLeaves) else own

        message = _difference(first, known[middle].names, arguments, differs)
        low, high, text = (low, middle, message) if message else (middle + 1, high, text)
    if low == len(known):
        return None
    file, line = inner.__code__.co_filename, known[low].line
    return f"{Path(file).name}:{line}\n    {linecache.getline(file, line).strip()}\n{text}".rstrip()


def _difference(
    first: Callable[[Sequence[str]], Callable],
    names: Sequence[str],
    arguments: Mapping[str, Any],
    differs: Callable[[Any, Any], str],
) -> str:
    """Say which name has another value, and how they differ; empty if none has.

    :param first: makes the function that returns what names are bound to after the first statements.
    """
    values = plain_call(first(names), {n: copied(v) for n, v in arguments.items()})
    numeric = [n for n in names if isinstance(values[n], (np.ndarray, np.generic, int, float, complex))]
    own = first(numeric)
    signature = Signature.of(own, arguments)
    found = signature.primal()(signature.arguments(arguments))
    results = signature.nested([signature.output_value(o, found, arguments) for o in signature.outputs])
    texts = ((n, differs(as_array(results[n]), values[n])) for n in numeric)
    return next((f"'{n}' {text}" for n, text in texts if text), "")
