"""Pull cotangents back through a function: ``vjp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sdgrad.api.forward import in_place
from sdgrad.api.gradient import DiskLimit, MemoryLimit
from sdgrad.api.typed import R
from sdgrad.errors import ArgumentError
from sdgrad.machine.limits import Limit
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.table import active, rule
from sdgrad.record.nests import Form, cotangents_of, holds_places, matched, places_of
from sdgrad.record.shown import short
from sdgrad.record.sparse.nesting import same_places
from sdgrad.record.values import holds_recorded
from sdgrad.runtime.call.device_arrays import dtype_of, is_resident, saved
from sdgrad.runtime.call.marshalling import is_tensor, like
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.forward_backward import Backward, Forward, Tape
from sdgrad.specialize.nested_calls import spliced
from sdgrad.specialize.pullback import Pullback


@short
def vjp(
    f: Callable[..., R],
    *args: Any,
    strong_zero: bool = True,
    memory_limit: MemoryLimit = None,
    disk_limit: DiskLimit = None,
    **kwargs: Any,
) -> tuple[R, Callable[..., tuple[Any, ...]]]:
    """Return ``f``'s outputs, and the function that pulls cotangents of them back to the arguments.

    :param memory_limit: the most memory that each of the two calls may take beside the arguments, as
        :func:`value_and_grad` has it, with copies of the arguments. What the first one leaves counts for both: results,
        copies, the tape. If that is too much, no tape is left, and the second call starts with ``f`` again.
    :param disk_limit: as :func:`value_and_grad` has it, for a second call that starts again.
    :returns: ``(outputs, pullback)``. ``pullback(*cotangents)`` takes one cotangent for each output, of its shape (None
        for integers, and where it is zero), or one nest of them like the nest that ``f`` returns. It returns a tuple
        with one gradient for each positional argument: None where that is not floating point, a nest like the argument
        where that is one. The arguments are those of this call, even if the caller changes the arrays afterwards.
    """
    call = Call.of(f, args, kwargs)
    wanted = tuple(n for n in call.positional(len(args)) if dtype_of(call.arguments[n]).kind in "fc")
    if holds_recorded([args, kwargs]):
        return _recorded(f, args, kwargs, call, wanted)
    tape = Forward(call.f, wanted, None, "least", strong_zero, Limit.of(memory_limit, disk_limit), copied=True).run(
        {n: saved(v) for n, v in call.arguments.items()}
    )
    outputs = list(tape.outputs)

    def pullback(*cotangents: Any) -> tuple:
        given = _without_places(_flat(cotangents, len(outputs), tape.signature.form), tape)
        named = {n: c for n, c in zip(outputs, given, strict=True) if c is not None}
        found = Backward(call.f, wanted)(tape, **named)
        return call.gradients(len(args), {n: _in_kind_of(found[n], call.arguments[n]) for n in wanted})

    kind = next((v for v in call.arguments.values() if is_tensor(v)), None)
    results = [_in_kind_of(v, kind) if kind is not None else v for v in tape.outputs.values()]
    return tape.signature.nested(results), pullback


def _flat(cotangents: Sequence[Any], count: int, form: Form | None = None) -> list[Any]:
    """Return one cotangent for each output, from as many, or from one nest of them.

    :param form: the nest of the outputs.
    """
    given = list(cotangents)
    if form is not None and len(given) == 1 and isinstance(given[0], dict) and not holds_places(given[0]):
        return _like_results(form, given[0])
    is_nest = (
        form is not None and form.type is not None and len(given) == count == 1 and isinstance(given[0], form.type)
    )
    if len(given) != count or is_nest or any(map(holds_places, given)):
        given = cotangents_of(given)
    if len(given) != count:
        raise ArgumentError(f"expected {count} cotangent{'s' * (count != 1)}, one for each output, found {len(given)}")
    return given


def _like_results(form: Form, cotangents: dict) -> list[Any]:
    """Return the cotangents in a dict, whose keys are those of the results."""
    if form.type is None:
        raise ArgumentError("cotangents are a dict, but there is one result, which is none")
    try:
        return matched(form, cotangents)
    except ValueError as error:
        raise ArgumentError(f"cotangents are not like the results: {error}") from None


def _without_places(given: list[Any], tape: Tape) -> list[Any]:
    """Return cotangents without the places of sparse matrices, which must be those of the results."""
    for k, is_place in enumerate(places_of(tape.signature.form)):
        if is_place and given[k] is not None:
            if not same_places(given[k], list(tape.outputs.values())[k]):
                raise ArgumentError("the cotangent of a sparse matrix has other places than the result")
            given[k] = None
    return given


def pullback_with_places(f: Callable, *args: Any) -> Callable:
    """Return a pullback in a function that is recorded, whose ``while`` loops have places for any number of trips."""
    call = Call.of(f, args, {})
    wanted = tuple(n for n in call.positional(len(args)) if dtype_of(call.arguments[n]).kind in "fc")
    return _pullback(call, len(args), wanted, part=False)


def _recorded(f: Callable, args: tuple, kwargs: dict, call: Call, wanted: tuple[str, ...]) -> tuple[Any, Callable]:
    """Return outputs and pullback in a function that is recorded."""
    return in_place(f, args, kwargs), _pullback(call, len(args), wanted, part=True)


def _pullback(call: Call, count: int, wanted: tuple[str, ...], part: bool) -> Callable:
    recorder = active()
    own = Pullback(call.f, tuple(call.arguments), wanted, part=part)

    @works_inside
    def pullback(*cotangents: Any) -> tuple:
        seeds = own.cotangents(call.examples())
        named = dict(zip(seeds, _flat(cotangents, len(seeds)), strict=True))
        if any(c is None for c in named.values()):
            raise ArgumentError("a pullback inside of a function takes a cotangent for each output: give zeros")
        found = dict(zip(wanted, spliced(recorder, own, {**call.arguments, **named}), strict=True))
        return call.gradients(count, found)

    return pullback


def _in_kind_of(result: Any, original: Any) -> Any:
    return result if is_resident(result) else like(np.asarray(result), original)


rule(vjp)(vjp)
