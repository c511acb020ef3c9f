"""Give each ``Gradient`` node the part of the graph that it differentiates."""

from __future__ import annotations

import onnx

from sdgrad.errors import InvalidModel
from sdgrad.onnx_ops.families.gradient import BODY, DOMAIN
from sdgrad.onnx_ops.registry import attribute_value


def with_bodies(proto: onnx.ModelProto, label: str) -> onnx.ModelProto:
    """Return the model with the part between ``xs``, ``zs`` and ``y`` as a graph in each ``Gradient`` node.

    :raises InvalidModel: a node names a tensor that the graph does not have.
    """
    if not any(n.op_type == "Gradient" and n.domain == DOMAIN for n in proto.graph.node):
        return proto
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    graph = result.graph
    known = {v.name for v in (*graph.input, *graph.initializer)}
    before: list[onnx.NodeProto] = []
    for node in graph.node:
        if node.op_type == "Gradient" and node.domain == DOMAIN:
            node.attribute.append(onnx.helper.make_attribute(BODY, body(node, before, known, label)))
        before.append(node)
        known |= set(node.output)
    return result


def body(node: onnx.NodeProto, before: list[onnx.NodeProto], known: set[str], label: str) -> onnx.GraphProto:
    """Return the nodes that lead from a node's ``xs`` and ``zs`` to its ``y``; all else they use stays outside."""
    given = {a.name: attribute_value(a) for a in node.attribute}
    entering, y = [*given.get("xs", ()), *given.get("zs", ())], given["y"]
    what = f"{label}: Gradient '{node.name}'"
    if unknown := [n for n in (*entering, y) if n not in known]:
        raise InvalidModel(f"{what} names {', '.join(unknown)}, which nothing before it computes")
    if len(entering) != len(node.input):
        raise InvalidModel(f"{what} names {len(entering)} operands in xs and zs, and has {len(node.input)} inputs")
    needed, chosen = {y}, []
    for earlier in reversed(before):
        if needed & set(earlier.output) - set(entering):
            chosen.append(earlier)
            needed |= {n for n in earlier.input if n}
    values = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.UNDEFINED, None) for n in (*entering, y)]
    return onnx.helper.make_graph(list(reversed(chosen)), f"gradient_of_{y}", values[:-1], values[-1:])
