"""Compute a function again on the way backwards, and keep nothing of it but its arguments: ``checkpoint``.

A call is one node. Its rule is the pullback of the function, which begins with the function itself (Griewank & Walther
2008, chapter 12).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import compress
from types import MethodType
from typing import Any, TypeVar, overload

import numpy as np

from sdgrad.api.forward import in_place
from sdgrad.api.jvp import jvp
from sdgrad.api.vjp import pullback_with_places
from sdgrad.convert.callables import is_filled, name_of, python_function
from sdgrad.errors import ArgumentError
from sdgrad.program.custom_rule import COTANGENT, TANGENT, CustomRule
from sdgrad.program.naming import STATUS
from sdgrad.program.tree import Node, writes
from sdgrad.record.calls import works_inside
from sdgrad.record.checks import apart, take_over
from sdgrad.record.custom import Variables, put
from sdgrad.record.functions.creation import duplicate
from sdgrad.record.kept_results import DOTS, Kept
from sdgrad.record.named_rule import NamedRule
from sdgrad.record.nests import flatten
from sdgrad.record.recorder import Recorder
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Number
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.closed_functions import ClosedFunction, OfFunction

F = TypeVar("F", bound=Callable[..., Any])
KEPT = "kept_results"  # the argument for what is kept
NOTHING, EVERYTHING = "nothing", "everything"
POLICIES = NOTHING, EVERYTHING, DOTS


@overload
def checkpoint(f: F, *, policy: str | Iterable[str] = NOTHING) -> F: ...


@overload
def checkpoint(f: None = None, *, policy: str | Iterable[str] = NOTHING) -> Callable[[F], F]: ...


def checkpoint(f: Callable[..., Any] | None = None, *, policy: str | Iterable[str] = NOTHING) -> Any:
    """Return ``f`` as a function of which derivatives keep little: they compute it again from its arguments.

    Inside of a function that is differentiated, what a call of ``f`` computes on its way is dropped, and made again
    when the backward pass needs it. A call by itself is a call of ``f``. It is the same function in all other respects:
    derivatives of every order and mode, arguments and results that are nests, arrays that it reads from outside.
    Compare ``jax.checkpoint`` and ``torch.utils.checkpoint``.

    :param policy: what is kept beside the arguments: ``"nothing"``; ``"dots"``, the products of matrices (``@``,
        ``einsum``, ..); the names that :func:`checkpoint_name` gives, in a list; ``"everything"``, as without
        ``checkpoint``. What loops and branches inside of ``f`` compute is computed again.
    :raises ArgumentError: there is no such policy; or ``f`` writes an argument, when it is called.
    """
    own = _checked(policy)
    if f is None:
        return functools.partial(checkpoint, policy=own)
    if not callable(f):
        raise ArgumentError(f"checkpoint takes a function, not {type(f).__name__}")
    return Checkpointed(f, own)


def _checked(policy: Any) -> str | frozenset[str]:
    """Return a policy, or the names of what is kept; no name is the policy "nothing"."""
    if isinstance(policy, str) and policy in POLICIES:
        return policy
    is_list = isinstance(policy, Iterable) and not isinstance(policy, str)
    names = [*policy] if is_list else []
    if not is_list or not all(isinstance(n, str) for n in names):
        known = ", ".join(map(repr, POLICIES))
        raise ArgumentError(f"checkpoint: policy is {known}, or a list of names, not {policy!r}")
    return frozenset(names) or NOTHING


@dataclass(frozen=True)
class Checkpointed(OfFunction):
    """A function whose values are computed again."""

    policy: str | frozenset[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.f.__doc__)

    @property
    def __wrapped__(self) -> Callable:
        return self.f

    def __get__(self, owner: Any, kind: Any = None) -> Checkpointed:
        """Bind the function as a method."""
        return self if owner is None else Checkpointed(MethodType(self.f, owner), self.policy)

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call as one node."""
        if self.policy == EVERYTHING:
            return in_place(self.f, args, kwargs)
        own = Alone(self.f) if self.policy == NOTHING else Keeping(self.f, self.policy)
        first = again = ClosedFunction.of_call(Call.of(own, args, kwargs))
        _refuse_to_write(self.f, first)
        if self.policy != NOTHING:
            kept = _kept(first)
            if not kept and self.policy == DOTS:
                return Checkpointed(self.f, NOTHING).record_call(recorder, args, kwargs)
            if not kept:
                raise ArgumentError(_nothing_kept(self.f, self.policy))
            given = Call.of(Taking(self.f, self.policy), (kept, *args), kwargs)
            again = ClosedFunction.of_call(given, given.nests[KEPT].names)
        found = Recomputed(first, again).recorded(recorder, name_of(self.f))
        return again.signature.nested(found)


