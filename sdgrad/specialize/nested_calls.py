"""Call derivatives inside of programs: ``g = sdgrad.grad(f)``, and a NumPy-style program that calls ``g(x)``.

DaCe's frontend asks an object that a program calls for a graph. The graph of a derivative is one node that knows its
program; where the caller is differentiated as well, the program takes the node's place.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import dace
import numpy as np
from dace import data as dt
from dace import library, properties
from dace.frontend.python.common import SDFGClosure
from dace.sdfg import nodes as nd
from dace.transformation.transformation import ExpandTransformation

from sdgrad.canonicalize.normal_form import in_normal_form, normalize_again
from sdgrad.convert.callables import bind_arguments, name_of, parameters, python_function
from sdgrad.errors import ParseError
from sdgrad.lift.dace_programs import as_program
from sdgrad.optimize import optimize
from sdgrad.program import custom_rule
from sdgrad.program.descriptors import lasting
from sdgrad.program.emit import emit
from sdgrad.program.naming import is_returned
from sdgrad.program.own_arrays import with_own_arrays
from sdgrad.program.passes import Target
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Program
from sdgrad.record.calls import example as recorded_example
from sdgrad.record.calls import splice, works_inside
from sdgrad.record.dispatch import unreadable
from sdgrad.record.function import record, unknown_size
from sdgrad.record.functions.table import active
from sdgrad.record.index_arrays import checked_operands
from sdgrad.record.index_limits import IndexLimit
from sdgrad.record.recorder import Recorder
from sdgrad.record.sparse.places import deciding_content
from sdgrad.record.values import Array, is_recorded
from sdgrad.runtime.call.marshalling import as_recorded
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.collected import collecting, noted
from sdgrad.specialize.signature import Signature, fixed_arguments

M = TypeVar("M")


@library.expansion
class ExpandDerivative(ExpandTransformation):
    """Expand the node to the graph of its program."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: DerivativeCall, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> dace.SDFG:
        return emit(optimize(node._program))


@library.node
class DerivativeCall(nd.LibraryNode):
    """Call a function that is a program already; the connectors are the program's arguments."""

    implementations: ClassVar[dict[str, type]] = {"pure": ExpandDerivative}
    default_implementation: ClassVar[str | None] = "pure"
    declined: ClassVar[str] = ""

    text = properties.Property(dtype=str, default="", desc="The program, to be looked at")

    def __init__(self, name: str = "", program: Program | None = None) -> None:
        super().__init__(name)
        if program is not None:
            self._program, self.text = program, str(program)
            results = {n for n in program.arguments if is_returned(n.removeprefix(PREFIX))}
            for n in program.arguments:
                (self.add_out_connector if n in results else self.add_in_connector)(n)

    def lowered(self, operands: Mapping[str, dt.Data]) -> Program | None:
        return self._program

    def __deepcopy__(self, memo: dict) -> DerivativeCall:
        found = DerivativeCall(self.label, self._program)
        found.implementation = self.implementation
        found.debuginfo = copy.copy(self.debuginfo)
        return found


PREFIX = "of_"  # connectors must not be called like arrays, nor the gradients in here like those of the caller


class CalledInPrograms:
    """Let programs call a derived function."""

    f: Callable
    derive: Callable[[Mapping[str, Any]], tuple[Program, Mapping[str, Any]]]
    shapes: Callable[[Mapping[str, Any]], Sequence[tuple[int, ...]]]
    of_leaves: Callable[[Call], Any]
    whole: Callable[[Call, Any, Sequence[Any]], Any]

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call in a function that is recorded."""
        call = Call.of(self.f, args, kwargs)
        own = self.of_leaves(call)
        return self.whole(call, own, spliced(recorder, own, call.arguments))

    def __sdfg__(self, *args: Any, **kwargs: Any) -> dace.SDFG:
        """Return the graph for arguments like these: DaCe's descriptors, arrays, or plain values."""
        given = bind_arguments(self.f, args, kwargs)
        arguments = {n: example(v, n, name_of(self.f)) for n, v in given.items()}
        derived, self.__dict__["_closure"] = self.derive(arguments)
        if unknown := [n for n in fixed_arguments(self.f, arguments) if isinstance(given[n], dt.Data)]:
            raise unknown_size(unknown[0], name_of(self.f))
        return graph_calling(self.__name__, normalize_again(derived), list(given))  # type: ignore[attr-defined]

    def __sdfg_signature__(self) -> tuple[list[str], list[str]]:
        """Return the arguments, and which of them are constants."""
        return parameters(self.f), []

    def __sdfg_closure__(self, reevaluate: Any = None) -> dict[str, Any]:
        """Return global arrays that the function reads, by their names in the last graph."""
        return dict(self.__dict__.get("_closure", {}))

    def closure_resolver(
        self, constant_args: Any, given_args: Any, parent_closure: SDFGClosure | None = None
    ) -> SDFGClosure:
        """Return global arrays that the function reads."""
        return as_program(python_function(self.f)).closure_resolver(constant_args, given_args, parent_closure)


