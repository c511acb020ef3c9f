"""Give DaCe's parser the functions that are recorded and that it has none of: ``np.linalg.det`` in a ``@dace.program``.

A call becomes a nested graph with copies of its results, functions that return views in NumPy included. Functions that
write an argument are left out. The functions are DaCe's only while it parses for sdgrad
(:mod:`sdgrad.lift.frontend_functions`); its own calls of other programs mean what they mean without sdgrad.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import dace
import dace.frontend.python.replacements  # noqa: F401  (its own functions come first)
import numpy as np
import scipy.fft
import scipy.linalg
import scipy.special
import sympy
from dace import data as dt
from dace.frontend.common import op_repository
from dace.frontend.python.common import StringLiteral

from sdgrad.canonicalize.normal_form import in_normal_form
from sdgrad.errors import ParseError
from sdgrad.lift import frontend_functions
from sdgrad.program.emit import emit
from sdgrad.program.naming import own_arguments, returned
from sdgrad.program.passes import Target
from sdgrad.program.tree import Program
from sdgrad.record.function import record
from sdgrad.record.functions import detached
from sdgrad.record.functions.table import FUNCTIONS, METHODS
from sdgrad.record.libraries import is_hashable
from sdgrad.record.nests import OfLeaves

MODULES = {
    "numpy": np,
    "numpy.linalg": np.linalg,
    "numpy.fft": np.fft,
    "scipy.fft": scipy.fft,
    "scipy.special": scipy.special,
    "scipy.linalg": scipy.linalg,
    "math": math,
    "sdgrad": detached,
}
WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask", "fill"}
"""Functions that write an argument."""
NARROW = {"numpy.fft.fft", "numpy.fft.ifft"}
"""Functions that DaCe has for vectors only."""
CONTAINERS = ("Array", "View", "Scalar")


@dataclass(frozen=True)
class Called(OfLeaves):
    """A call as a function of the arrays among its arguments, by the names of their containers."""

    args: tuple = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def whole(self, leaves: Mapping[str, Any]) -> tuple[tuple, dict[str, Any]]:
        return _filled(self.args, leaves), {k: _filled(v, leaves) for k, v in self.kwargs.items()}


def _filled(value: Any, leaves: Mapping[str, Any]) -> Any:
    """Return an argument of DaCe's parser with values in place of names of containers, and NumPy's types."""
    if isinstance(value, StringLiteral):
        return value.value
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(v, leaves) for v in value)
    if isinstance(value, dace.dtypes.typeclass):
        return value.as_numpy_dtype()
    if isinstance(value, sympy.Integer):
        return int(value)
    return leaves.get(str(value), value) if isinstance(value, (str, sympy.Basic)) else value


def _operands(value: Any, sdfg: dace.SDFG, label: str) -> Iterator[tuple[str, Any]]:
    """Yield the containers and the expressions over symbols that an argument mentions, and what they are."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _operands(part, sdfg, label)
    elif isinstance(value, sympy.Basic) and not value.is_Integer:
        yield str(value), value
    elif isinstance(value, str) and value in sdfg.arrays:
        desc = sdfg.arrays[value]
        if isinstance(desc, dt.Scalar) and np.dtype(desc.dtype.type).kind in "iu":
            raise ParseError(f"{label}: '{value}' is an integer that only a run knows: make it a symbol of DaCe")
        yield value, desc if isinstance(desc, dt.Scalar) else dt.Array(desc.dtype, desc.shape)


def _single(argument: Any) -> Any:
    """Return an argument; the parser hands the result of a call over as a list of one."""
    return argument[0] if isinstance(argument, list) and len(argument) == 1 else argument


def _replacement(function: Callable, label: str) -> Callable:
    """Return the function by which DaCe's parser records a call."""

    def call(visitor: Any, sdfg: dace.SDFG, state: dace.SDFGState, *args: Any, **kwargs: Any) -> Any:
        given, named = tuple(map(_single, args)), {k: _single(v) for k, v in kwargs.items()}
        operands = dict(_operands([*given, *named.values()], sdfg, label))
        try:
            found = record(Called(function, tuple(operands), (), given, named), operands, of_rule=True)
        except ParseError as error:
            hint = "not every function takes sizes that are symbols: annotate arrays with numbers"
            raise ParseError(f"{label}: {error}{f'; {hint}' if visitor.sdfg.free_symbols else ''}") from error
        if found.closure:
            raise ParseError(f"{label}: it reads arrays that are no arguments")
        program = in_normal_form(found.program, Target(python=True))
        bound = {n: _dense(visitor, sdfg, n) for n in own_arguments(program)}
        results = [_new(visitor, sdfg, program.containers[r].desc) for r in returned(program)]
        _nest(visitor, sdfg, program, {**bound, **dict(zip(returned(program), results, strict=True))})
        return results[0] if len(results) == 1 else tuple(results)

    return call


def _new(visitor: Any, sdfg: dace.SDFG, desc: dt.Data) -> str:
    """Return the name of new memory of a type and a shape."""
    return sdfg.add_transient(visitor.get_target_name(), desc.shape, desc.dtype, find_new_name=True)[0]


def _dense(visitor: Any, sdfg: dace.SDFG, name: str) -> str:
    """Return a container whose elements are one after the other: itself, or a copy."""
    desc = sdfg.arrays[name]
    if isinstance(desc, dt.Scalar) or tuple(desc.strides) == tuple(dt.Array(desc.dtype, desc.shape).strides):
        return name
    copied, state = _new(visitor, sdfg, desc), visitor._add_state("copy")
    memlet = dace.Memlet.from_array(name, desc)
    state.add_edge(state.add_read(name), None, state.add_write(copied), None, memlet)
    return copied


def _nest(visitor: Any, sdfg: dace.SDFG, program: Program, bound: Mapping[str, str]) -> None:
    """Add a state with a program as a nested graph."""
    graph, state = emit(program), visitor._add_state("call")
    for name, (desc, value) in program.constants.items():
        sdfg.add_constant(name, value, desc)
    results = {n for n in bound if n in returned(program)}
    symbols = {s: s for s in map(str, graph.free_symbols) if s not in graph.arrays}
    node = state.add_nested_sdfg(graph, set(bound) - results, results, symbols)
    for inner, outer in bound.items():
        memlet = dace.Memlet.from_array(outer, sdfg.arrays[outer])
        if inner in results:
            state.add_edge(node, inner, state.add_write(outer), None, memlet)
        else:
            state.add_edge(state.add_read(outer), None, node, inner, memlet)


def _register() -> None:
    known = op_repository.Replacements
    for module, owner in MODULES.items():
        for name in dir(owner):
            function: Any = getattr(owner, name, None)
            label = f"{module}.{name}"
            missing = label in NARROW or known.get(label) is None
            if is_hashable(function) and function in FUNCTIONS and name not in WRITING and missing:
                entry = _replacement(function, label)
                if module == "sdgrad":  # no name that others give a meaning
                    op_repository.replaces(label)(entry)
                else:
                    frontend_functions.FUNCTIONS[label] = entry
    for name in METHODS.keys() - WRITING - {"sort", "partition", "resize"}:
        for container in CONTAINERS:
            if known.get_method(container, name) is None:
                method = functools.partial(_method, name)
                frontend_functions.METHODS[container, name] = _replacement(method, f"ndarray.{name}")


def _method(name: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    return getattr(array, name)(*args, **kwargs)


_register()
