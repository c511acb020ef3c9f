"""Calls of compiled programs with everything decided beforehand that only depends on the kinds of arguments.

For small arrays binding, checking and naming arguments takes longer than the program. A call whose arguments are of a
kind that was seen before does none of that again: it makes results, collects addresses, and runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dace import data as dt

from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.runtime.call.result_pool import copy_of, fresh
from sdgrad.runtime.compile.array_address import address
from sdgrad.runtime.compile.cache import Library

NUMBERS = (float, int, complex, bool)
Kinds = tuple[Hashable, ...]


def kinds_of(args: Sequence[Any]) -> Kinds | None:
    """What a prepared call depends on; None for arguments that such a call does not take."""
    found: list[Any] = []
    for value in args:
        if type(value) is np.ndarray:
            if not value.ndim or not value.flags.c_contiguous:
                return None
            found.append((value.shape, value.dtype))
        elif type(value) in NUMBERS:
            found.append(type(value))
        else:
            return None
    return tuple(found)


@dataclass(frozen=True)
class Given:
    """An argument of the program that is one of the call's: an array, copied if the program writes it, or a number."""

    position: int
    copied: bool
    number: Any  # its ctypes type; None for an array


@dataclass(frozen=True)
class Made:
    """An argument of the program that the call makes."""

    shape: tuple[int, ...]
    dtype: np.dtype
    fill: float | None  # None where the program defines it

    def array(self) -> np.ndarray:
        if self.fill:
            return np.full(self.shape, self.fill, self.dtype)
        return fresh(self.shape, self.dtype, self.fill is not None)


@dataclass(frozen=True)
class Fixed:
    """An argument of the program that is the same in all calls, and is only read."""

    array: np.ndarray


@dataclass(frozen=True)
class Direct:
    """A prepared call.

    :param steps: where the program's arguments come from, in its order.
    :param results: places of results among the steps, each with the shape it is given; () is a number.
    """

    library: Library
    steps: tuple[Given | Made | Fixed, ...]
    results: tuple[tuple[int, tuple[int, ...]], ...]

    @staticmethod
    def of(
        program: CompiledProgram,
        order: Sequence[str],
        args: Sequence[Any],
        ones: Sequence[str],
        results: Mapping[str, tuple[int, ...]],
    ) -> Direct | None:
        """A call of a program whose arguments are the call's, in ``order``, and what it makes.

        :param ones: arguments of the program that are seeds.
        :param results: arguments of the program that are results, with their shapes.
        """
        slots = {program.spelled.get(s.name, s.name): s for s in program.slots}
        steps: list[Given | Made | Fixed] = []
        places: dict[str, int] = {}
        for name, desc in program.library.arguments.items():
            slot = slots.get(name)
            if slot is None or slot.shape is None or program.library.initial:
                return None
            places[slot.name] = len(steps)
            if slot.name not in order:
                made = Made(slot.shape, slot.dtype, 1 if slot.name in ones else None if slot.defined else 0)
                steps.append(Fixed(made.array()) if slot.name in ones and not slot.copied else made)
                continue
            position = order.index(slot.name)
            value, scalar = args[position], isinstance(desc, dt.Scalar)
            fits = type(value) is np.ndarray and value.dtype == slot.dtype and value.shape == slot.shape
            if not fits if not scalar else type(value) not in NUMBERS:
                return None
            steps.append(Given(position, slot.copied, desc.dtype.as_ctypes() if scalar else None))
        found = tuple((places[n], shape) for n, shape in results.items())
        return Direct(program.library, tuple(steps), found)

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        values: list[Any] = []
        pointers: list[Any] = []
        for step in self.steps:
            if isinstance(step, Made):
                value = step.array()
            elif isinstance(step, Fixed):
                value = step.array
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
        return [values[k].reshape(shape) if shape else values[k].reshape(())[()] for k, shape in self.results]
