"""Make a graph a function: ``from_sdfg``."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dace
import numpy as np
import sympy
from dace import data as dt

from sdgrad.analysis.loop_private import defined_first
from sdgrad.api.forward import ForwardFunction
from sdgrad.canonicalize.normal_form import normalize
from sdgrad.convert.callables import bind_arguments
from sdgrad.errors import ArgumentError, NameNotFound
from sdgrad.program.naming import is_returned
from sdgrad.record.calls import example
from sdgrad.record.functions.arguments import static
from sdgrad.record.graphs import splice_graph
from sdgrad.record.recorder import Recorder


def from_sdfg(sdfg: dace.SDFG, outputs: str | Sequence[str] = ()) -> GraphFunction:
    """Return a graph as a function: to call, to differentiate, and to call in other functions.

    Its parameters are the graph's arguments by their names, in the order of the ``@dace.program`` that it is of, else
    in DaCe's own: arrays, scalars, and symbols. Symbols that are sizes of arrays may be left out. What the graph writes
    of its arguments it writes in place. Each combination of sizes is compiled at its first call, and has a plan of its
    own if there is a ``memory_limit``.

    :param sdfg: the graph. It is copied: what becomes of it later changes nothing.
    :param outputs: arrays whose final content is returned, in this order; a call may leave out those that the graph
        sets as a whole before it reads them. Unless given, what the graph itself returns (``__return``, or
        ``__return_0``, ..).
    :raises ArgumentError: it is no graph, or an output is no array.
    :raises NameNotFound: an output is no argument of the graph.
    """
    if not isinstance(sdfg, dace.SDFG):
        kind = type(sdfg).__name__
        raise ArgumentError(f"a dace.SDFG is wanted, not a {kind}: functions are differentiated as they are")
    names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    for name in names:
        if name not in sdfg.arglist() or name in sdfg.symbols:
            raise NameNotFound("argument", name, [n for n in sdfg.arglist() if n not in sdfg.symbols])
        if not isinstance(sdfg.arrays[name], dt.Array):
            raise ArgumentError(f"'{name}' is a number that the graph '{sdfg.name}' is given: outputs are arrays")
    return GraphFunction(copy.deepcopy(sdfg), names)


@dataclass(eq=False)
class GraphFunction:
    """A graph as a function of its arguments."""

    sdfg: dace.SDFG
    outputs: tuple[str, ...]
    optional: set[str] = field(init=False, repr=False)
    forward: ForwardFunction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.__name__ = self.sdfg.name
        known = [n for n in self.sdfg.arglist() if not is_returned(n)]
        own = [self.sdfg.arrays[n] for n in known if n in self.sdfg.arrays]
        sizes = {str(s) for d in own for n in d.shape for s in sympy.sympify(n).free_symbols} - self.sdfg.arrays.keys()
        declared = [n for n in self.sdfg.arg_names if n in known]
        rest = sorted((n for n in known if n not in declared), key=lambda n: n in sizes)
        self.optional = self._made_whole() | sizes
        self.__signature__ = inspect.Signature(list(_parameters([*declared, *rest], self.optional)))
        self.forward = ForwardFunction(self, inplace=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def _made_whole(self) -> set[str]:
        """Return the outputs that the graph sets as a whole before it reads them."""
        if not self.outputs:
            return set()
        program = normalize(self.sdfg)
        return set(defined_first(program.body, program, self.outputs))

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call in a function that is recorded."""
        given = {n: v for n, v in bind_arguments(self, args, kwargs).items() if v is not None}
        if missing := [n for n in inspect.signature(self).parameters if n not in given and n not in self.optional]:
            raise ArgumentError(f"{self.__name__}: missing a required argument: '{missing[0]}'")
        sizes = _sizes(self.sdfg, given)
        for name in self.outputs:
            if name not in given:
                extents = tuple(int(n.subs(sizes)) for n in map(sympy.sympify, self.sdfg.arrays[name].shape))
                given[name] = recorder.known(np.zeros(extents, self.sdfg.arrays[name].dtype.type))
        found = splice_graph(recorder, self.sdfg, {}, given, own=False)
        results = tuple(given[n] for n in self.outputs)
        return found if not results else results[0] if len(results) == 1 else results


def _parameters(names: Sequence[str], optional: Collection[str]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a function; those behind one that may be left out have a default as well."""
    default: Any = inspect.Parameter.empty
    for name in names:
        default = None if name in optional else default
        yield inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def _sizes(sdfg: dace.SDFG, given: Mapping[str, Any]) -> dict[str, int]:
    """Return the symbols of a graph that are sizes of the arrays that are given, or are given themselves.

    :raises ArgumentError: an argument has another type or shape than the graph takes.
    """
    examples = {n: np.asarray(example(given[n])) for n in sdfg.arrays if n in given}
    for name, value in examples.items():
        _check_type(sdfg, name, value.dtype)
    found: dict[str, int] = {}
    pairs = [(n, sdfg.arrays[n].shape, v.shape) for n, v in examples.items() if isinstance(sdfg.arrays[n], dt.Array)]
    for name, extents, shape in pairs:
        if len(shape) != len(extents) and not (shape == () and tuple(extents) == (1,)):
            raise _wrong_shape(sdfg, name, shape)
        for extent, size in zip(map(sympy.sympify, extents), shape, strict=False):
            if extent.is_Symbol:
                found.setdefault(str(extent), size)
    for name in found.keys() & given.keys():
        if static(given[name]) != found[name]:
            raise ArgumentError(f"'{sdfg.name}' is given {name} = {static(given[name])}, and arrays of {found[name]}")
    for name, extents, shape in pairs:
        own = [sympy.sympify(n).subs(found) for n in extents]
        if any(n.is_Integer and n != size for n, size in zip(own, shape, strict=False)):
            raise _wrong_shape(sdfg, name, shape)
    return {**{n: static(v) for n, v in given.items() if n in sdfg.symbols and n not in found}, **found}


def _check_type(sdfg: dace.SDFG, name: str, dtype: np.dtype) -> None:
    """Check the type of an argument: arrays are written in place, and numbers are rounded at most.

    :raises ArgumentError: it is another one.
    """
    wanted = np.dtype(sdfg.arrays[name].dtype.type)
    is_right = dtype == wanted if isinstance(sdfg.arrays[name], dt.Array) else np.can_cast(dtype, wanted, "same_kind")
    if not is_right:
        raise ArgumentError(f"'{sdfg.name}' takes '{name}' of type {wanted}, found {dtype}")


def _wrong_shape(sdfg: dace.SDFG, name: str, shape: tuple[int, ...]) -> ArgumentError:
    expected = ", ".join(map(str, sdfg.arrays[name].shape))
    return ArgumentError(f"'{sdfg.name}' takes '{name}' of shape ({expected}), found one of shape {shape}")
