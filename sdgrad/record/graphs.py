"""Call graphs from recorded functions: ``@dace.program``s with constructs of DaCe, and objects that have a graph."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dace
import numpy as np
from dace import SDFG
from dace import data as dt
from dace.frontend.python.parser import DaceProgram

from sdgrad.canonicalize.normal_form import normalize
from sdgrad.convert.callables import bind_arguments
from sdgrad.lift.dace_functions import OF_SYMBOLS, sizes_of
from sdgrad.lift.dace_programs import STAMP, Stamped, as_program, closure_of, parse, stamped
from sdgrad.lift.symbol_values import symbols_passed, with_attribute
from sdgrad.program.naming import returned
from sdgrad.record.calls import example, has_open_size, splice
from sdgrad.record.elements import typeclass
from sdgrad.record.graph_checks import with_checks
from sdgrad.record.index_limits import checks_indices
from sdgrad.record.recorder import Recorder
from sdgrad.record.values import Array, Number


def is_graph(function: Any) -> bool:
    """True of objects that DaCe's programs can call because they have a graph."""
    return hasattr(type(function), "__sdfg__") and not isinstance(function, type)


def of_dace(value: Any, sizes: Mapping[str, Any]) -> Any:
    """Return what something of DaCe's means in a function: a symbol its size, a type that of NumPy."""
    if isinstance(value, dace.symbolic.symbol):
        return sizes.get(value.name, value)
    return value.as_numpy_dtype().type if type(value) is dace.dtypes.typeclass else value


@contextlib.contextmanager
def sized(recorder: Recorder, sizes: Mapping[str, int]) -> Iterator[None]:
    """Let DaCe's symbols be these numbers for the time of a call."""
    before, recorder.sizes = recorder.sizes, {**recorder.sizes, **sizes}
    try:
        yield
    finally:
        recorder.sizes = before


def call_graph(recorder: Recorder, function: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
    """Record a call of an object that has a graph, and return its results: one, or a tuple."""
    if isinstance(function, DaceProgram):
        symbols = symbols_passed(function, kwargs)
        given = bind_arguments(function, args, {n: v for n, v in kwargs.items() if n not in symbols})
        program, known = _program(function, given)
        sdfg = parse(program, {n: example(v) for n, v in known.items()})
        closure, arguments = closure_of(program, sdfg), {**given, **symbols}
        recorder.reads.contents += stamped(program)
    else:
        names, _ = function.__sdfg_signature__()
        arguments = dict(zip(names, args, strict=False)) | dict(kwargs)
        sdfg = function.__sdfg__(*map(described, args), **{k: described(v) for k, v in kwargs.items()})
        closure = function.__sdfg_closure__()
        if hasattr(function, STAMP):
            recorder.reads.contents.append(Stamped.of(function))
    return splice_graph(recorder, sdfg, closure, arguments, own=isinstance(function, DaceProgram))


def _program(function: DaceProgram, arguments: Mapping[str, Any]) -> tuple[DaceProgram, Mapping[str, Any]]:
    """Return a program for arguments like these, and those of them that decide their types.

    If a loop changes sizes of arguments, their annotations do, and symbols in these stay symbols.
    """
    if function.objname is not None or not any(map(has_open_size, arguments.values())):
        return as_program(function, arguments), arguments
    annotated = inspect.get_annotations(function.f)
    known = {n: v for n, v in arguments.items() if not isinstance(annotated.get(n), dt.Array)}
    sizes = sizes_of(function, {n: v for n, v in arguments.items() if not has_open_size(v)})
    return dace.program(with_attribute(function.f, getattr(function.f, OF_SYMBOLS, {}) | sizes)), known


def splice_graph(
    recorder: Recorder,
    sdfg: SDFG,
    closure: Mapping[str, Any],
    arguments: Mapping[str, Any],
    shapes: Sequence[tuple[int, ...]] | None = None,
    own: bool = True,
) -> Any:
    """Record a graph, and return its results: one, or a tuple.

    :param shapes: of the results; unless given, arrays of one element are numbers.
    :param own: nobody else has the graph: it may be changed.
    """
    graph, checks = with_checks(sdfg) if checks_indices(recorder) else (sdfg, {})
    program = normalize(graph, own=own or bool(checks))
    known = shapes if shapes is not None else [_shape(program.containers[r].shape) for r in returned(program)]
    results = splice(recorder, program, {**closure, **checks}, arguments, known, writes_back=True)
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def _shape(extents: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the shape of a result, () for one element; None if sizes of arguments decide it."""
    if any(dace.symbolic.issymbolic(n) for n in extents):
        return None
    found = tuple(int(n) for n in extents)
    return () if found == (1,) else found


def described(value: Any) -> Any:
    """Return DaCe's descriptor of a recorded value."""
    if isinstance(value, Array):
        return dt.Array(typeclass(value.dtype), example(value).shape or (1,))
    if isinstance(value, Number):
        return dt.Scalar(typeclass(value.dtype))
    return dt.create_datadescriptor(value) if isinstance(value, np.ndarray) else value
