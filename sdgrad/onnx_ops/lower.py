"""Lower a node of a model, or a graph of them, to a program: by its lowering, or by the standard's definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import onnx

from sdgrad.onnx_ops import families  # noqa: F401  (registers the lowerings)
from sdgrad.onnx_ops.derivatives import with_adjoint
from sdgrad.onnx_ops.fold import folded
from sdgrad.onnx_ops.index_checks import with_checked_indices
from sdgrad.onnx_ops.registry import Operation, find_adjoint, find_lowering, plain_domain
from sdgrad.onnx_ops.sizes import check_axes, check_sizes, misfit
from sdgrad.record.builder import LARGEST_CONSTANT, Builder, is_uniform
from sdgrad.record.elements import Declined, Unknown
from sdgrad.record.tensors import ShapesDiffer, Tensor


def lower(b: Builder, op: Operation, inputs: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Record an operator, and return its results; None for those that are not asked for.

    :raises Declined: it has no lowering, or none for this case.
    """
    constants = folded(op, inputs)
    if constants is not None and all(c.size <= LARGEST_CONSTANT or is_uniform(c) for c in constants):
        return [b.constant(c) for c in constants]  # a mask of every position, say, is computed where it is used
    own = op.functions.get((op.domain, op.kind))
    if own is not None:
        return lower_function(b, op, inputs, own)
    op = replace(_as_precise(op, inputs), record_graph=lower_graph)
    rule = find_lowering(op) or partial(lower_function, function=standard_definition(op, inputs))
    adjoint = find_adjoint(op)
    check_axes(op, inputs)
    check_sizes(op, inputs)
    if op.kind in WIDE and not op.domain and any(x is not None and x.dtype == np.float16 for x in inputs):
        return _in_single_precision(b, op, inputs)
    inputs = with_checked_indices(b, op, inputs)
    try:
        return with_adjoint(b, op, inputs, rule, adjoint) if adjoint is not None else rule(b, op, inputs)
    except ShapesDiffer as error:
        raise misfit(op, inputs) from error


WIDE = frozenset(
    {f"Reduce{name}" for name in ("Mean", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")}
    | {f"{name}Normalization" for name in ("Batch", "Instance", "Group", "MeanVariance", "Lp")}
    | {"AveragePool", "GlobalAveragePool", "LpPool", "GlobalLpPool"}
)
"""Operators whose sums, squares or exponentials leave the range of half precision where their results do not."""


def _in_single_precision(b: Builder, op: Operation, inputs: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Record an operator on half precision in single precision; the results are of half precision again."""
    half = [x is not None and x.dtype == np.float16 for x in inputs]
    wide = [x.astype(np.float32) if h and x is not None else x for h, x in zip(half, inputs, strict=True)]
    found = lower(b, op, wide)
    kept = {k for k in range(1, len(found)) if not all(h for h, x in zip(half, inputs, strict=True) if x is not None)}
    return [
        r.astype(np.float16) if r is not None and r.dtype == np.float32 and k not in kept else r
        for k, r in enumerate(found)
    ]


def _as_precise(op: Operation, inputs: Sequence[Tensor | None]) -> Operation:
    """Keep double precision: the attribute for the type of moments is made for lower precisions."""
    first = inputs[0] if inputs else None
    if first is None or first.dtype != np.float64 or "stash_type" not in op.schema.attributes:
        return op
    node = onnx.NodeProto()
    node.CopyFrom(op.node)
    kept = [a for a in node.attribute if a.name != "stash_type"]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute("stash_type", onnx.TensorProto.DOUBLE)])
    return replace(op, node=node)


def standard_definition(op: Operation, inputs: Sequence[Tensor | None]) -> onnx.FunctionProto:
    """Return the standard's definition of an operator in terms of others."""
    schema: Any = op.schema  # whose stubs lack what is asked of it here
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= op.version]
        if versions:
            return _repaired(op, _parsed(schema.get_function_with_opset_version(max(versions))))
    if schema.has_context_dependent_function:
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= op.version]
        types = [type_of(x).SerializeToString() if x is not None else b"" for x in inputs]
        if versions:
            node = op.node.SerializeToString()
            return _parsed(schema.get_context_dependent_function_with_opset_version(max(versions), node, types))
    raise Declined("no lowering, and the standard does not define it by other operators")


def _parsed(text: bytes | onnx.FunctionProto) -> onnx.FunctionProto:
    if isinstance(text, onnx.FunctionProto):
        return text
    function = onnx.FunctionProto()
    function.ParseFromString(text)
    return function


def _repaired(op: Operation, function: onnx.FunctionProto) -> onnx.FunctionProto:
    """Return a definition that holds for a batch of one: that of ``AffineGrid`` drops all axes of size one."""
    if op.kind != "AffineGrid":
        return function
    own = onnx.FunctionProto()
    own.CopyFrom(function)
    inner = [a.g.node for n in own.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH]
    for node in (n for nodes in inner for n in nodes if n.op_type == "Squeeze" and len(n.input) == 1):
        node.input.append("one_1d")
    return own


def type_of(tensor: Tensor) -> onnx.TypeProto:
    """Return the ONNX type of a tensor; dimensions that are no numbers are left open."""
    shape = [n if isinstance(n, int) else str(n) for n in tensor.shape]
    return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(tensor.dtype), shape)


