"""Map a function over one more axis of its arguments, in one compiled call."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.api.gradient import checked
from sdgrad.api.typed import P
from sdgrad.api.vmap_by_values import mapped_results, recorded_results
from sdgrad.convert.callables import name_of, python_function
from sdgrad.convert.keywords import own_keywords
from sdgrad.errors import ArgumentError, NotScalarError
from sdgrad.lift.symbol_values import symbols_given
from sdgrad.program.naming import all_names, own_arguments
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Program
from sdgrad.record.nests import Form
from sdgrad.record.reads import is_numeric
from sdgrad.record.recorder import Recorder
from sdgrad.record.restart import Fits
from sdgrad.record.shown import short
from sdgrad.rewrite.directions import direction_name, in_given_directions
from sdgrad.runtime.call.marshalling import as_array
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.nested_calls import CalledInPrograms, by_recording
from sdgrad.specialize.signature import Signature, fix, fixed_arguments, identity

Axes = int | None | Sequence[int | None]


@own_keywords
def vmap(f: Callable[P, Any], in_axes: Axes = 0) -> Callable[P, Any]:
    """Return ``f`` for every element along the first axis of its arguments.

    :param f: a NumPy-style function, a ``@dace.program``, or a derivative: ``vmap(grad(f))``.
    :param in_axes: 0 for arguments that have the axis, None for those that are the same for all elements: one for all
        arguments, or one for each. Defaults are the same for all.
    :returns: a callable whose results have the axis in front. It can be differentiated: ``vjp(vmap(f), ...)``.
    """
    function = python_function(checked(f))
    parameters = inspect.signature(function).parameters
    names = list(parameters)
    axes = [in_axes] * len(names) if in_axes is None or isinstance(in_axes, int) else list(in_axes)
    if all(parameters[n].default is not inspect.Parameter.empty for n in names[len(axes) :]):
        axes += [None] * (len(names) - len(axes))
    if len(axes) != len(names) or any(a not in (0, None) for a in axes):
        raise ArgumentError(f"in_axes is 0 or None for each of {', '.join(names)}, not {in_axes!r}")
    return VmapFunction(f, tuple(n for n, a in zip(names, axes, strict=True) if a == 0))


@dataclass
class VmapFunction(CalledInPrograms):
    """``vmap(f)``: compiled on demand, once for each signature."""

    f: Callable
    mapped: tuple[str, ...]

    def __post_init__(self) -> None:
        self.__name__, self.__signature__ = f"vmap_{name_of(self.f)}", inspect.signature(python_function(self.f))

    def identity(self) -> Hashable:
        return ("vmap", identity(self.f), self.mapped)

    def count(self, arguments: Mapping[str, Any]) -> int:
        """Return the number of elements."""
        sizes = {n: np.shape(as_array(arguments[n]))[:1] for n in self.mapped}
        if not sizes or len(set(sizes.values())) > 1 or () in sizes.values():
            found = ", ".join(f"{n}: {s}" for n, s in sizes.items()) or "none"
            hint = "; say in_axes=None for those that are the same for all elements" if () in sizes.values() else ""
            raise ArgumentError(f"vmap needs arguments with one common first axis, found {found}{hint}")
        return next(iter(sizes.values()))[0]

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return the program in a loop over the elements."""
        count = self.count(arguments)
        if not count:
            raise ArgumentError("vmap needs at least one element")
        if self.deciding(arguments):
            return by_recording(self, arguments)
        signature = self.inner(arguments)
        if not signature.outputs:
            raise NotScalarError(f"{name_of(self.f)} returns nothing and writes no argument")
        program = signature.program
        seeds = [n for n in self.mapped if n in program.containers]
        own = [n for n in own_arguments(program) if n not in seeds]
        shapes = zip(signature.outputs, signature.result_shapes(), strict=True)
        numbers = {o for o, shape in shapes if not shape}
        looped = in_given_directions(program, own, seeds, list(signature.outputs), count, numbers, at_once=False)
        names = all_names(looped)
        places: dict[str, str] = {n: names.fresh(f"one_{n}") for n in seeds}
        places |= {direction_name(n): n for n in seeds}
        return renamed_program(looped, places), signature.closure

    def inner(self, arguments: Mapping[str, Any]) -> Signature:
        """Return the function for one element."""
        return Signature.of(self.f, self.element(arguments))

    def element(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the first element."""
        return {n: as_array(v)[0] if n in self.mapped else v for n, v in arguments.items()}

    def fixed(self, arguments: Mapping[str, Any]) -> Hashable:
        """Return the values that decide."""
        return tuple((n, np.asarray(as_array(arguments[n])).tobytes()) for n in self.deciding(arguments))

    def deciding(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the mapped arguments whose values the program of an element is for."""
        if not self.count(arguments):
            return []
        candidates = [n for n in self.mapped if as_array(arguments[n]).dtype.kind not in "fc"]
        if not candidates:
            return []
        first = self.element(arguments)
        taken: tuple[Fits, ...] = ()
        with contextlib.suppress(Exception):  # it fails again where its results are needed
            taken = self.inner(arguments).fits
        fixed = fixed_arguments(self.f, first)
        found = [n for n in candidates if n in fixed or not is_numeric(np.asarray(first[n]))]
        fix(self.f, found)
        return [*found, *(n for n in self._outside(taken, arguments) if n not in found)]

    def _outside(self, taken: Sequence[Fits], arguments: Mapping[str, Any]) -> list[str]:
        """Return the mapped integers of which something was taken to hold that does not for all elements."""
        names = [n for n in self.mapped if any(n == own for fits in taken for _, own in fits.symbols)]
        ends = [{int(e) for e in (np.min(v), np.max(v))} for v in (as_array(arguments[n]) for n in names)]
        elements = [{**self.element(arguments), **dict(zip(names, e, strict=True))} for e in itertools.product(*ends)]
        return [] if all(fits.holds(e) for fits in taken for e in elements) else names

    def over(self, mapped: tuple[str, ...]) -> VmapFunction:
        """Return the function mapped over some of the arguments only."""
        return VmapFunction(self.f, mapped)

    def shapes(self, arguments: Mapping[str, Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the results, with the axis in front."""
        return [(self.count(arguments), *s) for s in self.inner(arguments).result_shapes()]

    def form(self, arguments: Mapping[str, Any]) -> Form | None:
        """Return the nest of the function's results."""
        return self.inner(arguments).form

    def of_leaves(self, call: Call) -> VmapFunction:
        """Return the function of the leaves of a call's arguments."""
        if not call.is_of_another:
            return self
        mapped = [x for n in call.order if n in self.mapped for x in (call.nests[n].names if n in call.nests else (n,))]
        return VmapFunction(call.f, tuple(mapped))

    def passed(self, args: tuple, kwargs: Mapping[str, Any]) -> VmapFunction:
        """Return the function that maps what a call passes, and leaves defaults alone."""
        symbols = symbols_given(self.f, kwargs)
        named = {n: v for n, v in kwargs.items() if n not in symbols}
        names = inspect.signature(python_function(self.f)).bind(*args, **named).arguments
        return VmapFunction(self.f, tuple(n for n in self.mapped if n in names))

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call in a function that is recorded."""
        call = Call.of(self.f, args, kwargs)
        own = self.passed(args, kwargs).of_leaves(call)
        return self.whole(call, own, recorded_results(recorder, own, call.arguments))

    def whole(self, call: Call, own: VmapFunction, results: Sequence[Any]) -> Any:
        """Return results as the function does."""
        return own.inner(call.examples()).nested(results)

    @short
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = Call.of(self.f, args, kwargs)
        own = self.passed(args, kwargs).of_leaves(call)
        return self.whole(call, own, mapped_results(own, call.arguments))
