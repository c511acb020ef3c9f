"""Tell whether the arguments of a call are those that a program was compiled for, where it is for their values."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.errors import ArgumentError
from sdgrad.record.carried import is_number
from sdgrad.record.restart import Fits
from sdgrad.runtime.call.marshalling import as_array
from sdgrad.symbolic.expr import to_expr

PLAIN = (bool, int, float, complex, str, bytes, type(None))
LONGEST = 40  # characters of a value that are shown


@dataclass(frozen=True)
class Value:
    """What an argument was when a program was compiled.

    :param text: how it is shown.
    :param digest: what equal values have in common, in any process; empty: nobody can tell there.
    :param whole: the program is for the content, and not only for the shape.
    :param held: the object itself; None after loading.
    """

    text: str
    digest: str
    whole: bool = True
    held: Any = None

    @staticmethod
    def of(value: Any, whole: bool = True) -> Value:
        array = as_array(value)
        if not whole and isinstance(array, np.ndarray):
            text = f"{array.dtype}{list(array.shape)}"
            return Value(text, text, whole, value)
        text = " ".join(repr(value).split())
        return Value(text if len(text) <= LONGEST else text[:LONGEST] + "..", _digest(value), whole, value)

    @property
    def is_known(self) -> bool:
        return self.digest != "" or self.held is not None

    def is_that_of(self, other: Value) -> bool:
        """True if an argument has this value."""
        if self.held is not None and other.held is self.held:
            return True
        return self.digest != "" and self.digest == other.digest


@dataclass(frozen=True)
class CompiledFor:
    """What has to hold of the arguments of a compiled program, beside their types and shapes.

    :param values: those that are a part of the program, by name. A call may leave them out.
    :param defaults: of arguments that the program takes.
    :param fits: what has to hold of integers among them.
    """

    values: Mapping[str, Value]
    defaults: Mapping[str, float]
    fits: Sequence[Fits] = ()

    @staticmethod
    def of(
        arguments: Mapping[str, Any],
        fixed: Collection[str],
        taken: Collection[str],
        defaults: Mapping[str, Any],
        fits: Iterable[Fits],
    ) -> CompiledFor:
        """Return what a program is for.

        :param arguments: of the call that it was compiled for.
        :param fixed: the names of those whose values the program is for.
        :param taken: what the program takes.
        :param defaults: of the function.
        :param fits: conditions that may hold of integer arguments.
        """
        own = {
            n: Value.of(v, n in fixed)
            for n, v in arguments.items()
            if n in fixed or n not in taken and not is_number(as_array(v))
        }
        rest = {n: v for n, v in defaults.items() if n in taken and n not in own and type(v) in (bool, int, float)}
        return CompiledFor(own, rest, tuple(f for f in fits if f.holds(arguments)))

    def complete(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments and defaults.

        :param name: of the function.
        :raises ArgumentError: an argument has another value than the program was compiled for.
        """
        for argument in self.values.keys() & given.keys():
            own = self.values[argument]
            found = Value.of(given[argument], own.whole)
            if not own.is_known:
                raise ArgumentError(
                    f"{name}: argument '{argument}' was saved with the program, as {own.text}: leave it out"
                )
            if not own.is_that_of(found):
                told = f"argument '{argument}' was {own.text} when this program was compiled, and is {found.text}"
                raise ArgumentError(f"{name}: {told}: compile another program for that")
        complete = {**self.defaults, **given}
        for fits in self.fits:
            names = [n for _, n in fits.symbols]
            if all(n in complete for n in names) and not fits.holds(complete):
                told = f"this program was compiled for slices that fit, and those by {' and '.join(names)} do not"
                raise ArgumentError(f"{name}: {told}: compile another program for that")
        return complete

    def written(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return {
            "values": {n: [v.text, v.digest, v.whole] for n, v in self.values.items()},
            "defaults": dict(self.defaults),
            "fits": [(str(f.bound), str(f.extent), f.symbols) for f in self.fits],
        }

    @staticmethod
    def read(facts: Mapping[str, Any]) -> CompiledFor:
        """Return what was written."""
        fits = [Fits(to_expr(b), to_expr(e), tuple((s, n) for s, n in names)) for b, e, names in facts["fits"]]
        return CompiledFor({n: Value(*v) for n, v in facts["values"].items()}, facts["defaults"], fits)


def _digest(value: Any) -> str:
    """Return what is equal for equal values; empty for objects of which only identity tells."""
    array = as_array(value)
    if isinstance(array, np.ndarray):
        text = repr((array.dtype.str, array.shape, array.tobytes() if array.dtype != object else array.tolist()))
        return hashlib.sha256(text.encode()).hexdigest()[:32]
    plain = array.item() if isinstance(array, np.generic) else array
    if isinstance(plain, (tuple, list)):
        parts = [_digest(p) for p in plain]
        return f"{type(plain).__name__}({', '.join(parts)})" if all(parts) else ""
    return f"{type(plain).__name__}:{plain!r}" if type(plain) in PLAIN else ""
