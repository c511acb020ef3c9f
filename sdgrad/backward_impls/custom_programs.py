"""Make programs of the rules that users give: for the variables of a call, made once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from dace import data as dt

from sdgrad.canonicalize.normal_form import in_normal_form
from sdgrad.convert.callables import bind_arguments
from sdgrad.errors import DifferentiationError, ParseError, Problem
from sdgrad.program.custom_call import CustomCall, Operand
from sdgrad.program.custom_rule import COTANGENT, TANGENT, CustomRule, names_of, stem
from sdgrad.program.naming import is_shared
from sdgrad.program.passes import Target
from sdgrad.program.tree import Leaf, Program, children, walk, writes
from sdgrad.program.window import Window, whole_window
from sdgrad.record.custom import put, with_locals
from sdgrad.record.function import Recording, record
from sdgrad.record.recorder import Recorder
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.record.values import Array, Number
from sdgrad.symbolic.code import number_of


def rule_of(call: CustomCall) -> CustomRule:
    """Return the rule of a call."""
    assert call.rule is not None
    return call.rule


def parsed(function, call: CustomCall, program: Program) -> Program:
    """Return the program of a rule for the variables of a call, made once."""
    rule = rule_of(call)
    descs, symbols = {}, {}
    for parameter in names_of(function):
        name = rule.spelled(stem(parameter)[1])
        if name in call.symbols:
            symbols[parameter] = call.symbols[name]
        elif name in call.variables:
            descs[parameter] = _desc(call.variables[name], program)
        else:
            kind = call.others.get(name, "no array, and no number")
            raise problem(call, f"its rule asks for '{parameter}', which is {kind}", _instead(call, name))
    key = (function, str({n: (str(d.dtype), str(d.shape), type(d)) for n, d in descs.items()}), str(symbols))
    if key not in rule.parsed or not all(g.holds() for g in rule.parsed[key].guards):
        order = [p for p in names_of(function) if p in descs or p in symbols]
        known: Mapping[str, Any] = {**descs, **symbols}
        try:
            own = RegionRule(function) if is_region(call) and isinstance(function, FunctionType) else function
            rule.parsed[key] = _recorded(own, {n: known[n] for n in order})
        except ClosureError as error:
            raise problem(call, str(error), error.hint) from None
    return rule.parsed[key].program


def _instead(call: CustomCall, name: str) -> str:
    """Return what to write where a rule asks for what is neither an array nor a number."""
    if " of values" in call.others.get(name, ""):
        what = "assign each array in it to a variable" if is_region(call) else "make each array in it an argument"
        return f"{what}, which the rule asks for by name"
    own = "function" if is_region(call) else f"function '{rule_of(call).name}'"
    return f"leave it out of the rule: define the rule, and the {own}, in a function of '{name}', where both see it"


@dataclass(frozen=True)
class RegionRule:
    """Call the rule of a region, and write what it calls its cotangents, or tangents, at its end.

    In Python, ``grad_x += y`` binds the name of a number anew, and ``grad_x = grad_x + y`` also that of an array.
    """

    f: FunctionType

    @property
    def __name__(self) -> str:
        return self.f.__name__

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.f)

    def __call__(self, *args: Any) -> None:
        self.f(*args)

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> None:
        """Record a call in a function that is recorded."""
        given = bind_arguments(self.f, args, kwargs)
        _, names = with_locals(lambda: RecordingOperators().call(self.f, **given), self.f.__code__)
        for name, value in given.items():
            new = names.get(name, value)
            if stem(name)[0] and new is not value and isinstance(value, (Array, Number)) and value.tensor is not None:
                put(recorder, value.tensor, new)


@dataclass(frozen=True)
class RuleOfSome:
    """Call a rule without the cotangents of results that nothing reads, which have a default."""

    f: Callable
    left_out: tuple[str, ...]

    @property
    def __name__(self) -> str:
        return self.f.__name__

    @property
    def __signature__(self) -> inspect.Signature:
        whole = inspect.signature(self.f)
        return whole.replace(parameters=[p for n, p in whole.parameters.items() if n not in self.left_out])

    def __call__(self, *args: Any) -> Any:
        given = self.__signature__.bind(*args)
        return self.f(**given.arguments)

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call in a function that is recorded."""
        return RecordingOperators().call(self.f, **self.__signature__.bind(*args, **kwargs).arguments)