def _refuse_to_write(f: Callable, closed: ClosedFunction) -> None:
    """Raise an error if a function writes what it is given: computed again, it would find something else."""
    program = closed.program
    written = {program.root(w) for node in program.body for w in writes(node)}
    if changed := sorted(written & closed.operands.keys()):
        raise ArgumentError(
            f"checkpoint: '{name_of(f)}' writes {', '.join(changed)}, and cannot be computed again: write a copy, and "
            "return it"
        )


def _kept(first: ClosedFunction) -> tuple[np.ndarray, ...]:
    """Return arrays like those that a function keeps."""
    signature = first.signature
    pairs = zip(signature.outputs, signature.result_shapes(), strict=True)
    made = [np.zeros(shape, signature.program.containers[n].dtype.as_numpy_dtype()) for n, shape in pairs]
    return signature.nested(made)[1]


def _nothing_kept(f: Callable, names: Iterable[str]) -> str:
    where = "what loops and branches compute is computed again"
    what = f"no value named {', '.join(sorted(names))}"
    return f"checkpoint: there is {what} to keep in '{name_of(f)}' ({where}): leave the policy out"


@dataclass(frozen=True)
class Alone(OfFunction):
    """A function that leaves alone what it is given, and returns arrays of its own."""

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record the function.

        :raises ArgumentError: it is none of these.
        """
        given, form = flatten((args, kwargs))
        cells = getattr(python_function(self.f), "__closure__", None) or ()
        held = [c.cell_contents for c in cells if is_filled(c)]
        found = in_place(self.f, args, kwargs)
        after, own = flatten((args, kwargs))
        now = [c.cell_contents for c in cells if is_filled(c)]
        if own != form or any(a is not b for a, b in zip(given, after, strict=True)):
            raise ArgumentError(self._told("changes a list or a dict that it is given"))
        if len(held) != len(now) or any(a is not b for a, b in zip(held, now, strict=True)):
            raise ArgumentError(self._told("binds a name of a function around it (nonlocal)"))
        theirs = [v for v in (*given, *(v for _, v in recorder.outer.values())) if isinstance(v, Array)]
        if any(isinstance(v, Array) and any(v.storage is t.storage for t in theirs) for v in flatten(found)[0]):
            raise ArgumentError(self._told("returns an array that it is given, or a part of one", "a copy"))
        return found

    def _told(self, what: str, instead: str = "what it becomes") -> str:
        return f"checkpoint: '{name_of(self.f)}' {what}, and would not when it is computed again: return {instead}"


@dataclass(frozen=True)
class Keeping(OfFunction):
    """A function that returns what a policy keeps beside its results."""

    policy: str | frozenset[str]

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record the function."""
        found, kept = _with_policy(Kept(self.policy, len(recorder.blocks)), self.f, recorder, args, kwargs)
        return found, tuple(kept.found)


