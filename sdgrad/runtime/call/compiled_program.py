"""A compiled gradient and how it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import dace
import numpy as np
from dace import data as dt

from sdgrad.runtime.call.marshalling import check, evaluate_shape, solve_symbols
from sdgrad.runtime.call.result_pool import copy_of, fresh
from sdgrad.runtime.compile.cache import Library


@dataclass(frozen=True)
class Slot:
    """One argument of a compiled program, with what a call must know of it; ``shape`` is None where it has symbols.

    :param copied: the program writes it, so that what a caller gives is copied.
    :param defined: the program sets all of it before it reads any.
    """

    name: str
    desc: dt.Data
    dtype: np.dtype
    shape: tuple[int, ...] | None
    copied: bool
    defined: bool

    @staticmethod
    def of(name: str, desc: dt.Data, written: bool, defined: bool) -> Slot:
        symbolic = any(dace.symbolic.issymbolic(s) for s in desc.shape)
        shape = None if symbolic else tuple(int(s) for s in desc.shape)
        return Slot(name, desc, np.dtype(desc.dtype.type), shape, written, defined)

    def accept(self, value: Any) -> Any:
        """A given value as the program takes it; an array that fits already is taken as it is."""
        fits = type(value) is np.ndarray and value.dtype == self.dtype and value.shape == self.shape
        if fits and value.flags.c_contiguous and isinstance(self.desc, dt.Array):
            return value
        return check(self.name, value, self.desc)


@dataclass(frozen=True)
class CompiledProgram:
    """A compiled SDFG whose arguments are checked, completed and, where it writes them, copied.

    ``spelled`` has what arguments are called in the library, where C++ does not let them have their names.
    """

    symbols: frozenset[str]
    library: Library
    slots: tuple[Slot, ...]
    spelled: Mapping[str, str] = field(default_factory=dict)

    @property
    def descs(self) -> dict[str, dt.Data]:
        """Descriptors of the data arguments, by name."""
        return {slot.name: slot.desc for slot in self.slots}

    def __call__(
        self, given: Mapping[str, Any], inplace: bool = False, sizes: Mapping[str, int] | None = None
    ) -> dict[str, np.ndarray]:
        """Run; returns every array the program was called with, those that were not given new: zero where the program
        does not define them.

        :param sizes: values of symbols that the arguments' shapes do not tell.
        """
        call: dict[str, Any] = {}
        static = all(slot.shape is not None for slot in self.slots)
        symbols = {} if static else {**(sizes or {}), **solve_symbols(self.descs, dict(given))}
        for slot in self.slots:
            if slot.name not in given:
                shape = slot.shape if slot.shape is not None else evaluate_shape(slot.desc, symbols)
                call[slot.name] = fresh(shape, slot.dtype, not slot.defined)
                continue
            value = slot.accept(given[slot.name])
            copied = slot.copied and not inplace and isinstance(value, np.ndarray)
            call[slot.name] = copy_of(value) if copied else value
        extra = {k: v for k, v in {**symbols, **given}.items() if k in self.symbols}
        passed = {self.spelled.get(n, n): v for n, v in call.items()} if self.spelled else call
        self.library({**passed, **extra})
        return call