def of_results(rule: CustomRule, read: Callable[[], frozenset[str]]) -> Callable | None:
    """Return the cotangents' rule where the program reads some of a function's results.

    :param read: finds which, in the whole program: it is asked only where the rule depends on it.
    """
    vjp = rule.of_some.get(read(), rule.vjp) if rule.of_some else rule.vjp
    if vjp is None or rule.parameters is None:
        return vjp
    optional = [n for n, p in inspect.signature(vjp).parameters.items() if p.default is not p.empty]
    seeds = {n: rule.spelled(of) for n in optional for prefix, of in [stem(n)] if prefix == COTANGENT}
    unread = tuple(n for n, of in seeds.items() if of not in read()) if seeds else ()
    return RuleOfSome(vjp, unread) if unread else vjp


class ClosureError(ParseError):
    """A rule reads an array that is none of its arguments."""

    hint = "make it an argument of the function, which the rule asks for by name"


def recorded_rule(function: Callable, arguments: Mapping[str, Any]) -> Program:
    """Return the program of a rule for arguments like these: arrays, DaCe's descriptors of such, expressions.

    :raises ClosureError: it reads an array that is none of its arguments.
    """
    return _recorded(function, arguments).program


def _recorded(function: Callable, arguments: Mapping[str, Any]) -> Recording:
    """Return the recording of a rule, its program in normal form."""
    found = record(function, arguments, of_rule=True)
    if read := [n for n in found.closure if not is_shared(n)]:
        raise ClosureError(f"its rule reads an array that is no argument: {', '.join(read)}")
    return replace(found, program=in_normal_form(found.program, Target(python=True)))


def _desc(operand: Operand, program: Program) -> dt.Data:
    dtype = program.containers[operand.window.container].dtype
    return dt.Scalar(dtype) if operand.scalar else dt.Array(dtype, list(operand.shape))


def is_region(call: CustomCall) -> bool:
    """True if the call is a region of a function, not a function."""
    return rule_of(call).parameters is None


def problem(call: CustomCall, message: str, hint: str) -> DifferentiationError:
    kind = "region" if is_region(call) else "function"
    return DifferentiationError([Problem(f"{kind} '{rule_of(call).name}'", message, str(call.source), hint)])


def leaves_zero(program: Program, name: str) -> bool:
    """True if a program leaves nothing but a constant zero in a number: it stands for an array of zeros."""
    writers = [n for n in walk(program.body) if not children(n) and name in writes(n)]
    return all(isinstance(n, Leaf) and _stores_zero(n, name) for n in writers)


def _stores_zero(leaf: Leaf, name: str) -> bool:
    values = {i.name: number_of(i.expr) for i in leaf.lets}
    return all(values.get(s.value) == 0 for s in leaf.stores if s.container == name)


def shared_window(call: CustomCall, name: str, program: Program) -> Window:
    """Return what a rule's communications share with the program.

    :raises DifferentiationError: the program has no such communicator.
    """
    if name not in program.containers:
        told = "its rule communicates by a communicator that the function itself does not use"
        raise problem(call, told, "use it there, too: comm.Barrier()")
    return whole_window(name, program.containers[name].desc)


def unsaid(call: CustomCall, program: Program, name: str) -> DifferentiationError:
    """Return the error for a container that brings a derivative into a region, and of which its rule says nothing."""
    prefix = _asked_prefix(call)
    anew = [n for n, o in call.variables.items() if o.scalar and o.window.container in call.outputs]
    if anew and all(n == 1 for n in program.containers[name].shape):
        message = (
            f"it reads a number from before it, '{name}', which carries a derivative, and assigns '{anew[0]}' anew"
        )
        hint = (
            f"what is added to a number, compute in the region, and add it after it: term = .., and {anew[0]} += term"
        )
        other = f". Of another number, take {prefix}{name} as a parameter of the rule" * (name not in call.variables)
        return problem(call, message, hint + other)
    hint = f"take {prefix}{name} as a parameter (and leave it where it is a constant)"
    return problem(call, f"its rule says nothing of '{name}', which carries a derivative", hint)


# --- rules as nodes


def leaving(call: CustomCall, name: str) -> DifferentiationError:
    """Return the error for a container that takes a derivative out of a region, and of which its rule says nothing."""
    hint = (
        f"take {_asked_prefix(call)}{name} as a parameter (and leave it where no derivative shall pass: it is cleared)"
    )
    return problem(call, f"its rule says nothing of '{name}', by which a derivative leaves the region", hint)


def _asked_prefix(call: CustomCall) -> str:
    """Return what a region's rule puts in front of a variable: it is an adjoint, or a tangent for both modes."""
    return COTANGENT if rule_of(call).vjp is not None else TANGENT
