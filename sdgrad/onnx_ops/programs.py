"""Operators called in programs: ``y = onnx_ops.ONNXSoftmax(x, axis=1)`` in a function that DaCe's frontend reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dace
import numpy as np
import onnx
from dace.frontend.common import op_repository
from onnx import defs

from sdgrad.errors import ParseError
from sdgrad.onnx_ops.nodes import NODES, ONNXOp, connectors, described, newest_opsets
from sdgrad.record.elements import Declined, typeclass


def _callable(kind: type[ONNXOp]) -> Callable:
    def call(visitor: Any, sdfg: dace.SDFG, state: dace.SDFGState, *args: Any, **kwargs: Any) -> Any:
        """Operands by position or by the schema's names; attributes by name.

        Results come back, in arrays of their own; those that are given by the schema's names are written instead.
        """
        schema = defs.get_schema(kind.kind, kind.domain)
        attributes = {k: kwargs.pop(k) for k in list(kwargs) if k in schema.attributes}
        formal = [p.name for p in schema.inputs]
        named = {n: kwargs.pop(n) for n in formal if n in kwargs}
        targets = {p.name: kwargs.pop(p.name) for p in schema.outputs if p.name in kwargs}
        if kwargs:
            raise ParseError(f"{kind.__name__} has no operand or attribute {', '.join(kwargs)}")
        given = [*args, *(named.get(n) for n in formal[len(args) :])]
        while given and given[-1] is None:
            given.pop()
        made = [p.name if k == 0 or p.name in targets else "" for k, p in enumerate(schema.outputs)]
        inputs = [f"operand_{k}" if value is not None else "" for k, value in enumerate(given)]
        node = onnx.helper.make_node(kind.kind, inputs, made, domain=kind.domain, **attributes)
        opsets = newest_opsets(kind.domain, schema)
        takes, gives = connectors(node, schema)
        arrays = {c: v for c, v in zip(takes, given, strict=True) if isinstance(v, str) and v in sdfg.arrays}
        known = {c: np.asarray(v) for c, v in zip(takes, given, strict=True) if c and c not in arrays}
        call_node = ONNXOp.of(node, opsets, known, list(arrays))
        try:
            found = call_node.recorded({c: described(sdfg.arrays[n]) for c, n in arrays.items()})
        except Declined as reason:
            raise ParseError(f"{kind.__name__}: {reason}") from reason
        state.add_node(call_node)
        for connector, name in arrays.items():
            memlet = dace.Memlet.from_array(name, sdfg.arrays[name])
            state.add_edge(state.add_read(name), None, call_node, connector, memlet)
        results: list[str] = []
        for connector, output in zip(gives, made, strict=True):
            if not connector:
                continue
            shape, dtype = found.results[connector]
            name = targets.get(output, "")
            if not name:
                name, _ = sdfg.add_temp_transient(list(shape) or [1], typeclass(dtype))
                results.append(name)
            memlet = dace.Memlet.from_array(name, sdfg.arrays[name])
            state.add_edge(call_node, connector, state.add_write(name), None, memlet)
        return results[0] if len(results) == 1 else tuple(results)

    return call


for _kind in NODES.values():
    op_repository.replaces(f"sdgrad.onnx_ops.{_kind.__name__}")(_callable(_kind))
