"""Operators of operands that are known: evaluated while the model is read, by ONNX's reference implementation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from sdgrad.onnx_ops.registry import Operation
from sdgrad.onnx_ops.tensors import Tensor

RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
RANDOM |= {"Dropout"}
BY_SHAPE = {"Shape", "Size"}
"""Operators whose result follows from the shape of the operand."""


def folded(op: Operation, inputs: Sequence[Tensor | None]) -> list[np.ndarray] | None:
    """The results, where nothing that they depend on is open; else None."""
    if op.domain or op.kind in RANDOM or any(a.type == onnx.AttributeProto.GRAPH for a in op.node.attribute):
        return None
    if op.kind in BY_SHAPE and inputs[0] is not None and all(isinstance(n, int) for n in inputs[0].shape):
        arrays = [np.broadcast_to(np.zeros((), inputs[0].dtype), inputs[0].shape)]
    elif all(x is None or x.known is not None for x in inputs):
        arrays = [x.known for x in inputs if x is not None and x.known is not None]
    else:
        return None
    return evaluate(op, arrays)


def evaluate(op: Operation, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run one operator."""
    given = iter(range(len(arrays)))
    node = onnx.NodeProto()
    node.CopyFrom(op.node)
    del node.input[:], node.output[:]
    node.input.extend(f"x{next(given)}" if name else "" for name in op.node.input)
    node.output.extend(f"y{k}" if name else "" for k, name in enumerate(op.node.output))

    def described(name: str, array: np.ndarray | None) -> onnx.ValueInfoProto:
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype) if array is not None else onnx.TensorProto.UNDEFINED
        return onnx.helper.make_tensor_value_info(name, kind, None)

    graph = onnx.helper.make_graph(
        [node],
        "one",
        [described(f"x{k}", a) for k, a in enumerate(arrays)],
        [described(n, None) for n in node.output if n],
    )
    opsets = [onnx.helper.make_opsetid(d, v) for d, v in op.opsets.items()]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(model).run(None, {f"x{k}": a for k, a in enumerate(arrays)})
    results = iter(found)
    return [np.asarray(next(results)) if name else np.zeros(0) for name in op.node.output]
