"""Make a graph a function: ``from_sdfg``."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dace
import numpy as np
import sympy
from dace import data as dt

from sdgrad.api.forward import ForwardFunction
from sdgrad.convert.callables import bind_arguments
from sdgrad.errors import ArgumentError, NameNotFound
from sdgrad.program.naming import is_returned
from sdgrad.record.calls import example
from sdgrad.record.graphs import splice_graph
from sdgrad.record.recorder import Recorder
from sdgrad.record.values import is_recorded


def from_sdfg(sdfg: dace.SDFG, outputs: str | Sequence[str] = ()) -> GraphFunction:
    """Return a graph as a function: to call, to differentiate, and to call in other functions.

    Its parameters are the graph's arguments, in their order, by their names: arrays, scalars, and those symbols that
    are not sizes of arrays. What the graph writes of its arguments it writes in place. Sizes may be symbols; each
    combination of sizes is compiled at its first call, and has the plan of its own if there is a ``memory_limit``.

    :param sdfg: the graph. It is copied: what becomes of it later changes nothing.
    :param outputs: containers whose final content is returned, in this order; an array among them that a call leaves
        out begins as zeros. Unless given, what the graph itself returns (``__return``, or ``__return_0``, ..).
    :raises ArgumentError: it is no graph.
    :raises NameNotFound: an output is no argument of the graph.
    """
    if not isinstance(sdfg, dace.SDFG):
        kind = type(sdfg).__name__
        raise ArgumentError(f"a dace.SDFG is wanted, not a {kind}: functions are differentiated as they are")
    names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    for name in names:
        if name not in sdfg.arglist() or name in sdfg.symbols:
            raise NameNotFound("argument", name, [n for n in sdfg.arglist() if n not in sdfg.symbols])
    return GraphFunction(copy.deepcopy(sdfg), names)


@dataclass(eq=False)
class GraphFunction:
    """A graph as a function of its arguments."""

    sdfg: dace.SDFG
    outputs: tuple[str, ...]
    forward: ForwardFunction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.__name__ = self.sdfg.name
        self.__signature__ = _signature(self.sdfg, self.outputs)
        self.forward = ForwardFunction(self, inplace=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call in a function that is recorded."""
        given = {n: v for n, v in bind_arguments(self, args, kwargs).items() if v is not None}
        sizes = _sizes(self.sdfg, given)
        for name in self.outputs:
            if name not in given:
                extents = tuple(int(n.subs(sizes)) for n in map(sympy.sympify, self.sdfg.arrays[name].shape))
                given[name] = recorder.known(np.zeros(extents, self.sdfg.arrays[name].dtype.type))
        found = splice_graph(recorder, self.sdfg, {}, given, own=False)
        results = tuple(given[n] for n in self.outputs)
        return found if not results else results[0] if len(results) == 1 else results


def _signature(sdfg: dace.SDFG, outputs: Sequence[str]) -> inspect.Signature:
    """Return the parameters of a graph: sizes of arrays, and outputs, may be left out."""
    arguments = {n: d for n, d in sdfg.arglist().items() if not is_returned(n)}
    sizes = {str(s) for d in arguments.values() for n in d.shape for s in sympy.sympify(n).free_symbols}
    optional = {n for n in arguments if n in outputs or n in sizes and n in sdfg.symbols}
    ordered = sorted(arguments, key=lambda n: n in optional)  # those that have to be given come first
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [inspect.Parameter(n, kind, default=None if n in optional else inspect.Parameter.empty) for n in ordered]
    )


def _sizes(sdfg: dace.SDFG, given: Mapping[str, Any]) -> dict[str, int]:
    """Return the symbols of a graph that are sizes of the arrays that are given, or are given themselves.

    :raises ArgumentError: an array has another shape than the graph takes.
    """
    found = {n: int(v) for n, v in given.items() if n in sdfg.symbols and not is_recorded(v)}
    pairs = [(n, d, np.shape(example(given[n]))) for n, d in sdfg.arrays.items() if n in given]
    for name, desc, shape in pairs:
        if isinstance(desc, dt.Array) and len(shape) != len(desc.shape) and not (shape == () and desc.shape == (1,)):
            raise ArgumentError(f"'{sdfg.name}' takes '{name}' of shape {desc.shape}, found one of shape {shape}")
        for extent, size in zip(desc.shape, shape, strict=False):
            if dace.symbolic.issymbolic(extent) and sympy.sympify(extent).is_Symbol:
                found.setdefault(str(extent), size)
    for name, desc, shape in pairs:
        own = [sympy.sympify(n).subs(found) for n in desc.shape]
        if any(n.is_Integer and n != size for n, size in zip(own, shape, strict=False)):
            expected = ", ".join(map(str, desc.shape))
            raise ArgumentError(f"'{sdfg.name}' takes '{name}' of shape ({expected}), found one of shape {shape}")
    return found
