"""Prepare calls of compiled programs for the kinds (types and shapes) of arguments that were seen before.

For small arrays, binding, checking and naming the arguments takes longer than the program. A prepared call does none of
that: it allocates results, and C++ compares the arguments, collects addresses, and runs.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from dace import data as dt

from sdgrad.runtime.call import native_call
from sdgrad.runtime.call.checks import Checks
from sdgrad.runtime.call.compiled_program import CompiledProgram, Slot
from sdgrad.runtime.call.marshalling import is_cupy, is_tensor
from sdgrad.runtime.call.native_call import COPIED, FIXED, GIVEN, MADE, Form, Kind, Node, Plan, Source
from sdgrad.runtime.call.result_pool import LEAST, MOST, fresh

NUMBERS = (float, int, complex, bool, np.float64)
Maker = Callable[[], np.ndarray]


def is_data(value: Any) -> bool:
    """True of numbers and arrays: the values of all else are part of what a call is prepared for."""
    plain = type(value) in (float, int, complex) or isinstance(value, (np.ndarray, np.number))
    return plain or is_tensor(value) or is_cupy(value)


@dataclass(frozen=True)
class Recipe:
    """What a program takes and returns, by name.

    :param ones: arguments that are seeds.
    :param results: arguments that are results, with their shapes; () is a number.
    :param closure: arguments that the caller does not pass: arrays, functions that return such, or checks.
    """

    program: CompiledProgram
    ones: Sequence[str]
    results: Mapping[str, tuple[int, ...]]
    closure: Mapping[str, Any]

    def prepared(
        self,
        form: Form,
        order: Mapping[str, int],
        leaves: Sequence[Any],
        defaults: tuple,
        fixed: frozenset[int],
    ) -> Direct | None:
        """Prepare calls like one; None if sizes are symbolic, or an argument does not fit as it is.

        :param form: the nest of the positional arguments, and the dict of those by name.
        :param order: the positions of the program's arguments among the leaves, and the defaults behind them.
        :param fixed: positions of objects whose values matter.
        """
        native, library = native_call.library(), self.program.library
        if native is None or library.initial:
            return None
        slots = {self.program.spelled.get(s.name, s.name): s for s in self.program.slots}
        objects = (*leaves, *defaults)
        own = _Building(objects)
        for name in library.arguments:
            slot = slots.get(name)
            if slot is None or slot.shape is None or not own.add(slot, self, order):
                return None
        if any(name not in own.made for name in self.results):
            return None
        found = [own.result(name, shape) for name, shape in self.results.items()]
        read = [r() for r in own.outside]
        kinds = [native_call.kind(v, k in fixed or not is_data(v)) for k, v in enumerate((*objects, *read))]
        taken = (Kind * len(kinds))(*kinds)
        sources = (Source * len(own.sources))(*own.sources)
        nodes = (Node * len(form.nodes))(*form.nodes)
        plan = Plan(library.by_addresses, nodes, len(leaves), len(kinds), taken, len(sources), sources)
        kept = (plan, form, kinds, *own.kept, *(v.dtype if isinstance(v, np.ndarray) else v for v in (*objects, *read)))
        parts = (*own.makers,), defaults, (*own.outside,), (*found,), (*own.checks,)
        return Direct(library, native, ctypes.addressof(plan), *parts, kept)


@dataclass(frozen=True)
class Direct:
    """A prepared call.

    :param plan: the address of what C++ does.
    :param makers: make the arrays that each call allocates.
    :param defaults: arguments that the call leaves out.
    :param outside: read the arrays that the function reads outside of its arguments.
    :param results: positions of results among the makers, each with its shape; None if it is as it is made.
    :param checks: positions of numbers of failed checks among the makers.
    :param kept: the plan, and objects whose addresses it has.
    """

    library: Any
    native: ctypes.PyDLL
    plan: int
    makers: tuple[Maker, ...]
    defaults: tuple
    outside: tuple[Callable[[], Any], ...]
    results: tuple[tuple[int, tuple[int, ...] | None], ...]
    checks: tuple[tuple[int, Checks], ...]
    kept: tuple[Any, ...]

    def others(self) -> tuple:
        """Return what the call does not pass."""
        return (*self.defaults, *[read() for read in self.outside]) if self.outside else self.defaults

    def fits(self, args: tuple, kwargs: Mapping[str, Any]) -> bool:
        """True if a call is like the one that was prepared."""
        return bool(self.native.sdgrad_fits(self.plan, args, kwargs, self.others()))

    def __call__(self, args: tuple, kwargs: Mapping[str, Any]) -> list[Any] | None:
        """Run the program, and return its results; None if the call is of another kind."""
        made = [maker() for maker in self.makers]
        if not self.library.with_state(self.native.sdgrad_run, self.plan, args, kwargs, self.others(), made):
            return None
        for place, checks in self.checks:
            checks.done(made[place])
        return [made[k] if shape is None else _shaped(made[k], shape) for k, shape in self.results]


def _shaped(array: np.ndarray, shape: tuple[int, ...]) -> Any:
    """Return an array in a shape; of the shape () the number in it."""
    return array.reshape(shape) if shape else array.reshape(())[()]


@dataclass
class _Building:
    """A call while it is prepared."""

    objects: Sequence[Any]
    sources: list[Source] = field(default_factory=list)
    makers: list[Maker] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    outside: list[Callable[[], Any]] = field(default_factory=list)
    checks: list[tuple[int, Checks]] = field(default_factory=list)
    made: dict[str, int] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)

    def add(self, slot: Slot, recipe: Recipe, order: Mapping[str, int]) -> bool:
        """Add an argument of the program; False if it does not fit as it is."""
        if slot.name in order:
            return self._given(slot, order[slot.name])
        if slot.name in recipe.closure:
            return self._outside(slot, recipe.closure[slot.name])
        if slot.name in recipe.ones and not slot.copied:
            self._fixed(np.ones(slot.shape or (), slot.dtype))
            return True
        fill = 1 if slot.name in recipe.ones else None if slot.defined else 0
        self.sources.append(Source(MADE, 0, self._make(slot, maker(slot.shape or (), slot.dtype, fill)), None, 0, 0))
        return True

    def result(self, name: str, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...] | None]:
        """Return where a result is, and its shape if it is another than the array's."""
        return self.made[name], None if self.shapes[self.made[name]] == shape else shape

    def _given(self, slot: Slot, position: int) -> bool:
        """Pass an object of the call on; False if it is no number or array of the slot's type and shape."""
        value = self.objects[position]
        if isinstance(slot.desc, dt.Scalar):
            self.sources.append(native_call.number(position, slot.dtype))
            return type(value) in NUMBERS
        if not _fits(value, slot):
            return False
        copy = self._make(slot, maker(value.shape, value.dtype, None)) if slot.copied else 0
        self.sources.append(Source(COPIED if slot.copied else GIVEN, position, copy, None, value.nbytes, 0))
        return True

    def _outside(self, slot: Slot, value: Any) -> bool:
        """Take an array that the caller does not pass; False if it is something else, or is written."""
        if isinstance(value, Checks):
            self.checks.append((self._make(slot, value.fresh), value))
            self.sources.append(Source(MADE, 0, self.checks[-1][0], None, 0, 0))
            return True
        read = value if callable(value) else lambda: value
        found = read()
        size = found.nbytes if isinstance(found, np.ndarray) else 0
        self.sources.append(Source(GIVEN, len(self.objects) + len(self.outside), 0, None, size, 0))
        self.outside.append(read)
        return not slot.copied and _fits(found, slot)

    def _fixed(self, array: np.ndarray) -> None:
        """Take an array that all calls share; the program only reads it."""
        self.kept.append(array)
        self.sources.append(Source(FIXED, 0, 0, array.ctypes.data, 0, 0))

    def _make(self, slot: Slot, make: Maker) -> int:
        """Let each call make an array, and return its position among these."""
        self.made[slot.name] = len(self.makers)
        self.makers.append(make)
        self.shapes.append(slot.shape or ())
        return len(self.makers) - 1


def _fits(value: Any, slot: Slot) -> bool:
    """True if the program takes an array as it is."""
    same = type(value) is np.ndarray and value.shape == slot.shape and value.dtype == slot.dtype
    return same and value.flags.c_contiguous


def maker(shape: tuple[int, ...], dtype: np.dtype, fill: float | None) -> Maker:
    """Return a function that allocates an array, filled with a number; None leaves its content undefined."""
    if fill:
        return partial(np.full, shape, fill, dtype)
    if LEAST <= math.prod(shape) * dtype.itemsize <= MOST:
        return partial(fresh, shape, dtype, fill is not None)
    return partial(np.empty if fill is None else np.zeros, shape, dtype)
