"""Compute a function again on the way backwards, and keep nothing of it but its arguments: ``checkpoint``.

A call is one node. Its rule is the pullback of the function, which begins with the function itself (Griewank & Walther
2008, chapter 12).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sdgrad.api.forward import in_place
from sdgrad.api.jvp import jvp
from sdgrad.api.vjp import vjp
from sdgrad.convert.callables import name_of, python_function
from sdgrad.errors import ArgumentError
from sdgrad.program.custom_rule import COTANGENT, TANGENT, CustomRule
from sdgrad.program.tree import Node, writes
from sdgrad.record.calls import works_inside
from sdgrad.record.custom import Variables
from sdgrad.record.named_rule import NamedRule
from sdgrad.record.recorder import Recorder
from sdgrad.record.stores import fill
from sdgrad.record.values import Number
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.closed_functions import ClosedFunction

POLICIES = ("nothing", "everything")


def checkpoint(f: Callable | None = None, *, policy: str = "nothing") -> Any:
    """Return ``f`` as a function of which derivatives keep little: they compute it again from its arguments.

    Inside of a function that is differentiated, what a call of ``f`` computes on its way is dropped, and made again
    when the backward pass needs it. A call by itself is a call of ``f``. It is the same function in all other respects:
    derivatives of every order and mode, arguments and results that are nests, arrays that it reads from outside.
    Compare ``jax.checkpoint`` and ``torch.utils.checkpoint``.

    :param policy: ``"nothing"``: only arguments are kept; ``"everything"``: as without ``checkpoint``.
    :raises ArgumentError: there is no such policy; or ``f`` writes an argument, when it is called.
    """
    if policy not in POLICIES:
        raise ArgumentError(f"checkpoint: policy is {' or '.join(map(repr, POLICIES))}, not {policy!r}")
    if f is None:
        return functools.partial(checkpoint, policy=policy)
    if not callable(f):
        raise ArgumentError(f"checkpoint takes a function, not {type(f).__name__}")
    return Checkpointed(f, policy)


@dataclass(frozen=True)
class Checkpointed:
    """A function whose values are computed again."""

    f: Callable
    policy: str

    @property
    def __name__(self) -> str:
        return name_of(self.f)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.f.__doc__

    @property
    def __wrapped__(self) -> Callable:
        return self.f

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(python_function(self.f))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.f(*args, **kwargs)

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call as one node."""
        if self.policy == "everything":
            return in_place(self.f, args, kwargs)
        closed = ClosedFunction.of_call(Call.of(self.f, args, kwargs))
        _refuse_to_write(self.f, closed)
        closed.check()
        return closed.signature.nested(tuple(_recorded(recorder, self.f, closed)))


def _refuse_to_write(f: Callable, closed: ClosedFunction) -> None:
    """Raise an error if a function writes what it is given: computed again, it would find something else."""
    program = closed.program
    written = {program.root(w) for node in program.body for w in writes(node)}
    if changed := sorted(written & closed.operands.keys()):
        raise ArgumentError(
            f"checkpoint: '{name_of(f)}' writes {', '.join(changed)}, and cannot be computed again: write a copy, and "
            "return it"
        )


def _recorded(recorder: Recorder, f: Callable, closed: ClosedFunction) -> list[Any]:
    """Record the node of a call, and return its results."""
    variables, block = Variables(recorder), list[Node]()
    names = tuple(f"operand_{k}" for k in range(len(closed.operands)))
    values = [variables.add(n, v) for n, v in zip(names, closed.operands.values(), strict=True)]
    with recorder.inside(block):
        found = closed(*values)
        results = tuple(f"result_{k}" for k in range(len(found)))
        tensors = [recorder.declare(n, getattr(v, "shape", ()), v.dtype) for n, v in zip(results, found, strict=True)]
        for tensor, value in zip(tensors, found, strict=True):
            if isinstance(value, Number):
                recorder.write(tensor, (), value)
            else:
                fill(recorder.array(tensor), value)
    for name, tensor in zip(results, tensors, strict=True):
        variables.operands[name] = variables.operand(tensor, not tensor.shape)
    moved = tuple(n for n in names if n in variables.operands and recorder_dtype(recorder, variables, n) in "fc")
    asked = tuple(n for n in names if n in variables.operands or n in variables.symbols)
    rules = [kind(closed, names, asked, moved, results) for kind in (Again, AgainForwards)]
    rule = CustomRule(name_of(f), names, vjp=rules[0], jvp=rules[1], results=results)
    recorder.append(variables.call(rule, block))
    return [recorder.array(t) if t.shape else recorder.read(t, ()) for t in tensors]


def recorder_dtype(recorder: Recorder, variables: Variables, name: str) -> str:
    """Return the kind of numbers that a variable has."""
    return recorder.containers[variables.operands[name].window.container].dtype.as_numpy_dtype().kind


@dataclass(frozen=True, eq=False)
class Again(NamedRule):
    """The pullback of a function: a function of its operands, and of the cotangents of its results.

    :param names: all operands, of which those that are ``asked`` are variables, and those that ``moved`` have
        derivatives.
    """

    closed: ClosedFunction
    names: tuple[str, ...]
    asked: tuple[str, ...]
    moved: tuple[str, ...]
    results: tuple[str, ...]

    label = "checkpoint"

    @property
    def taken(self) -> tuple[str, ...]:
        return (*self.asked, *(COTANGENT + n for n in self.results))

    def function(self, given: Mapping[str, Any]) -> Callable:
        """Return the function of the operands that have derivatives."""

        def of_moved(*values: Any) -> tuple:
            all_values = {**given, **dict(zip(self.moved, values, strict=True))}
            return tuple(self.closed(*(all_values[n] for n in self.names)))

        return works_inside(of_moved)

    def __call__(self, *values: Any) -> tuple:
        """Record the cotangents of the operands that have one."""
        given = self.named(values)
        seeds = [given[COTANGENT + n] for n in self.results]
        return vjp(self.function(given), *(given[n] for n in self.moved))[1](*seeds)


class AgainForwards(Again):
    """The tangents of a function's results: a function of its operands, and of their tangents."""

    @property
    def taken(self) -> tuple[str, ...]:
        return (*self.asked, *(TANGENT + n for n in self.moved))

    def __call__(self, *values: Any) -> tuple:
        """Record the tangents of the results."""
        given = self.named(values)
        points = [tuple(given[prefix + n] for n in self.moved) for prefix in ("", TANGENT)]
        return jvp(self.function(given), *points)[1]