def lower_function(
    b: Builder, op: Operation, inputs: Sequence[Tensor | None], function: onnx.FunctionProto
) -> list[Tensor | None]:
    """Record a call of a function: its nodes, with the call's attributes."""
    attributes = {a.name: a for a in function.attribute_proto}
    if (op.domain, op.kind) not in op.functions:
        attributes |= {n: a.default_value for n, a in op.schema.attributes.items() if a.default_value.type}
        for name, proto in attributes.items():
            proto.name = name
    attributes |= {a.name: a for a in op.node.attribute}
    env: dict[str, Tensor | None] = dict.fromkeys(function.input)
    env.update(zip(function.input, inputs, strict=False))
    opsets = {**op.opsets, **{plain_domain(o.domain): o.version for o in function.opset_import}}
    lower_nodes(b, (with_attributes(n, attributes) for n in function.node), env, opsets, op.functions)
    return [env.get(name) for name in function.output]


def with_attributes(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """Return a node of a function's body with the call's attributes in place of references."""
    result = onnx.NodeProto()
    result.CopyFrom(node)
    del result.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in given:
                value = result.attribute.add()
                value.CopyFrom(given[attribute.ref_attr_name])
                value.name = attribute.name
            continue
        value = result.attribute.add()
        value.CopyFrom(attribute)
        if value.type == onnx.AttributeProto.GRAPH:
            inner = [with_attributes(n, given) for n in value.g.node]
            del value.g.node[:]
            value.g.node.extend(inner)
    return result


def lower_nodes(
    b: Builder,
    nodes: Iterable[onnx.NodeProto],
    env: dict[str, Tensor | None],
    opsets: Mapping[str, int],
    functions: Mapping[tuple[str, str], onnx.FunctionProto],
) -> None:
    """Record nodes in order; ``env`` has the tensors by name, and gets the new ones."""
    for node in nodes:
        op = Operation(node, opsets, functions, {n: t for n, t in env.items() if t is not None})
        inputs = [env[name] if name else None for name in node.input]
        try:
            results = lower(b, op, inputs)
        except Unknown:
            raise
        except Declined as reason:
            raise Declined(f"{node.op_type}: {reason}") from reason
        for name, result in zip(node.output, results, strict=False):
            if name:
                env[name] = result


def lower_graph(
    b: Builder, graph: onnx.GraphProto, op: Operation, inputs: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Record a subgraph; it sees everything that the node that holds it sees."""
    env: dict[str, Tensor | None] = dict(op.outside)
    env |= {t.name: b.constant(onnx.numpy_helper.to_array(t)) for t in graph.initializer}
    env |= dict(zip((i.name for i in graph.input), inputs, strict=True))
    lower_nodes(b, graph.node, env, op.opsets, op.functions)
    return [env[o.name] for o in graph.output]