@dataclass(frozen=True)
class Taking(OfFunction):
    """A function that takes what a policy keeps as its first argument."""

    policy: str | frozenset[str]

    @property
    def __signature__(self) -> inspect.Signature:
        own = inspect.signature(python_function(self.f))
        first = inspect.Parameter(KEPT, inspect.Parameter.POSITIONAL_ONLY)
        return own.replace(parameters=[first, *own.parameters.values()])

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record the function."""
        given, *others = args
        kept = Kept(self.policy, len(recorder.blocks), given)
        return _with_policy(kept, self.f, recorder, tuple(others), kwargs)[0]


def _with_policy(
    kept: Kept, f: Callable, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]
) -> tuple[Any, Kept]:
    before, recorder.kept = recorder.kept, kept
    try:
        return Alone(f).record_call(recorder, args, kwargs), kept
    finally:
        recorder.kept = before


@dataclass(frozen=True, eq=False)
class Recomputed:
    """The node of a call.

    :param first: the function as it runs forwards.
    :param again: the function as it is differentiated: of what is kept, and of its operands.
    """

    first: ClosedFunction
    again: ClosedFunction

    def recorded(self, recorder: Recorder, name: str) -> list[Any]:
        """Record the node, and return the results of the function."""
        variables, block = Variables(recorder), list[Node]()
        given = [*self.first.operands.values()], [*self.again.operands.values()]
        own = {id(v): _own(v) for values in given for v in values}
        before = [variables.add(f"first_{k}", own[id(v)]) for k, v in enumerate(given[0])]
        names = tuple(f"operand_{k}" for k in range(len(given[1])))
        for n, value in zip(names, given[1], strict=True):
            variables.add(n, own[id(value)])
        with recorder.inside(block), apart(recorder) as (checks, status):
            tensors = [_in_memory(recorder, k, v) for k, v in enumerate(self.first.checked(*before))]
        for k, tensor in enumerate(tensors):
            variables.operands[f"result_{k}"] = variables.operand(tensor, not tensor.shape)
        results = tuple(f"result_{k}" for k in range(len(tensors)))
        count = len(results) - len(self.again.variables)
        asked = tuple(n for n in names if n in variables.operands or n in variables.symbols)
        moved = tuple(n for n in names if n in variables.operands and _kind(recorder, variables, n) in "fc")
        smooth = tuple(t.dtype.kind in "fc" for t in tensors[:count])
        own_checks = (STATUS,) if checks.errors else ()
        for n in own_checks:
            variables.operands[n] = variables.operand(status, True)
        smooth += tuple(False for _ in own_checks)
        pull = Again(self.again, names, asked, moved, results[:count] + own_checks, smooth, results[count:])
        push = None if self.again.variables else AgainForwards(*vars(pull).values())
        rule = CustomRule(name, names, vjp=pull, jvp=push, results=results + own_checks)
        recorder.append(variables.call(rule, block))
        if own_checks:
            take_over(recorder, checks, status)
        return [recorder.array(t) if t.shape else recorder.read(t, ()) for t in tensors[:count]]


def _own(value: Any) -> Any:
    """Return an operand that is no part of an array: it has a copy, which its derivative passes."""
    is_part = isinstance(value, Array) and not value.recorder.is_whole(value.tensor)
    return duplicate(value) if is_part else value


def _in_memory(recorder: Recorder, number: int, value: Any) -> Tensor:
    """Return memory of its own for a result."""
    tensor = recorder.declare(f"result_{number}", () if isinstance(value, Number) else value.tensor.shape, value.dtype)
    put(recorder, tensor, value)
    return tensor


def _kind(recorder: Recorder, variables: Variables, name: str) -> str:
    """Return what kind of numbers a variable has."""
    return recorder.containers[variables.operands[name].window.container].dtype.as_numpy_dtype().kind


@dataclass(frozen=True, eq=False)
class Again(NamedRule):
    """The pullback of a function: a function of its operands, of what is kept, and of the cotangents of its results.

    :param names: all operands, of which those that are ``asked`` are variables, and those that ``moved`` have
        derivatives.
    :param smooth: which of the results have derivatives.
    """

    closed: ClosedFunction
    names: tuple[str, ...]
    asked: tuple[str, ...]
    moved: tuple[str, ...]
    results: tuple[str, ...]
    smooth: tuple[bool, ...]
    kept: tuple[str, ...]

    label = "checkpoint"

    @property
    def taken(self) -> tuple[str, ...]:
        return (*self.asked, *self.kept, *self.seeds)

    @property
    def seeds(self) -> list[str]:
        """Return the names of the cotangents."""
        return [COTANGENT + n for n in compress(self.results, self.smooth)]

    def function(self, given: Mapping[str, Any]) -> Callable:
        """Return the function of the operands that have derivatives, with the results that have some."""

        def of_moved(*values: Any) -> tuple:
            known = {**given, **dict(zip(self.moved, values, strict=True))}
            return tuple(compress(self.closed(*(known[n] for n in (*self.kept, *self.names))), self.smooth))

        return works_inside(of_moved)

    def __call__(self, *values: Any) -> tuple:
        """Record the cotangents of the operands that have one."""
        given = self.named(values)
        pullback = pullback_with_places(self.function(given), *(given[n] for n in self.moved))
        return pullback(*(given[n] for n in self.seeds))


class AgainForwards(Again):
    """The tangents of a function's results: a function of its operands, and of their tangents."""

    @property
    def taken(self) -> tuple[str, ...]:
        return (*self.asked, *(TANGENT + n for n in self.moved))

    def __call__(self, *values: Any) -> tuple:
        """Record the tangents of the results."""
        given = self.named(values)
        points = [tuple(given[prefix + n] for n in self.moved) for prefix in ("", TANGENT)]
        found = iter(jvp(self.function(given), *points)[1])
        return tuple(next(found) if is_smooth else 0.0 for is_smooth in self.smooth)
