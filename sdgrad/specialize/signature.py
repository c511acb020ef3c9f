"""Specialize a function to arguments of certain shapes and dtypes: its normal form, and what is compiled from it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import dace
import numpy as np

from sdgrad.autodiff.differentiate import Differentiated, differentiate_program, push_tangents
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name
from sdgrad.canonicalize.normal_form import in_normal_form, normalize, normalize_again
from sdgrad.config import config, device
from sdgrad.convert.callables import name_of, python_function
from sdgrad.errors import ParseError
from sdgrad.frontend.parse import STAMP, as_program, parse, sizes, stamped
from sdgrad.pipeline import Ready, compiled
from sdgrad.program.kinds import kind_of
from sdgrad.program.naming import is_returned, own_arguments, returned
from sdgrad.program.passes import Target
from sdgrad.program.tree import Program, writes
from sdgrad.record.function import needs_dace, record
from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.runtime.call.device_arrays import Memory, is_resident, run
from sdgrad.runtime.call.marshalling import as_array, as_value, is_tensor, like
from sdgrad.runtime.compile import precompiled_header
from sdgrad.specialize.compile_lock import making


@runtime_checkable
class Derived(Protocol):
    """A function made of another one: it returns its program, instead of having a source to parse."""

    @property
    def f(self) -> Callable:
        """Return the function it is made of."""

    def identity(self) -> Hashable:
        """Return a value that is equal for equal functions."""

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return the program for arguments like these, and the closure it takes."""


@runtime_checkable
class Specialized(Protocol):
    """A function whose program depends on the content of its arguments, too."""

    def fixed(self, arguments: Mapping[str, Any]) -> Hashable:
        """Return a value that is equal for arguments with the same program, given equal shapes and dtypes."""


@runtime_checkable
class Open(Protocol):
    """A function that has one program for arrays of different sizes."""

    def extents(self) -> Mapping[str, Hashable]:
        """Return what stands for the shapes of such arrays, by argument."""


@runtime_checkable
class Watching(Protocol):
    """A function that sees, and may change, the graphs of its two halves before they are compiled."""

    def differentiated(self, forward: dace.SDFG, backward: dace.SDFG) -> None: ...


def identity(f: Callable | Derived) -> Hashable:
    """Return a value that is equal for equal functions."""
    return f.identity() if isinstance(f, Derived) else python_function(f)


@dataclass
class CompiledGradient:
    """Hold a differentiated and compiled program."""

    result: Differentiated
    program: CompiledProgram

    @property
    def normalized(self) -> Program:
        return self.result.normalized

    def __call__(
        self, arguments: Mapping[str, Any], inplace: bool = False, memory: Memory | None = None
    ) -> dict[str, Any]:
        return run(self.program, arguments, memory, inplace)

    def gradient(self, name: str, found: Mapping[str, Any], original: Any) -> Any:
        """Return the gradient of an argument, in its kind and shape."""
        array = found[gradient_name(name, self.normalized)]
        if is_resident(array):
            return array.reshape(getattr(original, "shape", ()))
        return like(array.reshape(np.shape(as_array(original))), original)


