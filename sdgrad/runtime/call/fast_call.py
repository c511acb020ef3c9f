"""Prepare calls of compiled programs for the kinds (types and shapes) of arguments that were seen before.

For small arrays, binding, checking and naming the arguments takes longer than the program. A prepared call does none of
that: it allocates results, collects addresses, and runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from dace import data as dt

from sdgrad.runtime.call.checks import Checks
from sdgrad.runtime.call.compiled_program import CompiledProgram, Slot
from sdgrad.runtime.call.result_pool import copy_of, fresh
from sdgrad.runtime.compile.array_address import address
from sdgrad.runtime.compile.cache import Library

NUMBERS = (float, int, complex, bool)
Kinds = tuple[Hashable, ...]


def kinds_of(args: Sequence[Any]) -> Kinds | None:
    """Return the types and shapes of arguments, and truths and texts; None if some argument needs the general call."""
    found: list[Any] = []
    for value in args:
        if type(value) is np.ndarray:
            if not value.ndim or not value.flags.c_contiguous:
                return None
            found.append((value.shape, value.dtype))
        elif type(value) is bool or type(value) is str:
            found.append(value)
        elif type(value) in NUMBERS:
            found.append(type(value))
        else:
            return None
    return tuple(found)


@dataclass(frozen=True)
class Given:
    """An argument of the program that the caller passes.

    :param copied: the program writes it, so a copy is passed.
    :param number: the ctypes type of a number; None for an array.
    """

    position: int
    copied: bool
    number: Any


@dataclass(frozen=True)
class Made:
    """An argument of the program that every call allocates, filled with a number (None if the program defines it)."""

    shape: tuple[int, ...]
    dtype: np.dtype
    fill: float | None

    def array(self) -> np.ndarray:
        """Allocate the array."""
        if self.fill:
            return np.full(self.shape, self.fill, self.dtype)
        return fresh(self.shape, self.dtype, self.fill is not None)


@dataclass(frozen=True)
class Fixed:
    """An argument of the program that all calls share; the program only reads it."""

    array: np.ndarray


@dataclass(frozen=True)
class Outside:
    """An array that the function reads outside of its arguments, as it is at the call; the program only reads it."""

    read: Callable[[], Any]
    shape: tuple[int, ...]
    dtype: np.dtype

    def fits(self, value: Any) -> bool:
        """True if the program takes the array as it is."""
        same = type(value) is np.ndarray and value.shape == self.shape and value.dtype == self.dtype
        return same and value.flags.c_contiguous


@dataclass(frozen=True)
class Checked:
    """The number of a check that fails: its exception is raised after the call."""

    checks: Checks


Step: TypeAlias = "Given | Made | Fixed | Outside | Checked"


@dataclass(frozen=True)
class Direct:
    """A prepared call.

    :param steps: the sources of the program's arguments, in its order.
    :param results: the positions of results among the steps, each with its shape; () is a number.
    """

    library: Library
    steps: tuple[Step, ...]
    results: tuple[tuple[int, tuple[int, ...]], ...]
    checked: tuple[int, ...] = ()

    @staticmethod
    def of(
        program: CompiledProgram,
        order: Sequence[str],
        args: Sequence[Any],
        ones: Sequence[str],
        results: Mapping[str, tuple[int, ...]],
        closure: Mapping[str, Any],
    ) -> Direct | None:
        """Prepare a call of a program; None if its sizes are symbolic, or an argument does not fit as it is.

        :param order: the names of the call's arguments.
        :param ones: arguments of the program that are seeds.
        :param results: arguments of the program that are results, with their shapes.
        :param closure: arguments of the program that the caller does not pass: arrays, or functions that return such.
        """
        slots = {program.spelled.get(s.name, s.name): s for s in program.slots}
        steps: list[Step] = []
        places: dict[str, int] = {}
        for name, desc in program.library.arguments.items():
            slot = slots.get(name)
            if slot is None or slot.shape is None or program.library.initial:
                return None
            places[slot.name] = len(steps)
            if slot.name in order:
                position = order.index(slot.name)
                step: Step | None = _given(slot, position, args[position], desc)
            elif slot.name in closure:
                step = _outside(slot, slot.shape, closure[slot.name])
            else:
                step = _made(slot, slot.shape, slot.name in ones)
            if step is None:
                return None
            steps.append(step)
        found = tuple((places[n], shape) for n, shape in results.items())
        checked = tuple(k for k, s in enumerate(steps) if isinstance(s, Checked))
        return Direct(program.library, tuple(steps), found, checked)

    def __call__(self, args: Sequence[Any]) -> list[Any] | None:
        """Run the program, and return its results; None if an array from outside does not fit as it is."""
        values: list[Any] = []
        pointers: list[Any] = []
        for step in self.steps:
            if isinstance(step, Made):
                value = step.array()
            elif isinstance(step, Fixed):
                value = step.array
            elif isinstance(step, Checked):
                value = step.checks.fresh()
            elif isinstance(step, Outside):
                value = step.read()
                if not step.fits(value):
                    return None
            else:
                value = args[step.position]
                if step.number is not None:
                    pointers.append(step.number(value))
                    values.append(value)
                    continue
                if step.copied:
                    value = copy_of(value)
            values.append(value)
            pointers.append(address(value))
        self.library.at(pointers)
        for place in self.checked:
            self.steps[place].checks.done(values[place])  # type: ignore[union-attr]
        return [values[k].reshape(shape) if shape else values[k].reshape(())[()] for k, shape in self.results]


def _given(slot: Slot, position: int, value: Any, desc: dt.Data) -> Given | None:
    """Pass an argument of the call on; None if it is no number or array of the slot's type and shape."""
    if isinstance(desc, dt.Scalar):
        return Given(position, slot.copied, desc.dtype.as_ctypes()) if type(value) in NUMBERS else None
    fits = type(value) is np.ndarray and value.dtype == slot.dtype and value.shape == slot.shape
    return Given(position, slot.copied, None) if fits else None


def _outside(slot: Slot, shape: tuple[int, ...], value: Any) -> Fixed | Outside | Checked | None:
    """Take an array that the caller does not pass; None if it is something else, or is written."""
    if isinstance(value, Checks):
        return Checked(value)
    if slot.copied:
        return None
    found = Outside(value if callable(value) else lambda: value, shape, slot.dtype)
    return found if found.fits(found.read()) else None


def _made(slot: Slot, shape: tuple[int, ...], is_seed: bool) -> Made | Fixed:
    """Allocate an argument that the caller does not pass: a seed of ones, or zeros unless the program defines it."""
    if not is_seed:
        return Made(shape, slot.dtype, None if slot.defined else 0)
    seed = Made(shape, slot.dtype, 1)
    return seed if slot.copied else Fixed(seed.array())
