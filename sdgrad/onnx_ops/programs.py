"""Call operators in programs: ``y = onnx_ops.ONNXSoftmax(x, axis=1)`` in a function, or in a ``@dace.program``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dace
import numpy as np
import onnx
from dace.frontend.common import op_repository
from onnx import defs

from sdgrad.errors import ParseError
from sdgrad.onnx_ops.nodes import NODES, ONNXOp, described, newest_opsets
from sdgrad.onnx_ops.recording import Operands, connectors
from sdgrad.program.naming import result_names
from sdgrad.record.elements import Declined, typeclass
from sdgrad.record.functions.table import all_known, content
from sdgrad.record.graphs import described as described_value
from sdgrad.record.graphs import splice_graph
from sdgrad.record.recorder import Recorder
from sdgrad.record.values import is_recorded


def _callable(kind: type[ONNXOp]) -> Callable:
    """Return the function by which DaCe's frontend makes a node of this kind."""

    def call(visitor: Any, sdfg: dace.SDFG, state: dace.SDFGState, *args: Any, **kwargs: Any) -> Any:
        names, _ = _added(kind, sdfg, state, args, kwargs)
        return names[0] if len(names) == 1 else tuple(names)

    return call


def _added(
    kind: type[ONNXOp],
    sdfg: dace.SDFG,
    state: dace.SDFGState,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    line: str = "",
) -> tuple[list[str], list[tuple[int, ...]]]:
    """Add a node to a graph, and return the names and the shapes of its results.

    Operands come by position or by the schema's names, attributes by name. Results are arrays of their own; those that
    are given by the schema's names are written instead.

    :param line: of the call, as ``file:number``.
    """
    schema = defs.get_schema(kind.kind, kind.domain)
    given, attributes, targets = _sorted_out(kind, schema, args, kwargs)
    made = [p.name if k == 0 or p.name in targets else "" for k, p in enumerate(schema.outputs)]
    inputs = [f"operand_{k}" if value is not None else "" for k, value in enumerate(given)]
    node = onnx.helper.make_node(kind.kind, inputs, made, domain=kind.domain, doc_string=line, **attributes)
    takes, gives = connectors(node, schema)
    arrays = {c: v for c, v in zip(takes, given, strict=True) if isinstance(v, str) and v in sdfg.arrays}
    known = {c: np.asarray(v) for c, v in zip(takes, given, strict=True) if c and c not in arrays}
    call_node = ONNXOp.of(node, newest_opsets(kind.domain, schema), known, list(arrays))
    try:
        found = call_node.recorded({c: described(sdfg.arrays[n]) for c, n in arrays.items()})
    except Declined as reason:
        raise ParseError(f"{kind.__name__}: {reason}") from reason
    state.add_node(call_node)
    for connector, name in arrays.items():
        memlet = dace.Memlet.from_array(name, sdfg.arrays[name])
        state.add_edge(state.add_read(name), None, call_node, connector, memlet)
    into = {c: targets.get(output, "") for c, output in zip(gives, made, strict=True) if c}
    names = _written(sdfg, state, call_node, into, found.results)
    return names, [tuple(found.results[c][0]) for c, written in into.items() if not written]


def record_call(kind: type[ONNXOp], recorder: Recorder, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Record a call of an operator in a function that is recorded; operands of known content are constants."""
    graph, arguments = dace.SDFG(kind.__name__.lower()), dict[str, Any]()
    state = graph.add_state()

    def entered(value: Any) -> Any:
        if not is_recorded(value) or all_known(value):
            return content(value)
        name = f"operand_{len(arguments)}"
        arguments[name] = value
        graph.add_datadesc(name, described_value(value))
        return name

    where = recorder.where()
    given, named = [*map(entered, args)], {k: entered(v) for k, v in kwargs.items()}
    names, shapes = _added(kind, graph, state, given, named, f"{where.file}:{where.line}")
    for name, result in zip(names, result_names(names), strict=True):
        graph.replace(name, result)
        graph.arrays[result].transient = False
    return splice_graph(recorder, graph, {}, arguments, shapes)


def _sorted_out(
    kind: type[ONNXOp], schema: defs.OpSchema, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any], dict[str, str]]:
    """Return the arguments of a call as operands in order, attributes, and arrays for results."""
    attributes = {k: kwargs.pop(k) for k in list(kwargs) if k in schema.attributes}
    formal = [p.name for p in schema.inputs]
    named = {n: kwargs.pop(n) for n in formal if n in kwargs}
    targets = {p.name: kwargs.pop(p.name) for p in schema.outputs if p.name in kwargs}
    if kwargs:
        raise ParseError(f"{kind.__name__} has no operand or attribute {', '.join(kwargs)}")
    given = [*args, *(named.get(n) for n in formal[len(args) :])]
    while given and given[-1] is None:
        given.pop()
    return given, attributes, targets


def _written(
    sdfg: dace.SDFG, state: dace.SDFGState, node: ONNXOp, into: Mapping[str, str], results: Operands
) -> list[str]:
    """Connect the results of a node to arrays, and return the names of those that are new."""
    new: list[str] = []
    for connector, name in into.items():
        shape, dtype = results[connector]
        if not name:
            name, _ = sdfg.add_temp_transient(list(shape) or [1], typeclass(dtype))
            new.append(name)
        memlet = dace.Memlet.from_array(name, sdfg.arrays[name])
        state.add_edge(node, connector, state.add_write(name), None, memlet)
    return new


for _kind in NODES.values():
    op_repository.replaces(f"sdgrad.onnx_ops.{_kind.__name__}")(_callable(_kind))
    _kind.record_call = functools.partial(record_call, _kind)