@dataclass
class Signature:
    """Hold a function for arguments of certain shapes and dtypes: its normal form, and its compiled programs."""

    function: Callable | Derived
    program: Program
    closure: Mapping[str, Any]
    results: dict[Request, Differentiated] = field(default_factory=dict)
    gradients: dict[Request, CompiledGradient] = field(default_factory=dict)
    halves: dict[Hashable, Any] = field(default_factory=dict)
    tangents: dict[Request, CompiledProgram] = field(default_factory=dict)
    called: Sequence[tuple[Any, Hashable]] = ()  # objects that tell when they change, with what they told
    resident: bool = False  # arguments are in the memory of a GPU
    _primal: CompiledProgram | None = None

    @staticmethod
    def of(f: Callable | Derived, arguments: Mapping[str, Any], resident: bool = False) -> Signature:
        """Return the signature of a call, from the cache if it was seen before.

        :param resident: its programs are called with addresses in the memory of a GPU.
        """
        key = Signature.key(f, arguments, resident)
        cache = _signatures.setdefault(identity(f), {})
        if key not in cache or cache[key].is_stale():
            with making:
                if key not in cache or cache[key].is_stale():
                    found = replace(Signature.parse(f, arguments), resident=resident)
                    key = Signature.key(f, arguments, resident)  # more arguments may turn out to be fixed
                    cache[key] = found
        if _making:
            _making[-1] += cache[key].called
        return cache[key]

    @staticmethod
    def key(f: Callable | Derived, arguments: Mapping[str, Any], resident: bool) -> tuple:
        """Return what the program depends on: kinds of arguments, settings, contents that decide."""
        fixed = fixed_arguments(f, arguments)
        own = f.fixed(arguments) if isinstance(f, Specialized) else ()
        open_ones: Mapping[str, Hashable] = f.extents() if isinstance(f, Open) else {}
        kinds = ((name, fixed.get(name, _key(value, open_ones.get(name)))) for name, value in arguments.items())
        return (config.frontend, config.blas, config.without, config.machine, device(), resident, own, *kinds)

    def is_stale(self) -> bool:
        """True if an object that the function calls has been changed since."""
        return any(getattr(called, STAMP)() != stamp for called, stamp in self.called)

    @staticmethod
    def parse(f: Callable | Derived, arguments: Mapping[str, Any]) -> Signature:
        """Parse the function for the arguments' shapes and dtypes, and bring it into normal form."""
        precompiled_header.begin()  # it is there when the program is, rather than after it
        if isinstance(f, Derived):
            _making.append([])
            try:
                tree, closure = f.derive(arguments)
            finally:
                called = _making.pop()
            return Signature(f, normalize_again(tree), closure, called=called)
        if config.frontend == "record" and not needs_dace(f):
            return Signature.record(python_function(f), arguments)
        program = as_program(f)
        sdfg = parse(program, {k: as_value(v) for k, v in arguments.items()})
        sdfg.name = name_of(f)
        closure = {k: v for k, v in _closure(program, sdfg).items()}
        tree = normalize(sdfg, own=True)
        if missing := [n for n in own_arguments(tree) if n not in arguments and n not in closure]:
            raise ParseError(
                f"'{tree.name}' reads {', '.join(missing)}: neither an argument nor an array of the closure"
            )
        return Signature(f, tree, closure, called=stamped(program))

    @staticmethod
    def record(f: Callable, arguments: Mapping[str, Any]) -> Signature:
        """Record the function for the arguments' shapes and dtypes, and bring its program into normal form."""
        found = record(f, {k: as_value(v) for k, v in arguments.items()})
        _fixed.setdefault(identity(f), set()).update(found.fixed)
        tree = in_normal_form(found.program, Target(python=True))
        return Signature(f, tree, found.closure)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return what the function returns; if it returns nothing, the float arguments it writes."""
        if found := returned(self.program):
            return found
        written = {self.program.root(w) for node in self.program.body for w in writes(node)}
        return tuple(n for n in self.program.arguments if n in written and self.is_float(n))

    def is_float(self, name: str) -> bool:
        return name in self.program.containers and kind_of(self.program.containers[name].dtype) in ("float", "complex")

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments the graph has: unused ones and constants drop out."""
        known = set(self.program.arguments) | set(self.program.symbols)
        return {n: v for n, v in given.items() if n in known} | dict(self.closure)

    def output_value(self, name: str, values: Mapping[str, Any], arguments: Mapping[str, Any]) -> Any:
        """Return an output in the kind and shape that the user expects."""
        like_what = next((v for v in arguments.values() if is_tensor(v)), None)
        array = values[name]
        if is_returned(name) and self.program.containers[name].shape == (1,):
            array = array.reshape(())  # DaCe returns scalars as arrays of one element
        if is_resident(array):
            return array
        return like(array, like_what) if like_what is not None else array[()] if array.shape == () else array

    def primal(self) -> CompiledProgram:
        """Return the function itself, compiled."""
        with making:
            if self._primal is None:
                self._primal = compiled(Ready.of(self.program, self.resident))[0]
        return self._primal

    def tangent(self, request: Request) -> CompiledProgram:
        """Return the function with tangents, compiled."""
        if request not in self.tangents:
            compile_tangents([(self, request)])
        return self.tangents[request]

    def differentiated(self, request: Request) -> Differentiated:
        """Return the function and its adjoint."""
        with making:
            if request not in self.results:
                self.results[request] = differentiate_program(self.program, request)
        return self.results[request]

    def gradient(self, request: Request) -> CompiledGradient:
        """Return the function and its adjoint in one program, compiled."""
        if request not in self.gradients:
            compile_gradients([(self, request)])
        return self.gradients[request]


_signatures: dict[Hashable, dict[tuple, Signature]] = {}
_fixed: dict[Hashable, set[str]] = {}  # arguments of recorded functions whose values are part of the signature
_making: list[list[tuple[Any, Hashable]]] = []  # what is called by functions that others, just being made, derive from


def compile_gradients(asked: Iterable[tuple[Signature, Request]]) -> None:
    """Compile gradients that will be called, by one call of the compiler."""
    with making:
        missing = _missing(asked, lambda s: s.gradients)
        programs = compiled(*(Ready.of(s.differentiated(r).program, s.resident) for s, r in missing))
        for (signature, request), program in zip(missing, programs, strict=True):
            signature.gradients[request] = CompiledGradient(signature.differentiated(request), program)


def compile_tangents(asked: Iterable[tuple[Signature, Request]]) -> None:
    """Compile functions with their tangents that will be called, by one call of the compiler."""
    with making:
        missing = _missing(asked, lambda s: s.tangents)
        programs = compiled(*(Ready.of(push_tangents(s.program, r), s.resident) for s, r in missing))
        for (signature, request), program in zip(missing, programs, strict=True):
            signature.tangents[request] = program


def _missing(
    asked: Iterable[tuple[Signature, Request]], known: Callable[[Signature], Mapping[Request, Any]]
) -> list[tuple[Signature, Request]]:
    """Return what is asked for and not known, once each."""
    return list({(id(s), r): (s, r) for s, r in asked if r not in known(s)}.values())


def fixed_arguments(f: Callable | Derived, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments whose values the program is for."""
    if config.frontend == "dace":
        return sizes(f, arguments)
    names = _fixed.get(identity(f), ())
    return {n: v for n, v in arguments.items() if n in names or isinstance(v, (bool, np.bool_))}


def _key(value: Any, shape: Hashable = None) -> Any:
    """Return the part of a call that its program depends on: kinds of arguments, settings, contents that decide."""
    array = as_array(value)
    if isinstance(array, (np.ndarray, np.generic)):
        return (str(array.dtype), array.shape if shape is None else shape)
    if isinstance(array, (bool, int, float, complex)):
        return type(array).__name__
    return array if isinstance(array, (str, type(None), tuple)) else id(array)


def _closure(program: Any, sdfg: dace.SDFG) -> dict[str, Any]:
    """Return global and closure arrays that the graph takes as arguments."""
    found = {}
    for name, resolve in getattr(program, "closure_arg_mapping", {}).items():
        if name in sdfg.arrays:
            found[name] = resolve() if callable(resolve) else resolve
    return found
