"""Compute derivatives in directions: ``jvp``, ``linearize`` and ``hvp``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, overload

import numpy as np

from sdgrad.api.forward import in_place
from sdgrad.api.gradient import grad
from sdgrad.api.typed import First, R
from sdgrad.autodiff.forward import tangent_name
from sdgrad.autodiff.request import Request
from sdgrad.convert.callables import name_of
from sdgrad.convert.keywords import own_keywords
from sdgrad.errors import ArgumentError, NotScalarError
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.table import active, rule
from sdgrad.record.nests import is_nest
from sdgrad.record.shown import short
from sdgrad.record.values import holds_recorded
from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.runtime.call.device_arrays import Memory, dtype_of, matching, placed, run
from sdgrad.runtime.call.marshalling import as_array, like
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.bounded import MOST_FUNCTIONS, forget_oldest
from sdgrad.specialize.directions import Directions, as_directions
from sdgrad.specialize.forward_backward import Forward
from sdgrad.specialize.nested_calls import spliced
from sdgrad.specialize.prepared_calls import MISSING, PreparedCalls
from sdgrad.specialize.pushed import Pushed
from sdgrad.specialize.signature import Signature
from sdgrad.specialize.transpose import linear_map
from sdgrad.specialize.verification import verified


@short
def jvp(
    f: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any], *, batched: bool = False, **kwargs: Any
) -> tuple[R, R]:
    """Return ``f``'s outputs, and their derivative in the direction of ``tangents``, computed together in one pass.

    :param f: a NumPy-style function or a ``@dace.program``.
    :param primals: its positional arguments.
    :param tangents: one tangent for each, of its shape; None where an argument is not moved (integers must not be).
    :param batched: tangents have one more axis in front, and so have the derivatives: many directions in one call.
    :param kwargs: arguments of ``f`` that are constants.
    :returns: ``(outputs, output_tangents)``: one array each for one output, tuples for several.
    :raises ArgumentError: a tangent is missing, has another shape, or belongs to an argument that is no float.
    :raises DifferentiationError: with every reason why ``f`` cannot be differentiated.
    """
    _check_tangents(primals, tangents)
    if type(f) is FunctionType and not batched and not kwargs:
        prepared = _prepared.setdefault(f, PreparedCalls())
        forget_oldest(MOST_FUNCTIONS, _prepared)
        return _pushed(f, tuple(primals), tuple(tangents), prepared)
    return _pushed(f, primals, tangents, None, batched, kwargs)


_prepared: dict[Any, PreparedCalls] = {}


def _pushed(
    f: Callable,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    prepared: PreparedCalls | None,
    batched: bool = False,
    kwargs: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Compute what :func:`jvp` does.

    :param prepared: the prepared calls of the function, if calls like this one are prepared.
    """
    if prepared is not None and (found := prepared((primals, tangents), {})) is not MISSING:
        return found
    call = Call.of(f, primals, kwargs or {})
    f, arguments, given = call.f, call.arguments, _given(call, tangents)
    if holds_recorded([primals, tangents]):
        return _recorded(call, given)
    memory, models = placed(arguments) if not batched else (None, arguments)
    signature = Signature.of(f, models, memory is not None)
    outputs = signature.outputs
    if not outputs:
        raise NotScalarError(f"{name_of(f)} returns nothing and writes no argument")
    if batched:
        return _in_directions(f, signature, arguments, given)
    moved = {n: _tangent(t, arguments[n], n, memory) for n, t in given.items()}
    present = {n: _apart(t, arguments) for n, t in moved.items() if n in signature.program.containers}
    request = Request(tuple(present), signature.moving, accumulate=False)
    program = signature.tangent(request)
    named = {tangent_name(n, signature.program): t for n, t in present.items()}
    taken = {**signature.arguments(arguments), **named}
    found = verified(signature, arguments, lambda: run(program, taken, memory))
    values = tuple(signature.output_value(o, found, arguments) for o in outputs)
    dots = tuple(
        signature.output_value(o, {o: found[tangent_name(o, signature.program)]}, arguments) for o in signature.moving
    )
    if prepared is not None and memory is None and not call.is_of_another:
        _prepare(prepared, f, signature, program, tuple(primals), tuple(tangents), tuple(present))
    return signature.nested(values), signature.nested(_with_places(signature, values, dots))


