"""Call graphs from recorded functions: ``@dace.program``s with constructs of DaCe, and objects that have a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from dace import SDFG
from dace import data as dt
from dace.frontend.python.parser import DaceProgram

from sdgrad.canonicalize.normal_form import normalize
from sdgrad.convert.callables import bind_arguments
from sdgrad.lift.dace_programs import STAMP, as_program, closure_of, parse, stamped
from sdgrad.program.naming import returned
from sdgrad.record.calls import example, splice
from sdgrad.record.elements import typeclass
from sdgrad.record.reads import Stamped
from sdgrad.record.recorder import Recorder
from sdgrad.record.values import Array, Number


def is_graph(function: Any) -> bool:
    """True of objects that DaCe's programs can call because they have a graph."""
    return hasattr(type(function), "__sdfg__") and not isinstance(function, type)


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
        arguments = bind_arguments(function, args, kwargs)
        program = as_program(function, arguments)
        sdfg = parse(program, {n: example(v) for n, v in arguments.items()})
        closure = closure_of(program, sdfg)
        recorder.reads.contents += [Stamped(*s) for s in stamped(program)]
    else:
        names, _ = function.__sdfg_signature__()
        arguments = dict(zip(names, args, strict=False)) | dict(kwargs)
        sdfg = function.__sdfg__(*map(described, args), **{k: described(v) for k, v in kwargs.items()})
        closure = function.__sdfg_closure__()
        if hasattr(function, STAMP):
            recorder.reads.contents.append(Stamped(function, getattr(function, STAMP)()))
    return splice_graph(recorder, sdfg, closure, arguments, own=isinstance(function, DaceProgram))


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
    program = normalize(sdfg, own=own)
    if shapes is None:
        found = [tuple(int(n) for n in program.containers[r].shape) for r in returned(program)]
        shapes = [() if s == (1,) else s for s in found]
    results = splice(recorder, program, closure, arguments, shapes, writes_back=True)
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def described(value: Any) -> Any:
    """Return DaCe's descriptor of a recorded value."""
    if isinstance(value, Array):
        return dt.Array(typeclass(value.dtype), example(value).shape or (1,))
    if isinstance(value, Number):
        return dt.Scalar(typeclass(value.dtype))
    return dt.create_datadescriptor(value) if isinstance(value, np.ndarray) else value
