"""Compute derivatives in directions: ``jvp``, ``linearize`` and ``hvp``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sdgrad.api.gradient import grad
from sdgrad.autodiff.forward import tangent_name
from sdgrad.autodiff.request import Request
from sdgrad.convert.callables import bind_arguments, name_of
from sdgrad.errors import ArgumentError, NotScalarError
from sdgrad.runtime.call.device_arrays import Memory, dtype_of, matching, placed, run
from sdgrad.runtime.call.marshalling import as_array, like
from sdgrad.specialize.directions import Directions, as_directions
from sdgrad.specialize.forward_backward import Forward
from sdgrad.specialize.signature import Signature
from sdgrad.specialize.transpose import linear_map


def jvp(
    f: Callable, primals: Sequence[Any], tangents: Sequence[Any], *, batched: bool = False, **kwargs: Any
) -> tuple[Any, Any]:
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
    arguments = bind_arguments(f, tuple(primals), kwargs)
    memory, models = placed(arguments) if not batched else (None, arguments)
    signature = Signature.of(f, models, memory is not None)
    outputs = signature.outputs
    if not outputs:
        raise NotScalarError(f"{name_of(f)} returns nothing and writes no argument")
    given = {n: t for n, t in zip(arguments, tangents, strict=False) if t is not None}
    if batched:
        return _in_directions(f, signature, arguments, given)
    moved = {n: _tangent(t, arguments[n], n, memory) for n, t in given.items()}
    present = {n: t for n, t in moved.items() if n in signature.program.containers}
    request = Request(tuple(present), outputs, accumulate=False)
    program = signature.tangent(request)
    named = {tangent_name(n, signature.program): t for n, t in present.items()}
    found = run(program, {**signature.arguments(arguments), **named}, memory)
    values = tuple(signature.output_value(o, found, arguments) for o in outputs)
    dots = tuple(signature.output_value(o, {o: found[tangent_name(o, signature.program)]}, arguments) for o in outputs)
    return (values[0], dots[0]) if len(outputs) == 1 else (values, dots)


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
    return (values[0], dots[0]) if len(values) == 1 else (values, dots)


def linearize(f: Callable, *primals: Any, **kwargs: Any) -> tuple[Any, Callable]:
    """Return ``f``'s outputs, and the linear map from tangents of its arguments to tangents of its outputs.

    ``f`` is computed once: the map is the transpose of its backward half, which reads what the forward half has kept.
    (Where the number of a loop's trips is known only afterwards, the map computes ``f`` again.) The arguments are those
    of this call, even if the caller changes the arrays afterwards.

    :returns: ``(outputs, push)``; ``push(*tangents)`` takes one tangent for each argument, None for those that are not
        moved.
    """
    saved = tuple(np.array(as_array(x)) if isinstance(as_array(x), np.ndarray) else x for x in primals)
    arguments = bind_arguments(f, saved, kwargs)
    given = bind_arguments(f, primals, kwargs)
    moved = tuple(n for n in list(arguments)[: len(primals)] if np.asarray(arguments[n]).dtype.kind in "fc")
    tape = Forward(f, moved, None).run(arguments)
    pushed = linear_map(tape)
    signature, names = tape.signature, list(arguments)[: len(primals)]
    values = [like(np.asarray(v), next(iter(given.values()))) for v in tape.outputs.values()]

    def push(*tangents: Any) -> Any:
        if len(tangents) != len(names):
            raise ArgumentError(f"{len(names)} arguments, but {len(tangents)} tangents")
        if pushed is None:
            return jvp(f, saved, tangents, **kwargs)[1]
        named = {n: t for n, t in zip(names, tangents, strict=True) if t is not None}
        checked = {n: _tangent(t, arguments[n], n) for n, t in named.items()}
        dots = pushed({n: t for n, t in checked.items() if n in signature.program.containers})
        shaped = [d.reshape(np.shape(as_array(v))) for d, v in zip(dots, values, strict=True)]
        results = [like(d if d.ndim else d[()], next(iter(given.values()))) for d in shaped]
        return results[0] if len(results) == 1 else tuple(results)

    return (values[0] if len(values) == 1 else tuple(values)), push


def hvp(f: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the Hessian of a scalar function times a vector, forward over reverse (Pearlmutter 1994).

    :param f: a function of floating-point arguments that returns one scalar.
    :param primals: its positional arguments.
    :param tangents: one tangent for each, of its shape.
    :returns: one array for each argument; the array alone for a single argument.
    """
    if not isinstance(primals, (tuple, list)):
        raise ArgumentError("hvp takes a tuple of arguments and a tuple of their tangents")
    _, found = jvp(grad(f, wrt=tuple(range(len(primals)))), primals, tangents)
    products = found if len(primals) > 1 else (found,)
    shaped = tuple(p.reshape(np.shape(as_array(x))) for p, x in zip(products, primals, strict=True))
    return shaped if len(primals) > 1 else shaped[0]


def _tangent(value: Any, primal: Any, name: str, memory: Memory | None = None) -> Any:
    dtype = dtype_of(primal)
    if dtype.kind not in "fc":
        raise ArgumentError(f"argument '{name}' is {dtype}: only floating-point arguments have tangents; give None")
    return matching(value, primal, f"tangent of '{name}'", memory)