def _prepare(
    prepared: PreparedCalls,
    f: Callable,
    signature: Signature,
    program: CompiledProgram,
    primals: tuple,
    tangents: tuple,
    moved: tuple[str, ...],
) -> None:
    """Prepare calls like one for later ones.

    :param moved: arguments that have tangents in the program.
    """
    shapes = dict(zip(signature.outputs, signature.result_shapes(), strict=True))
    dots = {tangent_name(o, signature.program): shapes[o] for o in signature.moving}
    named = {n: tangent_name(n, signature.program) for n in moved}

    def build(found: list[Any]) -> tuple[Any, Any]:
        values = tuple(found[: len(shapes)])
        return signature.nested(values), signature.nested(_with_places(signature, values, found[len(shapes) :]))

    prepared.push(f, signature, program, primals, tangents, named, {**shapes, **dots}, build)


def _with_places(signature: Signature, values: Sequence[Any], dots: Sequence[Any]) -> list[Any]:
    """Return tangents of outputs; those of sparse matrices have the places of these."""
    left = iter(dots)
    return [v if o in signature.places else next(left) for o, v in zip(signature.outputs, values, strict=True)]


def _given(call: Call, tangents: Sequence[Any]) -> dict[str, Any]:
    """Return the tangents of leaves that are moved."""
    return {n: t for n, t in call.matching(tangents).items() if t is not None}


