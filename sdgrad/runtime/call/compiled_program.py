"""Call compiled programs: check the arguments, allocate the others, copy those that the program writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dace
import numpy as np
from dace import data as dt

from sdgrad.errors import ArgumentError, OutOfMemory
from sdgrad.runtime.call import checks
from sdgrad.runtime.call.marshalling import check, evaluate_shape, solve_symbols
from sdgrad.runtime.call.result_pool import copy_of, fresh
from sdgrad.runtime.compile.cache import Library


@dataclass(frozen=True)
class Slot:
    """One argument of a compiled program; ``shape`` is None if it has symbols.

    :param copied: the program writes it, so a copy of the caller's array is passed.
    :param defined: the program overwrites all of it before it reads any.
    """

    name: str
    desc: dt.Data
    dtype: np.dtype
    shape: tuple[int, ...] | None
    copied: bool
    defined: bool

    @staticmethod
    def of(name: str, desc: dt.Data, written: bool, defined: bool) -> Slot:
        """Describe an argument by its descriptor."""
        symbolic = any(dace.symbolic.issymbolic(s) for s in desc.shape)
        shape = None if symbolic else tuple(int(s) for s in desc.shape)
        return Slot(name, desc, np.dtype(desc.dtype.type), shape, written, defined)

    def accept(self, value: Any) -> Any:
        """Convert a value to what the program takes; an array that fits is unchanged.

        :raises ArgumentError: its dtype or shape is another one.
        """
        fits = type(value) is np.ndarray and value.dtype == self.dtype and value.shape == self.shape
        if fits and value.flags.c_contiguous and isinstance(self.desc, dt.Array):
            return value
        return check(self.name, value, self.desc)


@dataclass(frozen=True)
class CompiledProgram:
    """A compiled SDFG with descriptions of its arguments.

    ``spelled`` maps names that are reserved in C++ to those in the library.
    """

    symbols: frozenset[str]
    library: Library
    slots: tuple[Slot, ...]
    spelled: Mapping[str, str] = field(default_factory=dict)

    @property
    def descs(self) -> dict[str, dt.Data]:
        """Return the descriptors of the data arguments, by name."""
        return {slot.name: slot.desc for slot in self.slots}

    def __call__(
        self, given: Mapping[str, Any], inplace: bool = False, sizes: Mapping[str, int] | None = None
    ) -> dict[str, np.ndarray]:
        """Run the program, and return all its arrays by name; arrays that are not given are allocated.

        An allocated array is zero, unless the program defines it.

        :param inplace: True to pass the caller's arrays even if the program writes them.
        :param sizes: values of symbols that no shape determines.
        """
        self._refuse_shared_memory(given)
        static = all(slot.shape is not None for slot in self.slots)
        symbols = {} if static else {**self._integers(given), **(sizes or {}), **solve_symbols(self.descs, dict(given))}
        call = {slot.name: _argument(slot, given, symbols, inplace) for slot in self.slots}
        extra = {k: v for k, v in {**symbols, **given}.items() if k in self.symbols}
        passed = {self.spelled.get(n, n): v for n, v in call.items()} if self.spelled else call
        self.library({**passed, **extra})
        checks.first(given, call)
        return call

    def _refuse_shared_memory(self, given: Mapping[str, Any]) -> None:
        """Raise an error if an array that the program writes is a part of another argument.

        :raises ArgumentError: Python's function would read there what it has written, and the program would not.
        """
        arrays = {s.name: v for s in self.slots if isinstance(v := given.get(s.name), np.ndarray)}
        for slot in self.slots:
            for name, array in arrays.items() if slot.copied and slot.name in arrays else ():
                if name != slot.name and np.shares_memory(arrays[slot.name], array):
                    told = f"arguments '{slot.name}' and '{name}' share memory, and '{slot.name}' is written"
                    raise ArgumentError(f"{told}: pass a copy of one of them")

    def _integers(self, given: Mapping[str, Any]) -> dict[str, int]:
        """Return the arguments that are symbols, which sizes may be made of."""
        return {n: int(v) for n, v in given.items() if n in self.symbols and isinstance(v, (int, np.integer))}


def _argument(slot: Slot, given: Mapping[str, Any], symbols: dict[str, int], inplace: bool) -> Any:
    """Return the value of an argument: the caller's, a copy of it, or a new array."""
    if slot.name not in given:
        shape = slot.shape if slot.shape is not None else evaluate_shape(slot.desc, symbols)
        return _allocated(slot, shape)
    if isinstance(given[slot.name], checks.Checks):
        return given[slot.name].fresh()
    value = slot.accept(given[slot.name])
    return copy_of(value) if slot.copied and not inplace and isinstance(value, np.ndarray) else value


def _allocated(slot: Slot, shape: Sequence[int]) -> np.ndarray:
    """Return a new array.

    :raises OutOfMemory: there is no memory for it, or it has more bytes than memory can have.
    """
    try:
        return fresh(shape, slot.dtype, not slot.defined)
    except (MemoryError, ValueError, OverflowError) as error:
        if min(shape, default=0) < 0:
            raise
        told = f"'{slot.name}' is an array of {slot.dtype} of the shape {tuple(shape)}"
        raise OutOfMemory(told, "There is no memory for it") from error
