"""Map functions whose program depends on the values of mapped arguments: one program for each of these.

Truth values, texts, and integers of which Python needs the value (keys, sizes, positions in lists) are such values. The
elements that have them in common are computed by one call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from sdgrad.convert.callables import name_of
from sdgrad.errors import ArgumentError
from sdgrad.record.checks import require_of_function
from sdgrad.record.recorder import Recorder
from sdgrad.record.restart import Fits
from sdgrad.record.values import is_recorded
from sdgrad.runtime.call.marshalling import as_array, is_tensor, like
from sdgrad.specialize.nested_calls import known_value, recorded_example, spliced
from sdgrad.specialize.signature import Signature
from sdgrad.symbolic.expr import sym

Results = list[Any]


def mapped_results(mapped: Any, arguments: Mapping[str, Any]) -> Results:
    """Return the results of a mapped function, the axis of the elements in front."""
    deciding = mapped.deciding(arguments)
    if not deciding:
        return _run(mapped, arguments)
    plain = {n: as_array(v) for n, v in arguments.items()}
    groups = _grouped(mapped, {n: plain[n] for n in deciding}, plain, mapped_results, _run_once)
    tensor = next((v for v in arguments.values() if is_tensor(v)), None)
    return [r if tensor is None else like(r, tensor) for r in _in_order(groups)]


def recorded_results(recorder: Recorder, mapped: Any, arguments: Mapping[str, Any]) -> Results:
    """Return the results of a mapped function that a recorded one calls."""
    examples = {n: recorded_example(v) for n, v in arguments.items()}
    deciding = mapped.deciding(examples)
    if not deciding:
        _require(recorder, mapped.inner(examples).fits, arguments)
        return spliced(recorder, mapped, arguments)
    contents = {n: known_value(arguments[n]) if is_recorded(arguments[n]) else arguments[n] for n in deciding}

    def run(part: Any, given: Mapping[str, Any]) -> Results:
        return recorded_results(recorder, part, given)

    return _in_order(_grouped(mapped, contents, arguments, run, _refuse))


def _require(recorder: Recorder, taken: Sequence[Fits], arguments: Mapping[str, Any]) -> None:
    """Record that what was taken to hold of one element does of all: integers index what they do, say."""
    for fits in taken:
        names = [n for _, n in fits.symbols]
        values = (arguments[n] for n in names)
        bound, extent = sympy.lambdify([sym(s) for s, _ in fits.symbols], [fits.bound, fits.extent], "numpy")(*values)
        inside = np.all(np.logical_and(np.greater_equal(bound, 0), np.less_equal(bound, extent)))
        told = f"an element of {', '.join(names)}, which vmap maps over, lies outside of what it indexes"
        require_of_function(recorder, inside, IndexError(told))


def _run(mapped: Any, arguments: Mapping[str, Any]) -> Results:
    values = _computed(Signature.of(mapped, arguments), arguments)
    return [v.reshape(s) for v, s in zip(values, mapped.shapes(arguments), strict=True)]


def _computed(signature: Signature, arguments: Mapping[str, Any]) -> Results:
    found = signature.primal()(signature.arguments(arguments))
    return [signature.output_value(o, found, arguments) for o in signature.outputs]


def _run_once(f: Any, arguments: Mapping[str, Any], count: int) -> Results:
    """Return the results of a function of which nothing is mapped, for each of some elements."""
    signature = Signature.of(f, arguments)
    values = map(np.asarray, _computed(signature, arguments))
    return [np.repeat(v.reshape(1, *s), count, 0) for v, s in zip(values, signature.result_shapes(), strict=True)]


def _refuse(f: Any, arguments: Mapping[str, Any], count: int) -> Results:
    raise ArgumentError(
        f"vmap({name_of(f)}), inside of a function, over nothing but values that decide what is computed (truth "
        "values, keys, sizes): write a loop over them"
    )


def _grouped(
    mapped: Any,
    contents: Mapping[str, np.ndarray],
    arguments: Mapping[str, Any],
    run: Callable[[Any, Mapping[str, Any]], Results],
    run_once: Callable[[Any, Mapping[str, Any], int], Results],
) -> list[tuple[list[int], Results]]:
    """Return the results of the elements that have the same values, with their positions.

    :param contents: the values that decide.
    :param run: computes results of elements; ``run_once`` those of one element, where nothing else is mapped.
    """
    groups: dict[Hashable, list[int]] = {}
    for k in range(mapped.count(arguments)):
        key = tuple(np.asarray(v[k]).tobytes() for v in contents.values())
        groups.setdefault(key, []).append(k)
    rest = tuple(n for n in mapped.mapped if n not in contents)
    found = []
    for places in groups.values():
        given = {n: v[np.array(places)] if n in rest else v for n, v in arguments.items()}
        given |= {n: v[places[0]] for n, v in contents.items()}
        part = mapped.over(rest)
        found.append((places, run(part, given) if rest else run_once(mapped.f, given, len(places))))
    return found


def _in_order(groups: Sequence[tuple[list[int], Results]]) -> Results:
    """Return results in the order of the elements.

    :raises ArgumentError: they have different shapes.
    """
    order = np.argsort(np.concatenate([np.array(places) for places, _ in groups]))
    for parts in zip(*(results for _, results in groups), strict=True):
        if len({tuple(p.shape[1:]) for p in parts}) > 1:
            told = " and ".join(str(tuple(p.shape[1:])) for p in parts)
            raise ArgumentError(f"results of vmap have the shapes {told} for different elements: they have no array")
    return [np.concatenate(parts)[order] for parts in zip(*(results for _, results in groups), strict=True)]