def by_recording(derived: CalledInPrograms, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
    """Return the program of a derived function that calls several others, and its closure."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return derived.record_call(active(), args, kwargs)

    call.__name__, call.__signature__ = name_of(derived), inspect.signature(python_function(derived.f))  # type: ignore
    found = record(works_inside(call), {n: as_recorded(v) for n, v in arguments.items()})
    return in_normal_form(found.program, Target(python=True)), found.closure


def graph_calling(name: str, program: Program, order: Sequence[str]) -> dace.SDFG:
    """Return the graph of one node that knows its program; ``order`` are the arguments of a call."""
    own = with_own_arrays(program)
    called = renamed_program(own, {n: PREFIX + n for n in own.containers})
    graph = dace.SDFG(name)
    state, node = graph.add_state("call"), DerivativeCall(name, called)
    state.add_node(node)
    for argument in program.arguments:
        desc = lasting(program.containers[argument].desc, False)
        graph.add_datadesc(argument, desc)
        memlet, connector = dace.Memlet.from_array(argument, desc), PREFIX + argument
        if connector in node.out_connectors:
            state.add_edge(node, connector, state.add_write(argument), None, memlet)
        else:
            state.add_edge(state.add_read(argument), None, node, connector, memlet)
    graph.arg_names = [n for n in order if n in graph.arrays]
    return graph


def graph_with_rule(function: Callable, args: tuple, kwargs: Mapping[str, Any]) -> dace.SDFG:
    """Return the graph of a function with a rule of the user, for arguments like these."""
    given = bind_arguments(function, args, kwargs)
    arguments = {n: example(v, n, name_of(function)) for n, v in given.items()}
    signature = Signature.of(function, arguments)
    if signature.closure:
        names = ", ".join(signature.closure)
        raise ParseError(f"{name_of(function)} reads {names} outside: make it an argument, for a @dace.program")
    return graph_calling(name_of(function), signature.program, list(given))


custom_rule.HOOKS.graph = graph_with_rule


def spliced(recorder: Recorder, derived: Any, given: Mapping[str, Any]) -> list[Any]:
    """Record a call of a derived function, whose arguments are no nests, and return its results."""
    (program, closure, limits, shapes), arguments = with_fixed(derived.f, given, lambda e: _derived(derived, e))
    return splice(recorder, program, closure, checked_operands(recorder, limits, arguments), shapes)


def with_fixed(f: Any, given: Mapping[str, Any], make: Callable[[dict[str, Any]], M]) -> tuple[M, dict[str, Any]]:
    """Return what is made for arguments like these, and the arguments: those that decide shapes are known."""
    arguments = dict(given)
    while True:
        examples = {n: recorded_example(v) for n, v in arguments.items()}
        made = None
        with warnings.catch_warnings(record=True) as told:
            try:
                made = make(examples)
            except Exception:  # examples have zeros for content, with which a function that reads it may fail
                if not _unknown_ones(f, arguments, examples):
                    raise
        open_ones = _unknown_ones(f, arguments, examples)
        if made is not None and not open_ones:
            for w in told:  # others are of content that is no content
                warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
            return made, arguments
        arguments |= {n: known_value(arguments[n]) for n in open_ones}


def _unknown_ones(f: Any, arguments: Mapping[str, Any], examples: Mapping[str, Any]) -> list[str]:
    """Return the arguments whose values the program is for, and that are recorded."""
    return [n for n in fixed_arguments(f, examples) if is_recorded(arguments[n])]


def known_value(value: Any) -> Any:
    """Return the value of an argument, or start again so that it is known."""
    if not isinstance(value, Array) or not value.ndim:
        return value.__index__()
    if (found := deciding_content(value)) is None:
        raise unreadable(value, "the content")
    return found


def _derived(derived: Any, examples: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any], list[IndexLimit], Any]:
    """Return the program of a derived function, its closure, what its index arrays may hold, and results' shapes."""
    with collecting() as made:
        program, closure = derived.derive(examples)
    noted(*made)
    return program, closure, [limit for s in made for limit in s.limits], derived.shapes(examples)


def example(argument: Any, name: str, function: str) -> Any:
    """Return an array like an argument; plain values are constants."""
    if not isinstance(argument, dt.Data):
        return argument
    if any(dace.symbolic.issymbolic(n) for n in argument.shape):
        raise ParseError(
            f"'{name}' of {function} has the shape ({', '.join(map(str, argument.shape))}): derivatives inside of a "
            "program are made for sizes that are numbers. Call the program with arrays instead of annotating its "
            "arguments with symbols"
        )
    dtype = argument.dtype.type
    return dtype(0) if isinstance(argument, dt.Scalar) else np.zeros([int(n) for n in argument.shape], dtype)