def _recorded(call: Call, given: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return outputs and their tangents in a function that is recorded."""
    pushed = Pushed(call.f, tuple(call.arguments), tuple(given))
    named = {pushed.tangent(n): t for n, t in given.items()}
    found = spliced(active(), pushed, {**call.arguments, **named})
    signature = Signature.of(call.f, call.examples())
    values, dots = found[: len(signature.outputs)], found[len(signature.outputs) :]
    return signature.nested(values), signature.nested(_with_places(signature, values, dots))


def _check_tangents(primals: Sequence[Any], tangents: Sequence[Any]) -> None:
    """Raise an error unless there is one tangent for each argument."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise ArgumentError("jvp takes a tuple of arguments and a tuple of their tangents")
    if len(primals) != len(tangents):
        raise ArgumentError(f"{len(primals)} arguments, but {len(tangents)} tangents")


def _in_directions(
    f: Callable, signature: Signature, arguments: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Return outputs, and tangents of them with the directions' axis in front."""
    if not given:
        raise ArgumentError("jvp in many directions needs the tangents of an argument")
    count = len(next(iter(given.values())))
    seeds = {n: as_directions(t, arguments[n], count, f"tangents of '{n}'") for n, t in given.items()}
    present = {n: t for n, t in seeds.items() if n in signature.program.containers}
    found = signature.primal()(signature.arguments(arguments))
    values = tuple(signature.output_value(o, found, arguments) for o in signature.outputs)
    moved = Directions(f, tuple(present), "forward").run(arguments, *present.values())
    first = next(iter(arguments.values()))
    dots = tuple(like(d.reshape(count, *np.shape(as_array(v))), first) for d, v in zip(moved, values, strict=True))
    return signature.nested(values), signature.nested(dots)


@short
def linearize(f: Callable[..., R], *primals: Any, **kwargs: Any) -> tuple[R, Callable[..., R]]:
    """Return ``f``'s outputs, and the linear map from tangents of its arguments to tangents of its outputs.

    ``f`` is computed once: the map is the transpose of its backward half, which reads what the forward half has kept.
    (Where the number of a loop's trips is known only afterwards, the map computes ``f`` again.) The arguments are those
    of this call, even if the caller changes the arrays afterwards.

    :returns: ``(outputs, push)``; ``push(*tangents)`` takes one tangent for each argument, None for those that are not
        moved.
    """
    call = Call.of(f, primals, kwargs)
    given = call.arguments
    if holds_recorded([primals, kwargs]):
        return in_place(f, primals, kwargs), works_inside(lambda *tangents: jvp(f, primals, tangents, **kwargs)[1])
    arguments = {n: np.array(as_array(v)) if isinstance(as_array(v), np.ndarray) else v for n, v in given.items()}
    moved = tuple(n for n in call.positional(len(primals)) if dtype_of(arguments[n]).kind in "fc")
    tape = Forward(call.f, moved, None).run(arguments)
    pushed = linear_map(tape)
    signature = tape.signature
    values = [like(np.asarray(v), next(iter(given.values()))) for v in tape.outputs.values()]

    def push(*tangents: Any) -> Any:
        if len(tangents) != len(primals):
            raise ArgumentError(f"{len(primals)} arguments, but {len(tangents)} tangents")
        named = _given(call, tangents)
        if pushed is None:
            leaves = [n for n in arguments if n not in kwargs]
            moved_ones = [named.get(n) for n in leaves]
            constants = {n: v for n, v in kwargs.items() if n not in call.symbols}
            return jvp(call.f, [arguments[n] for n in leaves], moved_ones, **constants)[1]
        checked = {n: _tangent(t, arguments[n], n) for n, t in named.items()}
        dots = pushed({n: t for n, t in checked.items() if n in signature.program.containers})
        whole = _with_places(signature, values, dots)
        shaped = [np.reshape(d, np.shape(as_array(v))) for d, v in zip(whole, values, strict=True)]
        results = [like(d if d.ndim else d[()], next(iter(given.values()))) for d in shaped]
        return signature.nested(results)

    return signature.nested(values), push


@overload
def hvp(f: Callable[..., Any], primals: tuple[First], tangents: Sequence[Any]) -> First: ...


@overload
def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any: ...


@own_keywords
@short
def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the Hessian of a scalar function times a vector, forward over reverse (Pearlmutter 1994).

    :param f: a function that returns one scalar.
    :param primals: its positional arguments.
    :param tangents: one tangent for each, of its shape; None where an argument is not moved (integers must not be).
    :returns: one array for each argument, None for those that are not floating point; the array alone for a single
        argument.
    """
    if not isinstance(primals, (tuple, list)):
        raise ArgumentError("hvp takes a tuple of arguments and a tuple of their tangents")
    real = tuple(k for k, p in enumerate(primals) if is_nest(p) or dtype_of(p).kind in "fc")
    _check_tangents(primals, tangents)
    gradient, prepared = _gradient(f, real)
    _, found = _pushed(gradient, tuple(primals), tuple(tangents), prepared)
    products = dict(zip(real, found if isinstance(found, tuple) else (found,), strict=True))
    return tuple(products.get(k) for k in range(len(primals))) if len(primals) > 1 else products[0]


_gradients: dict[Any, tuple[Callable, PreparedCalls]] = {}


def _gradient(f: Callable, real: tuple[int, ...]) -> tuple[Callable, PreparedCalls | None]:
    """Return the gradient of a function by some arguments, and the prepared calls of :func:`jvp` of it."""
    if type(f) is not FunctionType:
        return grad(f, wrt=real), None
    if (f, real) not in _gradients:
        _gradients[f, real] = grad(f, wrt=real), PreparedCalls()
        forget_oldest(MOST_FUNCTIONS, _gradients)
    return _gradients[f, real]


def _tangent(value: Any, primal: Any, name: str, memory: Memory | None = None) -> Any:
    dtype = dtype_of(primal)
    if dtype.kind not in "fc":
        raise ArgumentError(f"argument '{name}' is {dtype}: only floating-point arguments have tangents; give None")
    return matching(value, primal, f"tangent of '{name}'", memory)


def _apart(tangent: Any, arguments: Mapping[str, Any]) -> Any:
    """Return a tangent in memory of its own, for a function may write the argument that it shares memory with."""
    shares = isinstance(tangent, np.ndarray) and any(
        np.may_share_memory(tangent, a) for a in arguments.values() if isinstance(a, np.ndarray)
    )
    return tangent.copy() if shares else tangent


rule(jvp)(jvp)
rule(linearize)(linearize)
rule(hvp)(hvp)
